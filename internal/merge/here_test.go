package merge

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/object/objecttest"
)

// elsewhere is the runner of what cannot be done in this process.
type elsewhere struct{ ran []string }

func (e *elsewhere) Run(_ context.Context, a *action.Action) (*action.Result, error) {
	e.ran = append(e.ran, a.Tool.Name)
	return &action.Result{}, nil
}

func TestRunInProcess(t *testing.T) {
	next := &elsewhere{}
	runner := action.RunInProcess(next)
	own := Own("/bin/warpld", ownSettings)
	part := func(code []byte) []Part {
		return []Part{{Origin: "a.cubin", Form: Cubin, Code: func() ([]byte, error) { return code, nil }}}
	}
	run := func(a *action.Action) *action.Result {
		t.Helper()
		r, err := runner.Run(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	sound := part(objecttest.Cubin(objecttest.CubinFile{Arch: 80}))
	if out, err := ParseOwnResult(sound, run(own.Action(sound, []string{"-arch=sm_80"}))); err == nil ||
		!strings.Contains(err.Error(), "a.cubin") {
		t.Errorf("code without a version of the ABI gives %v, %v", out, err)
	}
	run(Vendor("/cuda/nvlink").Action(sound, nil))
	if len(next.ran) != 1 || next.ran[0] != "nvlink" {
		t.Errorf("run elsewhere: %q", next.ran)
	}
	fault := part(nil)
	fault[0].Code = func() ([]byte, error) { panic("a fault") }
	if r := run(own.Action(fault, []string{"-arch=sm_80"})); r.OK() || r.Signal != "a fault" {
		t.Errorf("a fault gives %+v", r)
	}
	cut := part(nil)
	cut[0].Code = func() ([]byte, error) { return cutFile(t), nil }
	if r := run(own.Action(cut, []string{"-arch=sm_80"})); r.OK() || r.Signal == "" {
		t.Errorf("an input that is cut while it is mapped gives %+v", r)
	}
	never := part(nil)
	never[0].Code = func() ([]byte, error) { select {} }
	late := own.Action(never, []string{"-arch=sm_80"})
	late.Limit = time.Millisecond
	if r := run(late); !r.TimedOut {
		t.Errorf("a merge that takes too long gives %+v", r)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := runner.Run(cancelled, own.Action(never, []string{"-arch=sm_80"})); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled merge gives %v", err)
	}
}

// cutFile maps a file and takes its contents away.
func cutFile(t *testing.T) []byte {
	f, err := os.Create(filepath.Join(t.TempDir(), "cut"))
	if err != nil {
		panic(err)
	}
	defer f.Close()
	err = f.Truncate(1 << 20)
	data, mapErr := unix.Mmap(int(f.Fd()), 0, 1<<20, unix.PROT_READ, unix.MAP_PRIVATE)
	if err := errors.Join(err, mapErr, f.Truncate(0)); err != nil {
		panic(err)
	}
	return data
}
