//go:build realtools

package reapi

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/warpld/warpld/internal/record"
	"github.com/warpld/warpld/test/kit"
)

// meter stands between clients and a server and counts what is sent to it.
func meter(t *testing.T, server string) (address string, sent *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	sent = &atomic.Int64{}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", strings.TrimPrefix(server, "grpc://"))
			if err != nil {
				near.Close()
				continue
			}
			go func() { defer near.Close(); io.Copy(near, far) }()
			go func() { defer far.Close(); io.Copy(far, io.TeeReader(near, counter{sent})) }()
		}
	}()
	return "grpc://" + listener.Addr().String(), sent
}

type counter struct{ n *atomic.Int64 }

func (c counter) Write(b []byte) (int, error) {
	c.n.Add(int64(len(b)))
	return len(b), nil
}

// steps64 counts the steps of a link by what they do: those that ran anywhere, and
// those whose results came from the server's cache; there counts those of workers.
type steps64 struct {
	Ran, Found map[string]int
	there      int
}

// link64 links and tells which steps were run and found.
func link64(t *testing.T, toolkit kit.Toolkit, cache, flags string, objects []string) ([]byte, steps64) {
	t.Helper()
	args := arguments()
	for _, o := range objects {
		args = append(args, filepath.Base(o))
	}
	r, err := kit.Caching(t, cache, "--warpld-mode=fast --warpld-record=record --warpld-cuda="+toolkit.Root+" "+
		flags).Run(kit.NewJob(t, objects, args...))
	if err != nil || r.Exit != 0 || r.Stderr != "" {
		t.Fatalf("exit code %d, error %v:\n%s", r.Exit, err, r.Stderr)
	}
	rec, err := record.Read(bytes.NewReader(r.Files["record"]))
	if err != nil {
		t.Fatal(err)
	}
	s := steps64{map[string]int{}, map[string]int{}, 0}
	for _, a := range rec.Actions {
		switch {
		case a.Source == "ran":
			s.Ran[a.Label]++
		case a.Where != "":
			s.Found[a.Label]++
		}
		if strings.HasPrefix(a.Where, "worker") {
			s.there++
		}
	}
	return r.Files["out.cubin"], s
}

// edited compiles a module of the generated program after an edit and gives the
// objects with it in the place of the old one.
func edited(t *testing.T, toolkit kit.Toolkit, objects []string) []string {
	t.Helper()
	dir := t.TempDir()
	if _, err := kit.Generate(dir, "--modules", "64"); err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(dir, "m32.cu")
	text, err := os.ReadFile(source)
	if err != nil || !strings.Contains(string(text), "return x + y") {
		t.Fatalf("nothing to edit: %v", err)
	}
	if err := os.WriteFile(source, []byte(strings.Replace(string(text), "return x + y", "return 1.5f * x + y", 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	compiled, err := toolkit.Compile(kit.Stored, source)
	if err != nil {
		t.Fatal(err)
	}
	changed := append([]string(nil), objects...)
	for i, o := range changed {
		if filepath.Base(o) == filepath.Base(compiled[0]) {
			changed[i] = compiled[0]
		}
	}
	return changed
}

// Test64Modules links 64 modules, in some fifty steps, on the two workers and this
// machine: the same bytes as here alone; another client finds all and sends nothing;
// after a change of one module just those steps run that run here alone, with a cache
// that knows the program before the change.
func Test64Modules(t *testing.T) {
	toolkit := kit.Toolkits(t)[0]
	objects, err := filepath.Glob(filepath.Join(os.Getenv("WARPLD_TEST_CORPUS"), toolkit.Release(), "stored-generated",
		"*.o"))
	if err != nil || len(objects) < 64 {
		t.Fatalf("%d objects, error %v", len(objects), err)
	}
	changed, alone := edited(t, toolkit, objects), t.TempDir()
	want, first := link64(t, toolkit, alone, "", objects)
	wantChanged, second := link64(t, toolkit, alone, "", changed)
	var (
		flags string
		sent  *atomic.Int64
		got   []byte
		steps steps64
	)
	// The tools are sent while this machine compiles. It may be done first, so it is tried again,
	// with a server that has nothing.
	for range 3 {
		var address string
		address, sent = meter(t, start(t, "").address())
		flags = "--warpld-remote-upload --warpld-remote-platform=OSFamily=linux --warpld-remote=" + address
		got, steps = link64(t, toolkit, t.TempDir(), flags, objects)
		t.Logf("cold: ran %v, %d steps by workers; %d MB sent", steps.Ran, steps.there, sent.Load()>>20)
		if steps.there > 0 {
			break
		}
	}
	if !bytes.Equal(got, want) || steps.there == 0 || !cmp.Equal(steps.Ran, first.Ran) {
		t.Errorf("the same cubin: %v; ran %v, %d by workers, alone %v", bytes.Equal(got, want), steps.Ran, steps.there,
			first.Ran)
	}
	sent.Store(0)
	got, steps = link64(t, toolkit, t.TempDir(), flags, objects)
	t.Logf("another client: ran %v, found %v; %d bytes sent", steps.Ran, steps.Found, sent.Load())
	if !bytes.Equal(got, want) || len(steps.Ran) > 0 || sent.Load() > 10_000 {
		t.Errorf("the same cubin: %v; ran %v, %d bytes sent", bytes.Equal(got, want), steps.Ran, sent.Load())
	}
	got, steps = link64(t, toolkit, t.TempDir(), flags, changed)
	t.Logf("a third, one module changed: ran %v, found %v; alone ran %v", steps.Ran, steps.Found, second.Ran)
	if !bytes.Equal(got, wantChanged) || !cmp.Equal(steps.Ran, second.Ran) || steps.Found["compile"] < 10 {
		t.Errorf("the same cubin: %v; ran %v, found %v; alone %v", bytes.Equal(got, wantChanged), steps.Ran, steps.Found,
			second.Ran)
	}
}
