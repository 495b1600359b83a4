package reapi

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	repb "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"github.com/warpld/warpld/internal/action"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

var large = bytes.Repeat([]byte("large"), 1<<18) // too large to be sent with others

func sample() *action.Action {
	return &action.Action{
		Label: "compile",
		Tool:  action.File{Name: "tool", Content: action.Bytes([]byte("tool"))},
		Args:  []string{"-x"},
		Inputs: []action.File{{Name: "m/a.ir", Content: action.Bytes([]byte("a"))},
			{Name: "large", Content: action.Bytes(large)}},
		Outputs: []string{"lto.ptx", "answer.json"},
	}
}

// A here is the runner behind: it gives right results and counts.
type here struct{ runs atomic.Int32 }

func (h *here) Run(context.Context, *action.Action) (*action.Result, error) {
	h.runs.Add(1)
	return &action.Result{Stdout: []byte("said"), Outputs: map[string]action.Content{
		"lto.ptx": action.Bytes(large), "answer.json": action.Bytes([]byte("{}"))}}, nil
}

// check runs the sample and reports whether the result is right.
func check(t *testing.T, r action.Runner) *action.Result {
	t.Helper()
	result, err := r.Run(t.Context(), sample())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"lto.ptx": string(large), "answer.json": "{}"} {
		got, err := result.Outputs[name].Read()
		if err != nil || string(got) != want {
			t.Errorf("%s: %d bytes, error %v; want %d bytes", name, len(got), err, len(want))
		}
	}
	if !result.OK() || string(result.Stdout) != "said" {
		t.Errorf("result %+v", result)
	}
	return result
}

// uploading is a client that stores what is made here.
func uploading(c *config) { c.Upload = true }

// TestCache is tests 1 and 21 of the acceptance list with a server in this process.
func TestCache(t *testing.T) {
	s := newServer(t)
	var behind here
	first := dial(t, s, uploading)
	if r := check(t, first.Cache(&behind)); r.Cached {
		t.Error("an empty cache has a result")
	}
	first.Close()
	uploads := s.count("Write") + s.count("BatchUpdateBlobs")
	second := dial(t, s, uploading)
	if r := check(t, second.Cache(&behind)); !r.Cached || r.Where == "" {
		t.Errorf("no result was found: %+v", r)
	}
	if behind.runs.Load() != 1 || s.count("Write")+s.count("BatchUpdateBlobs") != uploads || uploads == 0 {
		t.Errorf("%d runs; %d uploads, then %d", behind.runs.Load(), uploads, s.count("Write")+s.count("BatchUpdateBlobs"))
	}
	if len(first.notes)+len(second.notes) > 0 {
		t.Errorf("notes %q %q", first.notes, second.notes)
	}
}

func TestNothingIsStoredUnasked(t *testing.T) {
	s := newServer(t)
	c := dial(t, s, nil)
	check(t, c.Cache(&here{}))
	impure := sample()
	impure.Impure = "it depends on the weather"
	uploads := dial(t, s, uploading)
	defer uploads.Close()
	if _, err := uploads.Cache(&here{}).Run(t.Context(), impure); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if s.count("GetActionResult") != 1 || s.count("UpdateActionResult")+len(s.blobs) > 0 {
		t.Errorf("calls: %v", s.calls)
	}
}

// good makes the server hold the right result of the sample.
func good(t *testing.T, s *server) *repb.ActionResult {
	t.Helper()
	key, err := sample().Key(action.ReadDigest)
	if err != nil {
		t.Fatal(err)
	}
	r := &repb.ActionResult{StdoutRaw: []byte("said"), OutputFiles: []*repb.OutputFile{
		{Path: "lto.ptx", Digest: s.keep(large)}, {Path: "answer.json", Digest: s.keep([]byte("{}"))}}}
	s.results[key.Hash] = r
	return r
}

// TestLies is tests 9 to 12 of the acceptance list: whatever the server says that
// is not so, the result is made here, and nothing of the server's is left.
func TestLies(t *testing.T) {
	passwd := "../../../../../../etc/passwd"
	tests := map[string]struct {
		lie  func(s *server, r *repb.ActionResult)
		note string // part of what is reported, or empty if it counts as a miss
	}{
		"output absent": {func(s *server, r *repb.ActionResult) { r.OutputFiles = r.OutputFiles[:1] },
			"lacks the output answer.json"},
		"no output": {func(s *server, r *repb.ActionResult) { r.OutputFiles = nil }, "lacks the output"},
		"output undeclared": {func(s *server, r *repb.ActionResult) { addFile(s, r, "more") },
			`"more" that was not asked for`},
		"output twice": {func(s *server, r *repb.ActionResult) { addFile(s, r, "lto.ptx") }, "twice"},
		"escape":       {func(s *server, r *repb.ActionResult) { addFile(s, r, passwd) }, "not asked for"},
		"absolute":     {func(s *server, r *repb.ActionResult) { addFile(s, r, "/etc/passwd") }, "not asked for"},
		"symlink": {func(s *server, r *repb.ActionResult) {
			r.OutputSymlinks = []*repb.OutputSymlink{{Path: "lto.ptx", Target: passwd}}
		}, "symbolic links"},
		"file symlink": {func(s *server, r *repb.ActionResult) {
			//lint:ignore SA1019 servers before version 2.1 of the API send these
			r.OutputFileSymlinks = []*repb.OutputSymlink{{Path: "x", Target: "/etc/passwd"}}
		}, "symbolic links"},
		"directory symlink": {func(s *server, r *repb.ActionResult) {
			//lint:ignore SA1019 servers before version 2.1 of the API send these
			r.OutputDirectorySymlinks = []*repb.OutputSymlink{{Path: "x", Target: "/etc"}}
		}, "symbolic links"},
		"directory": {func(s *server, r *repb.ActionResult) {
			r.OutputDirectories = []*repb.OutputDirectory{{Path: "lto.ptx", TreeDigest: s.keep(nil)}}
		}, "directories"},
		"too large": {func(s *server, r *repb.ActionResult) { r.OutputFiles[0].Digest.SizeBytes = 1 << 40 },
			"has 1099511627776 bytes"},
		"no digest":     {func(s *server, r *repb.ActionResult) { r.OutputFiles[0].Digest = nil }, "no digest"},
		"bad digest":    {func(s *server, r *repb.ActionResult) { r.OutputFiles[0].Digest.Hash = passwd }, "no digest"},
		"negative size": {func(s *server, r *repb.ActionResult) { r.OutputFiles[0].Digest.SizeBytes = -1 }, "no digest"},
		"other bytes":   {func(s *server, r *repb.ActionResult) { s.lie = flip }, "has other bytes"},
		"fewer bytes": {func(s *server, r *repb.ActionResult) { s.lie = func(b []byte) []byte { return b[1:] } },
			"has other bytes"},
		"more bytes": {func(s *server, r *repb.ActionResult) {
			s.lie = func(b []byte) []byte { return append(b, large...) }
		}, "longer than its digest says"},
		"printed other": {func(s *server, r *repb.ActionResult) {
			r.StdoutRaw, r.StdoutDigest, s.lie = nil, s.keep([]byte("said")), flipSmall
		}, "has other bytes"},
		"printed a lot": {func(s *server, r *repb.ActionResult) {
			r.StderrDigest = &repb.Digest{Hash: strings.Repeat("a", 64), SizeBytes: 1 << 40}
		}, "printed 1099511627776 bytes"},
		"other contents came along": {func(s *server, r *repb.ActionResult) { r.OutputFiles[1].Contents = []byte("[]") },
			"has other bytes"},
		"a failure":       {func(s *server, r *repb.ActionResult) { r.ExitCode = 255 }, ""},
		"blob gone":       {func(s *server, r *repb.ActionResult) { clear(s.blobs) }, ""},
		"one file, lying": {func(s *server, r *repb.ActionResult) { s.lie = flipSmall }, "has other bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			test.lie(s, good(t, s))
			c := dial(t, s, nil)
			var behind here
			if r := check(t, c.Cache(&behind)); r.Cached || behind.runs.Load() != 1 {
				t.Errorf("the lie was believed: %+v", r)
			}
			switch {
			case test.note == "" && len(c.notes) > 0:
				t.Errorf("notes %q", c.notes)
			case test.note != "" && (len(c.notes) != 1 || !strings.Contains(c.notes[0], test.note)):
				t.Errorf("notes %q, want one with %q", c.notes, test.note)
			}
			if left, _ := filepath.Glob(filepath.Join(c.root, "*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

// TestCompression: large blobs travel compressed if the server can do that, and nothing
// is believed of them that would not be otherwise.
func TestCompression(t *testing.T) {
	s := newServer(t)
	s.zstd = true
	for _, cached := range []bool{false, true} {
		c := dial(t, s, uploading)
		if r := check(t, c.Cache(&here{})); r.Cached != cached {
			t.Errorf("cached %v, want %v; notes %q", r.Cached, cached, c.notes)
		}
		c.Close()
	}
	for _, kind := range []string{"Write", "Read"} {
		if !slices.ContainsFunc(s.names, func(name string) bool {
			return strings.HasPrefix(name, kind) && strings.Contains(name, "compressed-blobs")
		}) {
			t.Errorf("%s was not compressed: %q", kind, s.names)
		}
	}
	for name, change := range map[string]func(){
		"other bytes":  func() { s.lie = flip },
		"more bytes":   func() { s.lie = func(b []byte) []byte { return append(b, large...) } },
		"fewer bytes":  func() { s.lie = func(b []byte) []byte { return b[1:] } },
		"no zstd":      func() { s.garble = func(b []byte) []byte { return large } },
		"an early end": func() { s.garble = func(b []byte) []byte { return b[:len(b)/2] } },
	} {
		s.mu.Lock() // a read that a client has given up may still be under way
		s.lie, s.garble = nil, nil
		change()
		s.mu.Unlock()
		c := dial(t, s, nil)
		if r := check(t, c.Cache(&here{})); r.Cached || len(c.notes) != 1 || !strings.Contains(c.notes[0], "refused") {
			t.Errorf("%s: cached %v, notes %q", name, r.Cached, c.notes)
		}
	}
}

func addFile(s *server, r *repb.ActionResult, path string) {
	r.OutputFiles = append(r.OutputFiles, &repb.OutputFile{Path: path, Digest: s.keep([]byte("x"))})
}

func flip(b []byte) []byte { b[0]++; return b }

func flipSmall(b []byte) []byte {
	if len(b) < 100 {
		b[0]++
	}
	return b
}

// TestAbsentServer: whatever is wrong with the server, the link goes on, one
// message is told, and the server is not asked again.
func TestAbsentServer(t *testing.T) {
	refuse := func(c codes.Code) func(context.Context, string) error {
		return func(context.Context, string) error { return status.Error(c, "so there") }
	}
	for name, test := range map[string]struct {
		before func(context.Context, string) error
		note   string
		asked  int
	}{
		"down":     {refuse(codes.Unavailable), "unavailable: so there", 4},
		"secret":   {refuse(codes.Unauthenticated), "not authenticated", 1},
		"internal": {refuse(codes.Internal), "internal error", 4},
		"silent": {func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }, "no answer in time",
			1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.before = test.before
			c := dial(t, s, uploading)
			if name == "silent" {
				c.grpc.patience = 50 * time.Millisecond
			}
			runner := c.Cache(&here{})
			for range 3 {
				check(t, runner)
			}
			if len(c.notes) != 1 || !strings.Contains(c.notes[0], test.note) || s.count("GetActionResult") != test.asked {
				t.Errorf("notes %q after %v", c.notes, s.calls)
			}
		})
	}
	t.Run("nobody there", func(t *testing.T) {
		c := dial(t, &server{address: "127.0.0.1:1"}, uploading)
		check(t, c.Cache(&here{}))
		if len(c.notes) != 1 || !strings.Contains(c.notes[0], "refused") {
			t.Errorf("notes %q", c.notes)
		}
	})
}

// TestReadOnly: a client that may not store results still finds some.
func TestReadOnly(t *testing.T) {
	s := newServer(t)
	s.before = func(_ context.Context, method string) error {
		if method == "UpdateActionResult" {
			return status.Error(codes.PermissionDenied, "workers only")
		}
		return nil
	}
	c := dial(t, s, uploading)
	runner := c.Cache(&here{})
	check(t, runner)
	c.Close()
	good(t, s)
	if r := check(t, runner); !r.Cached {
		t.Error("not found")
	}
	if len(c.notes) != 1 || !strings.Contains(c.notes[0],
		"storing results on the remote server: permission denied: workers only") {
		t.Errorf("notes %q", c.notes)
	}
}

func TestInterrupted(t *testing.T) {
	s := newServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.before = func(context.Context, string) error { cancel(); return nil }
	c := dial(t, s, nil)
	c.Cache(&here{}).Run(ctx, sample())
	if len(c.notes) > 0 {
		t.Errorf("notes %q", c.notes)
	}
}

// FuzzResult hands the client results that a server made up.
func FuzzResult(f *testing.F) {
	f.Add([]byte{})
	whole, err := proto.Marshal(&repb.ActionResult{OutputFiles: []*repb.OutputFile{
		{Path: "lto.ptx", Digest: digestOf(action.DigestOf(nil))}}, StdoutRaw: []byte("x")})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &repb.ActionResult{}
		if proto.Unmarshal(b, r) != nil {
			return
		}
		outputs := []string{"lto.ptx", "answer.json"}
		files, err := checkOutputs(r, outputs)
		for _, file := range files {
			if !slices.Contains(outputs, file.path) || file.digest.Size < 0 {
				t.Errorf("%+v is accepted", file)
			}
		}
		if err == nil && r.ExitCode == 0 && len(files) != len(outputs) {
			t.Errorf("%d files are accepted", len(files))
		}
		spent(r.ExecutionMetadata)
		printedOf(r.StdoutRaw, r.StdoutDigest)
	})
}

// TestContentsThatComeAlong: what the result brings is not asked for again.
func TestContentsThatComeAlong(t *testing.T) {
	s := newServer(t)
	r := good(t, s)
	for _, f := range r.OutputFiles {
		f.Contents, _ = s.blob(f.Digest)
	}
	if r := check(t, dial(t, s, nil).Cache(&here{})); !r.Cached || s.count("Read") > 0 {
		t.Errorf("cached %v, %d reads", r.Cached, s.count("Read"))
	}
}
