// Package worker is warpld as a child process: it loads one compiler library,
// makes its calls and writes down what it answered. Whatever the library does to
// the process, the linker survives it.
package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/ebitengine/purego"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/engine/jitlink"
	"github.com/warpld/warpld/internal/engine/llvm"
	"github.com/warpld/warpld/internal/engine/nvvm"
	"github.com/warpld/warpld/internal/merge"
	"github.com/warpld/warpld/internal/plan"
)

// Main does the job in the working directory and returns the exit code. With arguments it
// merges, or runs another stage of a link by hand.
func Main(args []string) int {
	work := run
	switch {
	case len(args) > 0 && args[0] == merge.Stage:
		work = func() error { return mergeParts(args[1:]) }
	default:
		// The library owns the memory that counts; collecting ours is wasted work.
		debug.SetGCPercent(-1)
		// nvJitLink crashes now and then if the calls for one module come from several threads.
		runtime.LockOSThread()
		if len(args) > 0 {
			work = func() error { return runStage(args) }
		}
	}
	switch err := work(); {
	case errors.Is(err, errCallFailed):
		return engine.CallFailed
	case errors.Is(err, errInvalidShards):
		fmt.Fprintln(os.Stderr, err)
		return engine.InvalidShards
	case err != nil:
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	return 0
}

var (
	// errCallFailed: the answer was written, and it is a failure.
	errCallFailed = errors.New("a call failed")
	// errInvalidShards: the answer contradicts itself, so that it must not be stored.
	errInvalidShards = errors.New("the parts of the result don't fit together")
)

func run() error {
	text, err := os.ReadFile(engine.JobFile)
	if err != nil {
		return err
	}
	var job engine.Job
	if err := json.Unmarshal(text, &job); err != nil {
		return fmt.Errorf("%s: %w", engine.JobFile, err)
	}
	if !job.Apart {
		return do(&job, func(file string) string { return file })
	}
	modules := job.Modules
	for i := range modules {
		job.Modules = modules[i : i+1]
		if err := do(&job, func(file string) string { return engine.SeparateFile(i, file) }); err != nil &&
			!errors.Is(err, errCallFailed) {
			return err
		}
	}
	return nil
}

// do compiles and writes the results into files of other names.
func do(job *engine.Job, name func(string) string) error {
	answer, ptx, err := compile(job)
	if err != nil {
		return err
	}
	flush()
	if _, err := engine.Shards(ptx, answer.Shards); err != nil {
		return fmt.Errorf("%w: %w", errInvalidShards, err)
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name(engine.PTXFile), ptx, 0o600); err != nil {
		return err
	}
	if job.PostLink {
		if err := os.WriteFile(name(engine.LinkedFile), answer.Linked, 0o600); err != nil {
			return err
		}
	}
	if err := os.WriteFile(name(engine.AnswerFile), text, 0o600); err != nil || answer.Call == "" {
		return err
	}
	return errCallFailed
}

// compile compiles to PTX with the job's engine.
func compile(job *engine.Job) (*engine.Answer, []byte, error) {
	dieOfSignals()
	switch job.Engine {
	case plan.NVVM:
		return nvvm.Compile(job)
	case plan.JITLink:
		return jitlink.Compile(job)
	case plan.Bitcode:
		return llvm.Compile(job)
	}
	return nil, nil, fmt.Errorf("no engine is called %q", job.Engine)
}

// flush writes what the library has printed and C's library holds back, such as the lines
// of --trace-lto.
func flush() {
	if address, err := purego.Dlsym(purego.RTLD_DEFAULT, "fflush"); err == nil {
		const allStreams = 0
		purego.SyscallN(address, allStreams)
	}
}

// dieOfSignals removes Go's signal handlers, so that a crash in the library ends the process
// with the signal itself and the linker can name it.
func dieOfSignals() {
	address, err := purego.Dlsym(purego.RTLD_DEFAULT, "signal")
	if err != nil {
		return // without it a crash is still noticed, only less well named
	}
	const defaultAction = 0
	for _, s := range []syscall.Signal{syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGABRT,
		syscall.SIGTERM} {
		purego.SyscallN(address, uintptr(s), defaultAction)
	}
}
