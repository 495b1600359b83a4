package reapi

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	repb "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"github.com/bazelbuild/remote-apis/build/bazel/semver"
	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/remote"
	"google.golang.org/genproto/googleapis/bytestream"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// These tests are of what servers in production do and servers of simple tests don't.

// client makes one without a link.
func client(t *testing.T, settings remote.Settings) *Client {
	t.Helper()
	c, err := Dial(settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.patience = 20 * time.Second
	return c
}

// newStep returns a step without inputs.
func newStep(t *testing.T) *remote.Step {
	return &remote.Step{Encoding: &action.Encoding{Key: action.DigestOf([]byte("x"))},
		Dir: filepath.Join(t.TempDir(), "result")}
}

// ask looks the same unknown result up by many goroutines, this many times in all, and returns
// the errors that are not "not found".
func ask(t *testing.T, address string, times int) (failed []string) {
	t.Helper()
	s := client(t, remote.Settings{Cache: "grpc://" + address}).Session("build")
	step := newStep(t)
	var left atomic.Int64
	left.Store(int64(times))
	var mu sync.Mutex
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				if _, err := s.LookUp(t.Context(), step); err != remote.ErrNotFound {
					mu.Lock()
					failed = append(failed, fmt.Sprint(err))
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	return failed
}

// TestGoAway: a server may close connections whenever it likes, by GOAWAY.
func TestGoAway(t *testing.T) {
	calls := 1000
	if os.Getenv("WARPLD_TEST_FULL") != "" {
		calls = 5000
	}
	for _, grace := range []time.Duration{20 * time.Millisecond, 2 * time.Second} {
		s := newServer(t, grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: 100 * time.Millisecond,
			MaxConnectionAgeGrace: grace}))
		if failed := ask(t, s.address, calls); len(failed) > 0 {
			t.Errorf("grace %v: %d of %d calls failed, the first with %s", grace, len(failed), calls, failed[0])
		}
	}
}

// TestStreamLimit: a server may allow few calls at once.
func TestStreamLimit(t *testing.T) {
	s := newServer(t, grpc.MaxConcurrentStreams(4))
	if failed := ask(t, s.address, 1000); len(failed) > 0 {
		t.Errorf("%d calls failed, the first with %s", len(failed), failed[0])
	}
}

// TestOneConnection: calls that begin at once share a connection.
func TestOneConnection(t *testing.T) {
	s := newServer(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var connections atomic.Int32
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			far, err := net.Dial("tcp", s.address)
			if err != nil {
				near.Close()
				continue
			}
			go func() { defer near.Close(); io.Copy(near, far) }()
			go func() { defer far.Close(); io.Copy(far, near) }()
		}
	}()
	if failed := ask(t, listener.Addr().String(), 64); len(failed) > 0 || connections.Load() != 1 {
		t.Errorf("%d connections, errors %q", connections.Load(), failed)
	}
}

// TestPings: the client sends no more pings than servers on grpc-go allow by default: one in
// five minutes, and none without a call.
func TestPings(t *testing.T) {
	if quietTime <= 5*time.Minute {
		t.Errorf("a ping each %v is more than servers allow", quietTime)
	}
	// A server that allows none closes the connection at the first that comes too early.
	s := newServer(t, grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Hour}))
	works(t, s)
	right := s.run
	s.run = func(ctx context.Context, a *repb.Action) (*repb.ExecuteResponse, error) {
		time.Sleep(silence(t))
		return right(ctx, a)
	}
	c := dial(t, s, nil)
	if r := check(t, c.Execute(&busy{}, remote.Machines{})); r.Where != "worker w1" || s.count("Execute") != 1 {
		t.Errorf("result %+v, calls %v, notes %q", r, s.calls, c.notes)
	}
}

// silence is how long a step says nothing. With WARPLD_TEST_FULL it is longer than any timeout
// that servers and clients have by default.
func silence(t *testing.T) time.Duration {
	if os.Getenv("WARPLD_TEST_FULL") != "" {
		return 3 * time.Minute
	}
	return 2 * time.Second
}

// TestPassingFailure: one failure that passes costs a retry and not the server.
func TestPassingFailure(t *testing.T) {
	slower, err := status.New(codes.ResourceExhausted, "slow down").WithDetails(
		&errdetails.RetryInfo{RetryDelay: durationpb.New(300 * time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		fault error
		pause time.Duration // before it is asked again
	}{
		"unavailable":     {status.Error(codes.Unavailable, "try again"), 0},
		"internal":        {status.Error(codes.Internal, "try again"), 0},
		"exhausted":       {status.Error(codes.ResourceExhausted, "try again"), 0},
		"with retry info": {slower.Err(), 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			good(t, s)
			var asked []time.Time
			s.before = func(_ context.Context, method string) error {
				if method != "GetActionResult" {
					return nil
				}
				s.mu.Lock()
				defer s.mu.Unlock()
				if asked = append(asked, time.Now()); len(asked) == 1 {
					return test.fault
				}
				return nil
			}
			c := dial(t, s, nil)
			var behind here
			runner := c.Cache(&behind)
			for range 10 {
				check(t, runner)
			}
			if behind.runs.Load() > 0 || len(asked) != 11 || len(c.notes) > 0 || asked[1].Sub(asked[0]) < test.pause {
				t.Errorf("%d runs here, asked %d times, notes %q", behind.runs.Load(), len(asked), c.notes)
			}
		})
	}
}

// TestPushback: a server says by a header of gRPC how long to wait.
func TestPushback(t *testing.T) {
	s := newServer(t)
	var asked []time.Time
	s.before = func(ctx context.Context, _ string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if asked = append(asked, time.Now()); len(asked) == 1 {
			grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms", "700"))
			return status.Error(codes.Unavailable, "wait")
		}
		return nil
	}
	step := newStep(t)
	_, err := client(t, remote.Settings{Cache: "grpc://" + s.address}).Session("build").LookUp(t.Context(), step)
	if err != remote.ErrNotFound || len(asked) != 2 || asked[1].Sub(asked[0]) < 700*time.Millisecond {
		t.Errorf("error %v, asked %d times", err, len(asked))
	}
}

// TestFinishedFailure: an execution that ended because its machine was lost is begun again, and
// not waited for.
func TestFinishedFailure(t *testing.T) {
	s := newServer(t)
	works(t, s)
	right := s.run
	var runs atomic.Int32
	s.run = func(ctx context.Context, a *repb.Action) (*repb.ExecuteResponse, error) {
		if runs.Add(1) == 1 {
			return &repb.ExecuteResponse{Status: status.New(codes.Unavailable, "the worker was preempted").Proto()}, nil
		}
		return right(ctx, a)
	}
	c := dial(t, s, nil)
	if r := check(t, c.Execute(&busy{}, remote.Machines{})); r.Where != "worker w1" || s.count("Execute") != 2 ||
		s.count("WaitExecution") > 0 || len(c.notes) > 0 {
		t.Errorf("result %+v, calls %v, notes %q", r, s.calls, c.notes)
	}
}

// TestSilentServer: it is given up after the client's patience, but a server that answers others
// meanwhile is given longer.
func TestSilentServer(t *testing.T) {
	s := newServer(t)
	c := client(t, remote.Settings{Cache: "grpc://" + s.address})
	c.patience = 400 * time.Millisecond
	slow := newStep(t)
	slow.Encoding.Key = action.DigestOf([]byte("slow"))
	s.before = func(ctx context.Context, _ string) error {
		if md, _ := metadata.FromIncomingContext(ctx); strings.Contains(md.Get(metadataHeader)[0], slow.Encoding.Key.Hash) {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
		return nil
	}
	session := c.Session("build")
	if _, err := session.LookUp(t.Context(), slow); codeOf(err) != codes.DeadlineExceeded {
		t.Errorf("alone: error %v", err)
	}
	ctx, end := context.WithCancel(t.Context())
	var others sync.WaitGroup
	others.Go(func() {
		for ctx.Err() == nil {
			session.LookUp(ctx, newStep(t))
			time.Sleep(20 * time.Millisecond)
		}
	})
	if _, err := session.LookUp(t.Context(), slow); err != remote.ErrNotFound {
		t.Errorf("beside others: error %v", err)
	}
	end()
	others.Wait()
}

// blobsOf returns blobs of random sizes around a size.
func blobsOf(count, size int) blobSet {
	set := blobSet{}
	for i := range count {
		b := bytes.Repeat([]byte{byte(i), byte(size)}, size/2)
		set[action.DigestOf(b)] = action.Bytes(b)
	}
	return set
}

// TestBatchLimit: batches are no larger than the server says, or, if it does not say, than it
// accepts.
func TestBatchLimit(t *testing.T) {
	for _, announced := range []int64{0, 1 << 19} {
		s := newServer(t, grpc.MaxRecvMsgSize(1<<20))
		s.can = &repb.ServerCapabilities{CacheCapabilities: &repb.CacheCapabilities{MaxBatchTotalSizeBytes: announced}}
		c := client(t, remote.Settings{Cache: "grpc://" + s.address + "/team"})
		blobs := blobsOf(4, 700<<10)
		for d, b := range blobsOf(40, 100<<10) {
			blobs[d] = b
		}
		if err := c.send(t.Context(), blobs); err != nil || len(s.blobs) != len(blobs) {
			t.Errorf("announced %d: error %v, %d blobs of %d, calls %v", announced, err, len(s.blobs), len(blobs), s.calls)
		}
		if announced > 0 && s.count("Write") != 4 {
			t.Errorf("announced %d: calls %v", announced, s.calls)
		}
	}
}

// TestCapabilities: what a server says it does not do is not asked of it.
func TestCapabilities(t *testing.T) {
	cache := func(change func(*repb.CacheCapabilities)) *repb.ServerCapabilities {
		can := &repb.CacheCapabilities{
			ActionCacheUpdateCapabilities: &repb.ActionCacheUpdateCapabilities{UpdateEnabled: true}}
		change(can)
		return &repb.ServerCapabilities{CacheCapabilities: can}
	}
	for name, test := range map[string]struct {
		can  *repb.ServerCapabilities
		note string
	}{
		"no update": {cache(func(c *repb.CacheCapabilities) { c.ActionCacheUpdateCapabilities.UpdateEnabled = false }),
			"does not accept results"},
		"no SHA-256": {cache(func(c *repb.CacheCapabilities) {
			c.DigestFunctions = []repb.DigestFunction_Value{repb.DigestFunction_BLAKE3}
		}), "no SHA-256"},
		"small blobs": {cache(func(c *repb.CacheCapabilities) { c.MaxCasBlobSizeBytes = 1000 }), "at most 1000 bytes"},
		"another version": {&repb.ServerCapabilities{LowApiVersion: &semver.SemVer{Major: 3},
			HighApiVersion: &semver.SemVer{Major: 3}}, "versions 3 to 3"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.can = test.can
			c := dial(t, s, uploading)
			check(t, c.Cache(&here{}))
			c.Close()
			sent := s.count("BatchUpdateBlobs") + s.count("Write")
			if len(c.notes) != 1 || !strings.Contains(c.notes[0], test.note) || sent > 0 {
				t.Errorf("notes %q, calls %v", c.notes, s.calls)
			}
		})
	}
	s := newServer(t)
	works(t, s)
	s.can = &repb.ServerCapabilities{ExecutionCapabilities: &repb.ExecutionCapabilities{ExecEnabled: false}}
	c := dial(t, s, nil)
	var behind here
	check(t, c.Execute(&behind, remote.Machines{LocalSlots: 1}))
	if behind.runs.Load() != 1 || s.count("Execute")+s.count("FindMissingBlobs") > 0 || len(c.notes) != 1 {
		t.Errorf("calls %v, notes %q", s.calls, c.notes)
	}
}

// TestSilentBatch: an answer that leaves a blob out is no promise that it is there.
func TestSilentBatch(t *testing.T) {
	s := newServer(t)
	s.silentBatch = true
	c := client(t, remote.Settings{Cache: "grpc://" + s.address})
	b := []byte("blob")
	err := c.send(t.Context(), blobSet{action.DigestOf(b): action.Bytes(b)})
	if err == nil || c.present.has(action.DigestOf(b)) {
		t.Errorf("error %v, believed to be there: %v", err, c.present.has(action.DigestOf(b)))
	}
}

// TestCompressedMessages: some servers compress messages without being asked.
func TestCompressedMessages(t *testing.T) {
	s := newServer(t, grpc.RPCCompressor(grpc.NewGZIPCompressor())) //lint:ignore SA1019 it is what such servers use
	good(t, s)
	c := dial(t, s, nil)
	if r := check(t, c.Cache(&here{})); !r.Cached || len(c.notes) > 0 {
		t.Errorf("result %+v, notes %q", r, c.notes)
	}
}

// TestRequestMetadata: every call says which program asks, for which build and action.
func TestRequestMetadata(t *testing.T) {
	s := newServer(t)
	check(t, dial(t, s, nil).Cache(&here{}))
	key, err := sample().Key(action.ReadDigest)
	if err != nil {
		t.Fatal(err)
	}
	for _, headers := range s.headers {
		about := &repb.RequestMetadata{}
		if list := headers.Get(metadataHeader); len(list) != 1 || proto.Unmarshal([]byte(list[0]), about) != nil ||
			about.ToolInvocationId != "build" || about.ActionId != key.Hash || about.ToolDetails.ToolName != "warpld" ||
			about.ToolDetails.ToolVersion == "" {
			t.Errorf("metadata %v of %q", about, list)
		}
	}
}

// TestHelperIsAskedOnce: an answer is used until it expires, by all links, with all its values.
func TestHelperIsAskedOnce(t *testing.T) {
	for expires, asked := range map[string]int{"2099-01-01T00:00:00Z": 1, "2001-01-01T00:00:00Z": 0, "": 3} {
		dir := t.TempDir()
		helper := filepath.Join(dir, "helper")
		answer := `{"headers":{"x-one":["a","b"]},"expires":"` + expires + `"}`
		if expires == "" {
			answer = `{"headers":{"x-one":["a","b"]}}`
		}
		text := "#!/bin/sh\ncat >/dev/null\necho asked >>" + dir + "/log\necho '" + answer + "'\n"
		if err := os.WriteFile(helper, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		s := newServer(t)
		c := client(t, remote.Settings{Cache: "grpc://" + s.address, Helper: helper})
		for range 3 {
			check(t, link(t, c, false).Cache(&here{}))
		}
		log, _ := os.ReadFile(dir + "/log")
		n := strings.Count(string(log), "\n")
		if got := s.headers[len(s.headers)-1].Get("x-one"); !slices.Equal(got, []string{"a", "b"}) ||
			(asked > 0 && n != asked) || n < asked || n == 0 {
			t.Errorf("expires %q: asked %d times, want %d; headers %q", expires, n, asked, got)
		}
	}
}

// TestRefusedCredentials: if a server refuses what the helper said a while ago, it is asked again.
func TestRefusedCredentials(t *testing.T) {
	dir := t.TempDir()
	helper := filepath.Join(dir, "helper")
	text := "#!/bin/sh\ncat >/dev/null\necho x >>" + dir + "/log\n" +
		`echo "{\"headers\":{\"x-one\":[\"$(wc -l <` + dir + `/log)\"]},\"expires\":\"2099-01-01T00:00:00Z\"}"` + "\n"
	if err := os.WriteFile(helper, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	s := newServer(t)
	good(t, s)
	s.before = func(ctx context.Context, _ string) error {
		if md, _ := metadata.FromIncomingContext(ctx); strings.TrimSpace(md.Get("x-one")[0]) == "1" {
			return status.Error(codes.Unauthenticated, "expired")
		}
		return nil
	}
	c := dial(t, s, func(c *config) { c.Helper = helper })
	if r := check(t, c.Cache(&here{})); !r.Cached || len(c.notes) > 0 {
		t.Errorf("result %+v, notes %q", r, c.notes)
	}
}

// TestHeaders: headers of options and of files reach the server.
func TestHeaders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newServer(t)
	check(t, dial(t, s, func(c *config) { c.Headers = []string{"x-api-key=@" + file, "x-team=linkers"} }).Cache(&here{}))
	if h := s.headers[0]; !slices.Equal(h.Get("x-api-key"), []string{"s3cret"}) ||
		!slices.Equal(h.Get("x-team"), []string{"linkers"}) {
		t.Errorf("headers %v", h)
	}
}

func TestNetrc(t *testing.T) {
	const text = "# comment\nmachine other login a password b\nmacdef init\nmachine cache login x\n\n" +
		"machine cache\n\tlogin me\n\tpassword s3cret\ndefault login anyone password guess\n"
	for host, want := range map[string]string{"cache": "me s3cret", "other": "a b", "third": "anyone guess"} {
		if login, password := parseNetrc(text, host); login+" "+password != want {
			t.Errorf("%s: %s %s, want %s", host, login, password, want)
		}
	}
	if _, password := parseNetrc("machine other login a password b", "cache"); password != "" {
		t.Error("a password for another host")
	}
}

func FuzzNetrc(f *testing.F) {
	f.Add("machine a login b password c")
	f.Add("macdef x\n\ndefault login")
	f.Fuzz(func(t *testing.T, text string) { parseNetrc(text, "a") })
}

// TestProxy: the proxy that the environment names is used.
func TestProxy(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	asked := make(chan string, 100)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			line := make([]byte, 1024)
			n, _ := c.Read(line)
			asked <- string(line[:n])
			c.Close()
		}
	}()
	// Go reads these variables once, so it takes another process.
	cmd := exec.Command(os.Args[0], "-test.run=^TestBehindProxy$", "-test.v")
	cmd.Env = append(os.Environ(), "HTTPS_PROXY=http://"+listener.Addr().String())
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestBehindProxy") {
		t.Errorf("error %v:\n%s", err, out)
	}
	select {
	case line := <-asked:
		if !strings.HasPrefix(line, "CONNECT cache.example.invalid:443 ") {
			t.Errorf("the proxy was sent %q", line)
		}
	default:
		t.Error("the proxy was not asked")
	}
}

// TestBehindProxy fails to reach a server, with or without a proxy. TestProxy starts it.
func TestBehindProxy(t *testing.T) {
	c := client(t, remote.Settings{Cache: "grpcs://cache.example.invalid:443"})
	if _, err := c.Session("build").LookUp(t.Context(), newStep(t)); err == nil {
		t.Error("a server that is not there gives a result")
	}
}

// TestSocketAddress: a server can listen on a socket of this machine.
func TestSocketAddress(t *testing.T) {
	s := newServer(t)
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	go s.grpc.Serve(listener)
	good(t, s)
	c := dial(t, s, func(c *config) { c.Cache = "unix:" + path + "?instance=team" })
	if r := check(t, c.Cache(&here{})); !r.Cached || len(c.notes) > 0 {
		t.Errorf("result %+v, notes %q", r, c.notes)
	}
}

// TestTwoAddresses: the cache and the machines can be different servers.
func TestTwoAddresses(t *testing.T) {
	cache, machines := newServer(t), newServer(t)
	works(t, cache)
	machines.run = cache.run
	machines.blobs = nil // it must not be asked for any
	machines.shares = cache
	c := dial(t, cache, func(c *config) { c.Execute = "grpc://" + machines.address + "/farm" })
	r := check(t, c.Execute(&busy{}, remote.Machines{}))
	if r.Where != "worker w1" || machines.count("Execute") != 1 || cache.count("Execute") > 0 ||
		machines.count("GetActionResult")+machines.count("BatchUpdateBlobs")+machines.count("Write") > 0 {
		t.Errorf("result %+v; cache %v, machines %v", r, cache.calls, machines.calls)
	}
}

// A flakyStream is a server whose transfers break.
type flakyStream struct {
	bytestream.UnimplementedByteStreamServer
	data     []byte
	mu       sync.Mutex
	got      []byte
	received int64 // in all, also what was lost
	breaks   int
	asked    int
	offsets  []int64
	early    int64 // committed_size of an answer before the end, if not zero
	rate     int   // bytes a second, if not zero
	forgets  bool  // it does not know how far a write was
}

func (f *flakyStream) serve(t *testing.T) *Client {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(grpc.InitialWindowSize(65535), grpc.InitialConnWindowSize(65535))
	bytestream.RegisterByteStreamServer(g, f)
	go g.Serve(listener)
	t.Cleanup(g.Stop)
	return client(t, remote.Settings{Cache: "grpc://" + listener.Addr().String() + "/team"})
}

func (f *flakyStream) Read(r *bytestream.ReadRequest, stream bytestream.ByteStream_ReadServer) error {
	f.mu.Lock()
	f.offsets = append(f.offsets, r.ReadOffset)
	end := int64(len(f.data))
	broken := f.breaks > 0
	if f.breaks--; broken {
		end = min(end, r.ReadOffset+1000)
	}
	f.mu.Unlock()
	if err := stream.Send(&bytestream.ReadResponse{Data: f.data[r.ReadOffset:end]}); err != nil {
		return err
	}
	if broken {
		return status.Error(codes.Unavailable, "connection lost")
	}
	return nil
}

func (f *flakyStream) QueryWriteStatus(context.Context,
	*bytestream.QueryWriteStatusRequest) (*bytestream.QueryWriteStatusResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	if f.forgets {
		f.got = nil
		return nil, status.Error(codes.Unimplemented, "no")
	}
	return &bytestream.QueryWriteStatusResponse{CommittedSize: int64(len(f.got))}, nil
}

func (f *flakyStream) Write(stream bytestream.ByteStream_WriteServer) error {
	for first := true; ; first = false {
		m, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		f.mu.Lock()
		if first {
			f.offsets = append(f.offsets, m.WriteOffset)
		}
		f.received += int64(len(m.Data))
		if m.WriteOffset != int64(len(f.got)) {
			f.mu.Unlock()
			return status.Error(codes.InvalidArgument, "offset")
		}
		f.got = append(f.got, m.Data...)
		early, rate := f.early, f.rate
		broken := f.breaks > 0 && len(f.got) > len(f.data)/2
		if broken {
			f.breaks--
		}
		f.mu.Unlock()
		switch {
		case early != 0:
			return stream.SendAndClose(&bytestream.WriteResponse{CommittedSize: early})
		case broken:
			return status.Error(codes.Unavailable, "connection lost")
		case rate > 0:
			time.Sleep(time.Duration(len(m.Data)) * time.Second / time.Duration(rate))
		}
	}
	return stream.SendAndClose(&bytestream.WriteResponse{CommittedSize: int64(len(f.got))})
}

// TestBrokenDownload: a download that breaks goes on where it was.
func TestBrokenDownload(t *testing.T) {
	f := &flakyStream{data: large, breaks: 3}
	c := f.serve(t)
	var out bytes.Buffer
	err := c.fetch(t.Context(), action.DigestOf(large), &out)
	if err != nil || !bytes.Equal(out.Bytes(), large) || !slices.Equal(f.offsets, []int64{0, 1000, 2000, 3000}) {
		t.Errorf("error %v, %d bytes, offsets %v", err, out.Len(), f.offsets)
	}
	f.breaks = 1 << 20
	f.data = nil
	if err := c.fetch(t.Context(), action.DigestOf(large), io.Discard); codeOf(err) != codes.Unavailable {
		t.Errorf("a download that never goes on: error %v", err)
	}
}

// TestBrokenUpload: an upload that breaks goes on where it was, if the server knows where, also
// in the next link; at most a tenth is sent twice.
func TestBrokenUpload(t *testing.T) {
	data := make([]byte, 16<<20)
	digest := action.DigestOf(data)
	for name, f := range map[string]*flakyStream{
		"resumed":   {data: data, breaks: 1},
		"forgotten": {data: data, breaks: 1, forgets: true},
	} {
		c := f.serve(t)
		err := c.sendOnce(t.Context(), digest, action.Bytes(data))
		if err != nil || !bytes.Equal(f.got, data) || f.asked != 1 {
			t.Errorf("%s: error %v, %d bytes, asked %d times", name, err, len(f.got), f.asked)
		}
		if !f.forgets && (f.received > int64(len(data))*11/10 || f.offsets[1] == 0) {
			t.Errorf("%s: %d bytes were sent, offsets %v", name, f.received, f.offsets)
		}
	}
	f := &flakyStream{data: data, breaks: 100}
	c := f.serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := c.sendOnce(ctx, digest, action.Bytes(data)); err == nil {
		t.Error("an upload that always breaks is done")
	}
	f.mu.Lock()
	f.breaks = 0
	f.mu.Unlock()
	if err := c.sendOnce(t.Context(), digest, action.Bytes(data)); err != nil || f.offsets[len(f.offsets)-1] == 0 {
		t.Errorf("the next link: error %v, offsets %v", err, f.offsets)
	}
}

// TestSlowUpload: an upload may take as long as it makes progress.
func TestSlowUpload(t *testing.T) {
	data := make([]byte, 2<<20)
	f := &flakyStream{data: data, rate: 1 << 20}
	c := f.serve(t)
	c.patience = time.Second
	start := time.Now()
	if err := c.sendOnce(t.Context(), action.DigestOf(data), action.Bytes(data)); err != nil {
		t.Errorf("error %v after %v", err, time.Since(start))
	}
}

// TestEarlyAnswer: a server that has a blob says so before all of it is sent; one that says
// that it has a part has not stored it.
func TestEarlyAnswer(t *testing.T) {
	data := make([]byte, 16<<20)
	for committed, ok := range map[int64]bool{int64(len(data)): true, 17: false} {
		f := &flakyStream{data: data, early: committed}
		c := f.serve(t)
		err := c.sendOnce(t.Context(), action.DigestOf(data), action.Bytes(data))
		if (err == nil) != ok || f.received > int64(len(data))/2 {
			t.Errorf("committed %d: error %v, %d bytes were sent", committed, err, f.received)
		}
	}
}

// TestReadTogether: small outputs come with one request, and a lie in it is noticed.
func TestReadTogether(t *testing.T) {
	for _, lies := range []bool{false, true} {
		s := newServer(t)
		r := good(t, s)
		r.OutputFiles[0].Digest = s.keep([]byte("small"))
		if lies {
			s.lie = flip
		}
		key, err := sample().Key(action.ReadDigest)
		if err != nil {
			t.Fatal(err)
		}
		step := &remote.Step{Encoding: &action.Encoding{Key: key}, Outputs: sample().Outputs,
			Dir: filepath.Join(t.TempDir(), "result")}
		c := client(t, remote.Settings{Cache: "grpc://" + s.address + "/team"})
		_, err = c.Session("build").LookUp(t.Context(), step)
		if (err != nil) != lies || s.count("BatchReadBlobs") != 1 || s.count("Read") > 0 {
			t.Errorf("lies %v: error %v, calls %v", lies, err, s.calls)
		}
	}
}
