package kit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A Linker is nvlink or something that takes its place.
type Linker struct {
	Exe string
	Env []string // beside PATH, HOME, TMPDIR and WARPLD_CACHE_DIR
	// Limit ends a run that takes longer. Without it, that is the constant Limit.
	Limit time.Duration
}

// Nvlink is the toolkit's own linker.
func (t Toolkit) Nvlink() Linker { return Linker{Exe: t.Tool("nvlink")} }

// Binary is the warpld under test.
func Binary(tb testing.TB) string {
	tb.Helper()
	exe := os.Getenv("WARPLD_BIN")
	if exe == "" {
		tb.Fatal("WARPLD_BIN is not set; .ci/run sets it to the warpld it built")
	}
	return exe
}

// Warpld is warpld under the name nvlink, with its own options in the
// environment, so that the command line is nvlink's. It does each step anew,
// whatever its cache holds.
func Warpld(tb testing.TB, flags string) Linker {
	tb.Helper()
	return asNvlink(tb, "--warpld-cache=off "+flags)
}

// Caching is warpld with a cache in a folder of the test's choice.
func Caching(tb testing.TB, cache, flags string) Linker {
	tb.Helper()
	l := asNvlink(tb, flags)
	l.Env = append(l.Env, "WARPLD_CACHE_DIR="+cache)
	return l
}

// CacheCommand runs one of warpld's commands about the cache in a folder.
func CacheCommand(tb testing.TB, cache string, args ...string) string {
	tb.Helper()
	cmd := exec.Command(Binary(tb), append([]string{"cache"}, args...)...)
	cmd.Env = append(os.Environ(), "WARPLD_CACHE_DIR="+cache)
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Errorf("warpld cache %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func asNvlink(tb testing.TB, flags string) Linker {
	tb.Helper()
	dir := tb.TempDir()
	exe := filepath.Join(dir, "nvlink")
	if err := os.Symlink(Binary(tb), exe); err != nil {
		tb.Fatal(err)
	}
	return Linker{Exe: exe, Env: []string{"WARPLD_FLAGS=" + flags}}
}

// A Result is all that a link leaves behind.
type Result struct {
	Exit   int
	Stdout string
	Stderr string
	Files  map[string][]byte // all that it wrote in its working folder
	CPU    float64           // seconds, with those of all processes that it waited for
}

// A Job is a link before it is run: a working folder with the inputs, as
// links, and the arguments.
type Job struct {
	Dir  string
	Args []string
}

// Limit ends a linker that hangs.
const Limit = 5 * time.Minute

// Run runs the job, takes what it wrote out of the working folder and returns it.
func (l Linker) Run(job Job) (Result, error) {
	limit := cmp.Or(l.Limit, Limit)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := l.Command(ctx, job)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return Result{}, err
	}
	if ctx.Err() != nil {
		return Result{}, fmt.Errorf("%s did not end within %s: %q", l.Exe, limit, job.Args)
	}
	files, err := job.TakeFiles()
	state := cmd.ProcessState
	return Result{Exit: exitCode(state), Stdout: stdout.String(), Stderr: stderr.String(), Files: files,
		CPU: (state.UserTime() + state.SystemTime()).Seconds()}, err
}

// Command is the process that does the job, until ctx is done.
func (l Linker) Command(ctx context.Context, job Job) *exec.Cmd {
	cmd := exec.CommandContext(ctx, l.Exe, job.Args...)
	cmd.Dir = job.Dir
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "WARPLD_CACHE_DIR"} {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Env = append(cmd.Env, l.Env...)
	return cmd
}

// TakeFiles reads and removes what a linker wrote in the working folder. Inputs are
// links, so they stay.
func (job Job) TakeFiles() (map[string][]byte, error) {
	dir, files := job.Dir, map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files[name] = data
		return errors.Join(err, os.Remove(path))
	})
	return files, err
}

// NewJob makes a working folder that holds links to inputs under their own names.
func NewJob(tb testing.TB, inputs []string, args ...string) Job {
	tb.Helper()
	dir := tb.TempDir()
	for _, path := range inputs {
		if err := os.Symlink(path, filepath.Join(dir, filepath.Base(path))); err != nil {
			tb.Fatal(err)
		}
	}
	return Job{Dir: dir, Args: args}
}

// exitCode gives 128 and the signal's number for a process that a signal ended, as a shell does.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
