//go:build realtools

package spy

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/warpld/warpld/test/kit"
)

// TestKilledLinks ends the linker while the library is at work.
func TestKilledLinks(t *testing.T) {
	spy := build(t)
	tk := kit.Toolkits(t)[0]
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			mark, temp, log := t.Name(), t.TempDir(), filepath.Join(t.TempDir(), "log")
			w := faulty(t, tk, spy, map[string]string{"NVVM_SPY_FAULT": "compile:hang", "WARPLD_TEST_MARK": mark,
				"TMPDIR": temp})
			linker := kit.Warpld(t, "--warpld-engine=nvvm")
			cmd := exec.Command(linker.Exe, w.job.Args...)
			cmd.Dir = w.job.Dir
			cmd.Env = append(append(linker.Env, w.environment(log)...), "CUDA_HOME="+tk.Root)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the library to hang", func() bool {
				text, _ := os.ReadFile(log)
				return bytes.Contains(text, []byte("hanging in compile"))
			})
			if len(marked(t, mark)) < 2 {
				t.Error("the linker and its worker were not found, so their end can't be noticed")
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Error("a killed link succeeded")
			}
			if want := 128 + int(signal); signal != syscall.SIGKILL && cmd.ProcessState.ExitCode() != want {
				t.Errorf("exit code %d, not %d", cmd.ProcessState.ExitCode(), want)
			}
			waitFor(t, "its processes to end", func() bool { return len(marked(t, mark)) == 0 })
			if _, err := os.Stat(filepath.Join(w.job.Dir, "linked")); err == nil {
				t.Error("a killed link left its output")
			}
			if signal != syscall.SIGKILL { // after which nobody can tidy up
				nothingLeft(t, mark, temp)
			}
		})
	}
}

// waitFor waits up to ten seconds.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 500 {
		if done() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}
