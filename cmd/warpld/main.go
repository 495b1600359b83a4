// Warpld links device code: see README.md.
//
// If the first argument is one of warpld's commands, that command runs. Otherwise
// warpld links as nvlink does. Under the name nvlink, and under the names of the programs
// that clang and rustc call, it always links. Under the name ptxas it assembles.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/warpld/warpld/internal/command"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/engine/worker"
	"github.com/warpld/warpld/internal/link"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/ptxas"
	"golang.org/x/term"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == engine.WorkerArgument {
		os.Exit(worker.Main(os.Args[2:]))
	}
	// Most of what a link allocates lives until its end, so collecting often gains little.
	debug.SetGCPercent(400)
	ctx, received := untilSignal()
	code := run(ctx)
	if ctx.Err() != nil {
		code = 128 + int(<-received)
	}
	os.Exit(code)
}

// untilSignal returns a context that ends when a signal asks this program to end, and a
// channel with that signal, of which the exit code of a shell's child is made.
func untilSignal() (context.Context, <-chan syscall.Signal) {
	ctx, stop := context.WithCancel(context.Background())
	signals, first := make(chan os.Signal, 1), make(chan syscall.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		if s, ok := (<-signals).(syscall.Signal); ok {
			first <- s
		}
		stop()
	}()
	return ctx, first
}

// run links or runs a command, and returns the exit code.
func run(ctx context.Context) int {
	caller := link.Caller{
		Self:     self(),
		Origin:   startedAs(),
		Stdout:   os.Stdout,
		Stderr:   os.Stderr,
		Env:      os.Getenv,
		Terminal: term.IsTerminal(int(os.Stderr.Fd())),
		Width:    terminalWidth,
	}
	args := os.Args[1:]
	if translate := options.StandIn(filepath.Base(os.Args[0])); translate != nil {
		return link.RunAs(ctx, caller, translate, args)
	}
	if filepath.Base(os.Args[0]) == "ptxas" {
		return ptxas.Run(ctx, ptxas.Caller{Streams: caller.Streams(), Origin: caller.Origin, Self: caller.Self}, args)
	}
	asNvlink := filepath.Base(os.Args[0]) == "nvlink"
	if !asNvlink && (len(args) == 0 || command.Known(args[0]) || command.Mistyped(args[0])) {
		return command.Run(ctx, caller, args)
	}
	return link.Run(ctx, caller, args)
}

// terminalWidth returns the number of columns of the terminal that messages go to.
func terminalWidth() int {
	if width, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}

// self returns the path of this executable, which starts itself again as a worker. If
// /proc is not mounted, the path follows from the name that it was started by.
func self() string {
	if path, err := os.Executable(); err == nil {
		return path
	}
	if path, err := filepath.Abs(startedAs()); err == nil {
		return path
	}
	return os.Args[0]
}

// startedAs returns the path by which this program was started. In a shim that is not the
// path of the executable.
func startedAs() string {
	name := os.Args[0]
	if strings.ContainsRune(name, filepath.Separator) {
		return name
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if path := filepath.Join(dir, name); syscall.Access(path, 1) == nil {
			return path
		}
	}
	return name
}
