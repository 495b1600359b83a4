// Warpld links device code: see README.md.
//
// Started as nvlink, or with arguments that look like nvlink's, it links; also as the
// programs that clang and rustc call for that.
// Otherwise the first argument is a command of its own.
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
	"golang.org/x/term"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == engine.WorkerArgument {
		os.Exit(worker.Main(os.Args[2:]))
	}
	// A link has few and short-lived objects beside what it needs to the end.
	debug.SetGCPercent(400)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx)
	interrupted := ctx.Err() != nil
	stop()
	if interrupted {
		code = 128 + int(syscall.SIGINT)
	}
	os.Exit(code)
}

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
	asNvlink := filepath.Base(os.Args[0]) == "nvlink"
	if !asNvlink && (len(args) == 0 || command.Known(args[0])) {
		return command.Run(ctx, caller, args)
	}
	return link.Run(ctx, caller, args)
}

// terminalWidth is how many columns the terminal has that messages go to.
func terminalWidth() int {
	if width, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}

// self is our executable, by which we start ourselves again as a worker. Where /proc
// is not mounted, only the name is known.
func self() string {
	if path, err := os.Executable(); err == nil {
		return path
	}
	if path, err := filepath.Abs(startedAs()); err == nil {
		return path
	}
	return os.Args[0]
}

// startedAs is the path of the name we were started by, which in a shim is not
// where our executable is.
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
