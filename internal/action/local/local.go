// Package local runs actions as processes on this machine.
package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/message"
)

// A Runner runs each action in a private working directory that holds its inputs and nothing
// else, with an environment and a process group of its own.
type Runner struct {
	root     string
	make     func() error // makes the root; links that need no process need none
	made     atomic.Bool
	next     atomic.Int64
	keepDirs bool
}

// New makes a Runner whose directories lie in a fresh one below parent (the
// system's directory for temporary files if empty). With keep they stay after
// Close, for people to look at.
func New(parent string, keep bool) (*Runner, error) {
	if parent != "" {
		if err := os.MkdirAll(parent, 0o777); err != nil {
			return nil, fmt.Errorf("working directory: %w", err)
		}
	}
	r := &Runner{keepDirs: keep}
	r.make = sync.OnceValue(func() error {
		root, err := os.MkdirTemp(parent, "warpld-")
		if err == nil {
			root, err = filepath.Abs(root)
		}
		if err != nil {
			return fmt.Errorf("working directory: %w", err)
		}
		r.root = root
		r.made.Store(true)
		return nil
	})
	if keep {
		return r, r.make()
	}
	return r, nil
}

// Root is where the working directories are that are kept.
func (r *Runner) Root() string { return r.root }

// Dir names a directory that nobody has used yet, for files that last until Close.
func (r *Runner) Dir() string {
	r.make() // without it, nothing can be written into the directory
	return filepath.Join(r.root, strconv.FormatInt(r.next.Add(1), 10)+"-kept")
}

// Close removes all that the runner wrote, results included.
func (r *Runner) Close() error {
	if r.keepDirs || !r.made.Load() {
		return nil
	}
	return os.RemoveAll(r.root)
}

// Run implements action.Runner.
func (r *Runner) Run(ctx context.Context, a *action.Action) (*action.Result, error) {
	if err := r.make(); err != nil {
		return nil, err
	}
	name := strconv.FormatInt(r.next.Add(1), 10) + "-" + a.Label
	work := filepath.Join(r.root, name)
	if err := fill(work, a.Inputs); err != nil {
		return nil, err
	}
	result, err := execute(ctx, work, a)
	if err != nil {
		return nil, err
	}
	if err := collect(result, work, filepath.Join(r.root, name+".out"), a.Outputs); err != nil {
		return nil, err
	}
	if !r.keepDirs {
		os.RemoveAll(work)
	}
	return result, nil
}

// fill creates the inputs in the working directory. An input that is a file already is linked,
// not copied.
func fill(work string, inputs []action.File) error {
	if err := os.Mkdir(work, 0o700); err != nil {
		return err
	}
	for _, f := range inputs {
		place := filepath.Join(work, filepath.FromSlash(f.Name))
		if dir := filepath.Dir(place); dir != work {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
		}
		if err := put(place, f.Content); err != nil {
			return fmt.Errorf("input %s: %w", f.Name, err)
		}
	}
	return nil
}

func put(place string, c action.Content) error {
	if c.Path != "" {
		target, err := filepath.Abs(c.Path)
		if err != nil {
			return err
		}
		return os.Symlink(target, place)
	}
	b, err := c.Read()
	if err != nil {
		return err
	}
	return os.WriteFile(place, b, 0o600)
}

// collect moves the declared outputs to where they stay; whatever else the tool
// wrote goes with the working directory.
func collect(result *action.Result, work, kept string, outputs []string) error {
	if err := os.Mkdir(kept, 0o700); err != nil {
		return err
	}
	result.Outputs = map[string]action.Content{}
	for _, name := range outputs {
		from, to := filepath.Join(work, name), filepath.Join(kept, name)
		info, err := os.Lstat(from)
		if errors.Is(err, os.ErrNotExist) || (err == nil && !info.Mode().IsRegular()) {
			result.Missing = append(result.Missing, name)
			continue
		}
		if err == nil {
			err = os.Rename(from, to)
		}
		if err != nil {
			return fmt.Errorf("output %s: %w", name, err)
		}
		result.Outputs[name] = action.AtPath(to)
	}
	return nil
}

// outputCap bounds what is kept of a tool's stdout and stderr.
const outputCap = 256 << 20

func execute(ctx context.Context, work string, a *action.Action) (*action.Result, error) {
	limited, cancel := context.WithCancel(ctx)
	if a.Limit > 0 {
		limited, cancel = context.WithTimeout(ctx, a.Limit)
	}
	defer cancel()
	var stdout, stderr cappedBuffer
	cmd := exec.CommandContext(limited, a.Tool.Path, a.Args...)
	cmd.Args[0] = a.Tool.Name
	cmd.Dir, cmd.Env = work, append([]string{}, a.Env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// A group of its own, so that cancelling ends the tool's children too; and
	// should this process be killed, the kernel ends the tool.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second

	start := time.Now()
	stalled, err := runGuarded(cmd, a, cancel)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if cmd.ProcessState == nil {
		return nil, fmt.Errorf("cannot run %s: %w", a.Tool.Path, err)
	}
	result := &action.Result{Stdout: stdout.Bytes(), Stderr: stderr.Bytes(),
		TimedOut: err != nil && errors.Is(limited.Err(), context.DeadlineExceeded)}
	if stalled {
		result.Stalled = a.Stall
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		result.Signal = status.Signal().String()
	} else {
		result.ExitCode = status.ExitStatus()
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	result.Usage = action.Usage{Start: start, Wall: time.Since(start),
		CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), Memory: usage.Maxrss << 10}
	result.TimedOut = result.TimedOut || (!stalled && usedCPU(result, a))
	if err != nil && !result.TimedOut && !stalled && wantedMemory(result, a.MemoryLimit) {
		result.OutOfMemory = a.MemoryLimit
	}
	return result, nil
}

// A cappedBuffer keeps the first outputCap bytes and drops the rest, so that a
// tool gone wild costs its own time and not this process's memory.
type cappedBuffer struct{ bytes.Buffer }

func (b *cappedBuffer) Write(p []byte) (int, error) {
	if room := outputCap - b.Len(); room < len(p) {
		b.Buffer.Write(p[:max(room, 0)])
		return len(p), nil
	}
	return b.Buffer.Write(p)
}

var _ io.Writer = (*cappedBuffer)(nil)

// Exec replaces this process with a program, which is searched for in the PATH of env if
// its name has no slash. It returns only if the program cannot be started. A link is
// handed over to NVIDIA's nvlink with it.
func Exec(name string, args, env []string) error {
	path, err := lookPath(name, env)
	if err == nil {
		err = syscall.Exec(path, args, env)
	}
	return &message.Message{Severity: message.Fatal, ID: "start", Text: fmt.Sprintf("cannot run %s", name),
		Notes: []string{err.Error()}, Cause: err}
}

func lookPath(name string, env []string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		return name, nil
	}
	for _, variable := range env {
		list, ok := strings.CutPrefix(variable, "PATH=")
		for _, dir := range filepath.SplitList(list) {
			if path, err := exec.LookPath(filepath.Join(dir, name)); ok && err == nil {
				return path, nil
			}
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}
