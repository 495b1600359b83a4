package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/warpld/warpld/internal/action"
)

// A tool is a Runner that counts how many actions it runs at once. It goes on when
// the test lets it.
type tool struct {
	started chan *action.Action
	end     chan error
	now     atomic.Int64
}

func newTool() *tool {
	return &tool{started: make(chan *action.Action, 100), end: make(chan error)}
}

func (t *tool) Run(ctx context.Context, a *action.Action) (*action.Result, error) {
	t.now.Add(1)
	defer t.now.Add(-1)
	t.started <- a
	select {
	case err := <-t.end:
		return &action.Result{Usage: action.Usage{Memory: 3 * a.Cost.Memory}}, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// start runs n actions and waits until as many as can have started.
func start(t *testing.T, ctx context.Context, r *Runner, tool *tool, n, want int) *sync.WaitGroup {
	t.Helper()
	var group sync.WaitGroup
	before := tool.now.Load()
	for range n {
		group.Go(func() { r.Run(ctx, &action.Action{Label: "x"}) })
	}
	for range want {
		<-tool.started
	}
	time.Sleep(10 * pause)
	if more := tool.now.Load() - before; more != int64(want) {
		t.Errorf("%d run at once, want %d", more, want)
	}
	return &group
}

func TestSlotsAreShared(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "slots")
	tool := newTool()
	one := New(tool, Limits{Slots: dir, Machine: 2})
	two := New(tool, Limits{Slots: dir, Machine: 2})
	defer one.Close()
	defer two.Close()
	first := start(t, t.Context(), one, tool, 1, 1)
	second := start(t, t.Context(), two, tool, 3, 1)
	if now := tool.now.Load(); now != 2 {
		t.Errorf("%d run at once with 2 slots", now)
	}
	for range 4 {
		tool.end <- nil
	}
	first.Wait()
	second.Wait()
}

// A fifo is a jobserver with some tokens.
func fifo(t *testing.T, tokens string) (path string, left func() string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.WriteString(tokens); err != nil {
		t.Fatal(err)
	}
	return path, func() string {
		buffer := make([]byte, 100)
		f.SetReadDeadline(time.Now().Add(time.Second))
		n, _ := f.Read(buffer)
		f.Write(buffer[:n])
		return string(buffer[:n])
	}
}

func TestJobserver(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	write.WriteString("+")
	path, left := fifo(t, "a")
	for name, flags := range map[string]string{
		"fifo": "-j2 --jobserver-auth=fifo:" + path,
		"pipe": fmt.Sprintf(" -j2 --jobserver-auth=%d,%d", read.Fd(), write.Fd()),
		"last": fmt.Sprintf("--jobserver-fds=91,92 -- --jobserver-auth=%d,%d", read.Fd(), write.Fd()),
	} {
		t.Run(name, func(t *testing.T) {
			tool := newTool()
			r := New(tool, Limits{MakeFlags: flags, Slots: t.TempDir(), Machine: 1})
			defer r.Close()
			if _, ok := r.tokens.(*server); !ok {
				t.Fatalf("no jobserver in %q", flags)
			}
			// One by itself and one with the token.
			group := start(t, t.Context(), r, tool, 3, 2)
			tool.end <- nil
			tool.end <- errors.New("failed")
			tool.end <- nil
			group.Wait()
			// An interrupted link gives its tokens back, too.
			ctx, cancel := context.WithCancel(t.Context())
			group = start(t, ctx, r, tool, 3, 2)
			cancel()
			group.Wait()
			group = start(t, t.Context(), r, tool, 2, 2)
			tool.end <- nil
			tool.end <- nil
			group.Wait()
		})
	}
	if got := left(); got != "a" {
		t.Errorf("the jobserver has %q", got)
	}
}

func TestNoJobserver(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("+++"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"", "-j", "--jobserver-auth=", "--jobserver-auth=fifo:",
		"--jobserver-auth=fifo:" + file,
		"--jobserver-auth=fifo:/nowhere", "--jobserver-auth=-2,-2", "--jobserver-auth=991,992", "--jobserver-auth=1",
		"--jobserver-auth=0,0"} {
		if s := openServer(flags); s != nil {
			t.Errorf("%q names a jobserver: %+v", flags, s)
			s.close()
		}
	}
}

func TestMemory(t *testing.T) {
	m := newMemory(func() int64 { return 100 })
	need := func(bytes int64) *action.Action {
		return &action.Action{Label: "x", Cost: action.Estimate{Memory: bytes}}
	}
	take := func(bytes int64) (func(), bool) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		free, err := m.take(ctx, need(bytes))
		return free, err == nil
	}
	large, ok := take(1000)
	if !ok {
		t.Fatal("what is alone may be larger than the memory")
	}
	if _, ok := take(1); ok {
		t.Error("something else beside it")
	}
	large()
	half, _ := take(50)
	other, ok := take(50)
	if !ok {
		t.Error("two halves do not fit")
	}
	other()
	m.learn(need(10), 20) // twice as much as expected
	if _, ok := take(30); ok {
		t.Error("nothing was learned")
	}
	if free, ok := take(25); !ok {
		t.Error("too much was learned")
	} else {
		free()
	}
	half()
	if m.used != 0 || m.running != 0 {
		t.Errorf("%d used by %d", m.used, m.running)
	}
}

func TestAvailable(t *testing.T) {
	if n := available(); n < 1<<20 || n > 1<<50 {
		t.Errorf("%d bytes", n)
	}
	if _, ok := numberAfter("/proc/meminfo", strings.Repeat("x", 30)); ok {
		t.Error("a number after nothing")
	}
}
