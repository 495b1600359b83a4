package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/warpld/warpld/internal/action"
)

func shell(script string, outputs ...string) *action.Action {
	return &action.Action{Label: "test", Tool: action.File{Name: "sh", Content: action.AtPath("/bin/sh")},
		Args: []string{"-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Outputs: outputs}
}

func newRunner(t *testing.T) *Runner {
	t.Helper()
	r, err := New(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func TestRunGivesInputsAndTakesOutputs(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := shell("ls; cat in/bytes linked > out; echo said >&2; pwd > undeclared; env > env", "out", "env")
	a.Inputs = []action.File{{Name: "in/bytes", Content: action.Bytes([]byte("bytes\n"))},
		{Name: "linked", Content: action.AtPath(outside)}}
	result, err := newRunner(t).Run(context.Background(), a)
	if err != nil || !result.OK() {
		t.Fatalf("%v %+v", err, result)
	}
	if got := string(result.Stdout); got != "in\nlinked\n" {
		t.Errorf("the working directory holds %q", got)
	}
	if got := string(result.Stderr); got != "said\n" {
		t.Errorf("stderr %q", got)
	}
	if got, err := result.Outputs["out"].Read(); err != nil || string(got) != "bytes\nfile\n" {
		t.Errorf("output %q, %v", got, err)
	}
	if got, _ := result.Outputs["env"].Read(); strings.Contains(string(got), "HOME=") {
		t.Errorf("our environment leaks: %s", got)
	}
	if result.Usage.Wall <= 0 || result.Usage.Memory <= 0 {
		t.Errorf("usage %+v", result.Usage)
	}
}

func TestRunReportsHowAToolEnds(t *testing.T) {
	tests := []struct {
		script string
		check  func(*action.Result) bool
	}{
		{"exit 7", func(r *action.Result) bool { return r.ExitCode == 7 && r.Signal == "" }},
		{"kill -SEGV $$", func(r *action.Result) bool { return r.Signal == "segmentation fault" }},
		{"true", func(r *action.Result) bool { return len(r.Missing) == 1 && r.Missing[0] == "out" }},
		{"ln -s /etc/passwd out", func(r *action.Result) bool { return len(r.Missing) == 1 }},
		{"sleep 60", func(r *action.Result) bool { return r.TimedOut }},
	}
	for _, test := range tests {
		a := shell(test.script, "out")
		a.Limit = 300 * time.Millisecond
		result, err := newRunner(t).Run(context.Background(), a)
		if err != nil || result.OK() || !test.check(result) {
			t.Errorf("%s: %v %+v", test.script, err, result)
		}
	}
}

// TestStall ends a tool that waits, but not one that computes as long.
func TestStall(t *testing.T) {
	const stall = 3 * time.Second // long enough for a busy machine to let a loop compute
	for script, want := range map[string]time.Duration{
		"sleep 60": stall,
		"i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done": 0,
	} {
		a := shell(script)
		a.Stall = stall
		result, err := newRunner(t).Run(context.Background(), a)
		if err != nil || result.Stalled != want || result.OK() != (want == 0) || result.TimedOut {
			t.Errorf("%s: %v %+v", script, err, result)
		}
	}
}

// TestCPULimit ends a tool that computes, but not one that waits as long.
func TestCPULimit(t *testing.T) {
	for script, want := range map[string]bool{"while :; do :; done": true, "sleep 1.3": false} {
		a := shell(script)
		a.CPULimit, a.Stall, a.Limit = time.Second, time.Minute, 5*time.Minute
		result, err := newRunner(t).Run(context.Background(), a)
		if err != nil || result.TimedOut != want || result.OK() == want {
			t.Errorf("%s: %v %+v", script, err, result)
		}
		if want && result.Usage.CPU > 10*time.Second {
			t.Errorf("it was ended after %v of processor time", result.Usage.CPU)
		}
	}
}

func TestMemoryLimit(t *testing.T) {
	a := shell("x=xxxxxxxxxxxxxxxx; while :; do x=$x$x; done")
	a.MemoryLimit = 64 << 20
	a.Limit = time.Minute
	result, err := newRunner(t).Run(context.Background(), a)
	if err != nil || result.OK() || result.TimedOut || result.Usage.Memory > a.MemoryLimit {
		t.Errorf("%v %+v", err, result.Usage)
	}
	a = shell("echo LLVM ERROR: out of memory >&2; kill -ABRT $$")
	a.MemoryLimit = 64 << 20
	result, err = newRunner(t).Run(context.Background(), a)
	if err != nil || !strings.Contains(result.Ending(), "limit of 64 MB") {
		t.Errorf("%v: the tool %s", err, result.Ending())
	}
}

func TestFileLimit(t *testing.T) {
	a := shell("sleep 0.2; head -c 2000000 /dev/zero > big")
	a.FileLimit = 1 << 20
	result, err := newRunner(t).Run(context.Background(), a)
	if err != nil || result.OK() {
		t.Errorf("%v: a file of 2 MB was written in spite of the limit", err)
	}
}

func TestCancelEndsTheWholeGroup(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for i := 0; i < 500; i++ {
			if b, _ := os.ReadFile(pids); strings.HasSuffix(string(b), "\n") {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
	}()
	_, err := newRunner(t).Run(ctx, shell("sleep 61 & echo $! > "+pids+"; wait"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	b, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < 100; i++ {
		status, err := os.ReadFile("/proc/" + strings.TrimSpace(string(b)) + "/stat")
		if err != nil || strings.Contains(string(status), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %s lives on", b)
}

func TestRunSaysWhatCannotBeRun(t *testing.T) {
	a := shell("")
	a.Tool.Path = "/nonexistent/tool"
	if _, err := newRunner(t).Run(context.Background(), a); !errors.Is(err, syscall.ENOENT) ||
		!strings.Contains(err.Error(), a.Tool.Path) {
		t.Errorf("error %v", err)
	}
}

func TestLookPathUsesTheGivenEnvironment(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tool"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if path, err := lookPath("tool", []string{"X=1", "PATH=/nonexistent:" + dir}); err != nil ||
		path != filepath.Join(dir, "tool") {
		t.Errorf("%q, %v", path, err)
	}
	if path, err := lookPath("tool", []string{"PATH=/nonexistent"}); err == nil {
		t.Errorf("found %q", path)
	}
	if path, err := lookPath("./tool", nil); err != nil || path != "./tool" {
		t.Errorf("%q, %v", path, err)
	}
}
