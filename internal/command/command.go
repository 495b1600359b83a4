// Package command holds warpld's own commands, one file each.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/warpld/warpld/internal/distribute"
	"github.com/warpld/warpld/internal/link"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/toolkit"
	"github.com/warpld/warpld/internal/version"
)

// A command is one of warpld's own commands.
type command struct {
	name  string
	usage string
	about string
	run   func(ctx context.Context, c link.Caller, args []string) error
}

// commands returns all commands in the order of their names. It is a function because
// some of them print the list.
func commands() []command {
	return []command{
		{"cache", "cache [show|verify|prune [MB]|why OUTPUT]",
			"look at the cache, check it, make room, or ask why a link was not found in it", manageCache},
		{"check", "check [--driver=RELEASE] FILE...",
			"find what is wrong with the device links of a program: missing, doubled, objects that don't fit", checkProgram},
		{"compare", "compare FILE.tar.zst|ARGUMENTS...",
			"run a link with nvlink and with warpld, and show what is different", compareLinks},
		{"completion", "completion bash|zsh|fish",
			"print a script that lets the shell complete warpld's command lines", completion},
		{"diff", "diff RECORD RECORD", "show what changed between two links that wrote --warpld-record", diffRecords},
		{"distribute", "distribute [--warpld-...] JOBS.json",
			"compile for ThinLTO as LLVM's linkers ask for it", runDistribute},
		{"explain", "explain [--removed|--why-live=SYMBOL|--map] RECORD",
			"say what a link did and why, from what --warpld-record wrote", explainRecord},
		{"gate", "gate --baseline=FILE [--update] [--ratchet] [--format=FORMAT] [--output=FILE] FILE...|RECORD",
			"fail if kernels need more registers, memory or code than a baseline has, or are gone", compareWithBaseline},
		{"help", "help", "show this text", help},
		{"inspect", "inspect FILE...", "show what the linker sees in its inputs", inspect},
		{"man", "man", "print the manual page, in roff", man},
		{"replay", "replay FILE.tar.zst [-o OUTPUT] [OPTIONS...]",
			"run a link again that --warpld-reproduce packed", replay},
		{"report", "report RECORD -o FILE.html",
			"show a link as a page, from what --warpld-record wrote", writeReport},
		{"run", "run [--cuda=DIR] -- COMMAND...", "run a build in which nvcc links with warpld", runBuild},
		{"shim", "shim [--cuda=DIR] DIR", "make a directory whose nvcc links with warpld", makeShim},
		{"size", "size [--by=TABLE,...|--json|--html=FILE] [--all] FILE... | size --diff OLD NEW",
			"show what device code takes how many bytes of objects, libraries and wheels, and what is there twice", showSize},
		{"toolkit", "toolkit [--cuda=DIR]", "show which CUDA toolkit is used and where it was sought", showToolkit},
		{"version", "version", "show which warpld this is", showVersion},
	}
}

// lookUp returns the command of a name, or nil if there is none.
func lookUp(name string) *command {
	for _, c := range commands() {
		if c.name == name {
			return &c
		}
	}
	return nil
}

// Known reports whether a name is a command. Any other first argument belongs to a link,
// unless it is mistyped.
func Known(name string) bool { return lookUp(name) != nil }

// Mistyped reports whether a word was probably meant to be a command. Run reports it.
func Mistyped(word string) bool { return meant(word) != "" }

// meant returns the command that a mistyped word was probably meant to be. A file of that
// name is an input of a link, and so are words that look like an option or a path.
func meant(word string) string {
	if strings.ContainsAny(word, "-@./=") {
		return ""
	}
	if _, err := os.Stat(word); err == nil {
		return ""
	}
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return options.Closest(word, names)
}

// List returns the names, usages and descriptions of all commands.
func List() (list []options.Command) {
	for _, c := range commands() {
		list = append(list, options.Command{Name: c.name, Usage: c.usage, About: c.about})
	}
	return list
}

// Run runs the command that args begins with, help if args is empty, and returns the
// exit code.
func Run(ctx context.Context, c link.Caller, args []string) int {
	log := message.NewLog(c.Stderr, message.Style{Terminal: c.Terminal})
	if len(args) == 0 {
		args = []string{"help"}
	}
	var err error
	if cmd := lookUp(args[0]); cmd != nil {
		err = cmd.run(ctx, c, args[1:])
	} else {
		err = unknown(args[0])
	}
	if code, ended := err.(exitCode); ended {
		return int(code)
	}
	for _, m := range message.Of(err) {
		m.Tool = "warpld"
		log.Report(m)
	}
	return log.ExitCode()
}

// An exitCode ends a command that has reported everything itself.
type exitCode int

// Error implements error.
func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// distribute compiles for a linker of LLVM's.
func runDistribute(ctx context.Context, c link.Caller, args []string) error {
	err := distribute.Run(ctx, c.Streams(), c.Self, args)
	if errors.Is(err, distribute.ErrUsage) {
		return usage("distribute")
	}
	return err
}

// help prints the list of commands.
func help(_ context.Context, c link.Caller, _ []string) error {
	fmt.Fprint(c.Stdout, "warpld links GPU device code in the place of NVIDIA's nvlink.\n\n"+
		"  warpld [nvlink's options] FILE...                          link; 'warpld --help' lists the options\n")
	for _, cmd := range commands() {
		fmt.Fprintf(c.Stdout, "  warpld %-51s %s\n", cmd.usage, cmd.about)
	}
	return nil
}

// usage returns the error for arguments that a command doesn't take.
func usage(name string) error {
	return &message.Message{Severity: message.Fatal, ID: "usage", Text: "usage: warpld " + lookUp(name).usage}
}

// unknown returns the error for a name that is no command.
func unknown(name string) error {
	hint := "'warpld help' lists the commands"
	if best := meant(name); best != "" {
		hint = "did you mean 'warpld " + best + "'? " + hint
	}
	return &message.Message{Severity: message.Fatal, ID: "usage", Text: fmt.Sprintf("'%s' is not a command", name),
		Hint: hint}
}

// man prints the manual page.
func man(_ context.Context, c link.Caller, _ []string) error {
	_, err := io.WriteString(c.Stdout, options.ManPage(List()))
	return err
}

// completion prints a completion script for a shell.
func completion(_ context.Context, c link.Caller, args []string) error {
	if len(args) != 1 {
		return usage("completion")
	}
	script := options.Completion(args[0], List())
	if script == "" {
		return usage("completion")
	}
	_, err := io.WriteString(c.Stdout, script)
	return err
}

// showVersion prints the version of warpld.
func showVersion(_ context.Context, c link.Caller, _ []string) error {
	_, err := fmt.Fprintln(c.Stdout, version.Full())
	return err
}

// showToolkit prints which toolkit is used and where it was sought.
func showToolkit(_ context.Context, c link.Caller, args []string) error {
	tk, rest, err := findToolkit(c, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usage("toolkit")
	}
	if err := tk.Describe(c.Stdout); err != nil {
		return err
	}
	text := "\nno libLLVM found, so LLVM bitcode cannot be linked\n"
	if llvm, err := toolkit.FindLLVM("", c.Env); err == nil {
		text = fmt.Sprintf("\nLLVM %d for bitcode: %s\n", llvm.Major, llvm.Path)
	}
	_, err = io.WriteString(c.Stdout, text)
	return err
}

// findToolkit removes --cuda=DIR from the front of args and finds the toolkit.
func findToolkit(c link.Caller, args []string) (tk *toolkit.Toolkit, rest []string, err error) {
	q := toolkit.Query{Origin: c.Origin, Env: c.Env}
	if len(args) > 0 {
		if dir, ok := cutFlag(args[0], "cuda"); ok {
			q.CUDA, args = dir, args[1:]
		}
	}
	tk, err = toolkit.Find(q)
	return tk, args, err
}
