// Package link runs a link from the command line to the output files. Run is the list
// of the phases; each one is in a package of its own.
package link

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/action/local"
	"github.com/warpld/warpld/internal/assemble"
	"github.com/warpld/warpld/internal/build"
	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/intermediates"
	"github.com/warpld/warpld/internal/journal"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/plan"
	"github.com/warpld/warpld/internal/reproduce"
	"github.com/warpld/warpld/internal/runners"
	"github.com/warpld/warpld/internal/symbols"
	"github.com/warpld/warpld/internal/toolkit"
	"github.com/warpld/warpld/internal/version"
)

// A Caller is the world that a link is started in.
type Caller struct {
	Self           string // warpld's executable
	Origin         string // the path it was started by, which may lie in a shim
	Stdout, Stderr io.Writer
	Env            func(string) string
	// Terminal: Stderr is read by a person.
	Terminal bool
	Width    func() int // of that terminal
	// Recorded is the command line that the result records, if it is not that of the
	// link.
	Recorded string
}

// Streams returns where the caller wants output to go.
func (c *Caller) Streams() journal.Streams {
	return journal.Streams{Stdout: c.Stdout, Stderr: c.Stderr, Env: c.Env, Terminal: c.Terminal, Width: c.Width}
}

// A linker is one link in progress. Each phase fills in what the next ones need.
type linker struct {
	caller  Caller
	journal *journal.Journal
	options *options.Options
	toolkit *toolkit.Toolkit
	objects []*object.Object
	llvm    *toolkit.LLVM // only if a link has bitcode
	plan    *plan.Plan
	// events are those of the plan that are not reported yet.
	events []plan.Event
	result *build.Result
	// scanned are the symbols of the plan's IR, if somebody asked for them.
	scanned [][]symbols.Symbol
	written bool // there is an output
	// held are messages about the command line, which NVIDIA's nvlink would print too.
	// They are held back until it is certain that the link is not handed over to it.
	held []*message.Message
}

// newLinker returns a link that begins now.
func newLinker(c Caller) *linker { return &linker{caller: c, journal: journal.New(c.Streams())} }

// Run links as nvlink with these arguments would, and returns the exit code.
func Run(ctx context.Context, c Caller, args []string) int {
	l := newLinker(c)
	log := l.journal.Log()
	var err error
	if l.options, err = options.Parse(args, c.Env("WARPLD_FLAGS"), os.ReadFile, l.hold); err == nil {
		l.journal.SetOptions(l.options)
		log.SetPolicy(policy(l.options))
		err = l.link(ctx)
	}
	l.flush()
	if err != nil && ctx.Err() != nil {
		err = &message.Message{Severity: message.Fatal, ID: "interrupted", Text: "interrupted, nothing was written"}
	}
	log.Fail(err)
	if l.options != nil {
		log.Fail(l.journal.WriteRecord(l.facts()))
	}
	return log.ExitCode()
}

// RunAs links in the place of another linker, whose command lines translate reads.
func RunAs(ctx context.Context, c Caller, translate options.Translation, args []string) int {
	translated, err := translate(args)
	if err == nil {
		return Run(ctx, c, translated)
	}
	log := message.NewLog(c.Stderr, message.Style{Terminal: c.Terminal})
	log.Fail(err)
	return log.ExitCode()
}

// link runs the phases in their order.
func (l *linker) link(ctx context.Context) (err error) {
	if l.options.Help {
		_, err = io.WriteString(l.journal.Stdout(), options.Help(filepath.Base(l.caller.Origin)))
		return err
	}
	if l.options.Own.Version {
		_, err = fmt.Fprintln(l.journal.Stdout(), version.Full())
		return err
	}
	if l.toolkit, err = l.findToolkit(); err != nil {
		return err
	}
	if err = l.pack(); err != nil {
		return err
	}
	if reason := handedOver(l.options); reason != "" {
		return l.handOver(reason)
	}
	if l.showsSteps() {
		return l.handOver("-v2 asks for the lines that nvlink prints about LTO")
	}
	if reason := l.unproven(); reason != "" {
		return l.handOver(reason)
	}
	l.flush()
	if err = l.options.Check(l.journal.Report); err != nil {
		return err
	}
	if err = l.prepare(); err != nil {
		return err
	}
	processes, err := local.New(l.options.Own.TempDir, l.options.Own.KeepWorkDirs)
	if err != nil {
		return err
	}
	defer processes.Close()
	end := l.journal.Phase("run the actions")
	err = l.run(ctx, processes)
	if end(); err != nil {
		return err
	}
	if l.journal.Log().ExitCode() != message.ExitOK {
		return nil // an error was reported that did not stop the link, but its result doesn't count
	}
	defer l.journal.Phase("write the outputs")()
	return l.writeOutputs()
}

// prepare reads the inputs and makes the plan.
func (l *linker) prepare() (err error) {
	end := l.journal.Phase("read the inputs")
	l.objects, err = l.readInputs()
	if end(); err != nil {
		return err
	}
	if err = l.findLLVM(); err != nil {
		return err
	}
	defer l.journal.Phase("plan")()
	return l.makePlan()
}

// makePlan decides what will be done and reports what was found on the way. nvlink runs
// ptxas on native code while it reads its inputs, so later messages are for the build.
func (l *linker) makePlan() (err error) {
	in := plan.Input{Options: l.options, Objects: l.objects, Release: l.release()}
	if l.llvm != nil {
		in.LLVM = l.llvm.Major
	}
	l.plan, err = plan.Make(in)
	first, rest := l.plan.SplitEvents()
	if err != nil {
		first, rest = plan.Messages(l.plan.Events), nil
	}
	for _, m := range first {
		l.journal.Report(m)
	}
	l.events = rest
	return err
}

// run runs the actions.
func (l *linker) run(ctx context.Context, processes *local.Runner) error {
	if l.options.Own.KeepWorkDirs {
		l.journal.Infof("the working directories of the actions are kept in %s", processes.Root())
	}
	l.explain()
	set, err := runners.Open(ctx, runners.Request{
		Options: l.options, Env: l.caller.Env, Self: l.caller.Self, Local: processes, Report: l.journal.Report,
	})
	if err != nil {
		return err
	}
	defer set.Close()
	end := l.journal.StartProgress(set)
	defer end()
	return l.build(ctx, set)
}

// build runs the actions on a set of runners, and writes what shows how that went.
func (l *linker) build(ctx context.Context, set *runners.Set) (err error) {
	in := l.buildInput(set)
	l.result, err = build.Run(ctx, in)
	if l.result != nil {
		io.WriteString(l.journal.Stdout(), l.result.Printed)
	}
	if l.options.Own.VerboseKeep && l.result != nil && ctx.Err() == nil {
		if keepErr := l.keep(); err == nil {
			err = keepErr
		}
	}
	if failed := message.Of(err); failed != nil && ctx.Err() == nil {
		build.Blame(ctx, in, failed)
		err = failed
	}
	var times []build.Time
	if l.result != nil {
		times = l.result.Times
	}
	if timeErr := l.journal.WriteTimes(times); err == nil {
		err = timeErr
	}
	if err == nil {
		l.scanSymbols(ctx, in)
	}
	return err
}

// buildInput returns what the build depends on.
func (l *linker) buildInput(set *runners.Set) build.Input {
	return build.Input{
		Options: l.options, Plan: l.plan, Events: l.events, Toolkit: l.toolkit, LLVM: l.llvm,
		Self: l.caller.Self, Env: l.caller.Env, ToolEnv: l.toolEnv(), CommandLine: l.commandLine(),
		Differs: l.packDifference,
		Runners: set, Watch: l.journal.Watch, Report: l.journal.Report, Verbosef: l.journal.Verbosef,
	}
}

// keep writes the intermediate files of the build.
func (l *linker) keep() error {
	return intermediates.Write(intermediates.Request{
		Result: l.result, Plan: l.plan, Objects: l.objects,
		Target: l.options.Arch.Arch,
		Output: l.options.Output, Self: l.caller.Self, Commands: l.journal.Stdout(),
	})
}

// scanSymbols compiles the LTO-IR of each input by itself to see its symbols, which
// nothing else shows. If that fails only the answers about symbols are incomplete.
func (l *linker) scanSymbols(ctx context.Context, in build.Input) {
	if !l.journal.AsksForSymbols() || len(l.plan.IR) == 0 {
		return
	}
	read := func(_ int, text []byte) ([]symbols.Symbol, error) { return symbols.OfPTX(text) }
	found, err := build.Scan(ctx, &in, read)
	if err == nil {
		l.scanned = found
	} else if ctx.Err() == nil {
		l.journal.Report(&message.Message{Severity: message.Info, ID: "symbols", Tool: "warpld",
			Notes: []string{message.Of(err)[0].Text},
			Text:  "of the symbols of LTO-IR only those that host code registers are known"})
	}
}

// explain shows what was planned and why.
func (l *linker) explain() {
	l.journal.Verbosef("toolkit %s in %s", l.toolkit.Version, l.toolkit.Root)
	for _, r := range l.plan.Reasons {
		l.journal.Verbosef("%s", strings.TrimSpace(r.Rule+" "+r.Origin.String()))
	}
	if l.plan.Engine == "" {
		l.journal.Verbosef("mode %s, nothing to compile", l.plan.Mode)
		return
	}
	l.journal.Verbosef("mode %s, engine %s: %s", l.plan.Mode, l.plan.Engine, l.plan.EngineReason)
}

// facts returns what the record needs to know at the end.
func (l *linker) facts() journal.Facts {
	f := journal.Facts{Toolkit: l.toolkit, Objects: l.objects, Plan: l.plan, Scanned: l.scanned, Written: l.written}
	if l.result != nil {
		f.Decisions = l.result.Decisions
	}
	return f
}

// pack packs the link, if that was asked for. Builds with the option in the environment
// also ask for versions and scripts, which are no links.
func (l *linker) pack() error {
	if l.options.Own.Reproduce == "" || l.options.Version || l.options.GenHostLinkerScript != "" {
		return nil
	}
	r := reproduce.Request{Options: l.options, Toolkit: l.toolkit, CommandLine: l.commandLine()}
	if llvm, err := toolkit.FindLLVM(l.options.Own.LLVM, l.caller.Env); err == nil {
		r.LLVM = llvm.Major
	}
	return reproduce.Pack(r)
}

// packDifference packs a composed cubin that is not ptxas's, and reports it.
func (l *linker) packDifference(d assemble.Difference) error {
	m, err := reproduce.PackAssembly(l.options.Output, l.toolkit.Version, d)
	l.journal.Report(m)
	return err
}

// commandLine returns the one that nvlink would record.
func (l *linker) commandLine() string { return cmp.Or(l.caller.Recorded, l.options.Record()) }

func (l *linker) findToolkit() (*toolkit.Toolkit, error) {
	nvvmPath := l.options.NVVMPath
	if nvvmPath == "" && l.options.Given("nvvmpath") {
		nvvmPath = "/" // nvlink puts /lib64/libnvvm.so behind whatever it is given
	}
	return toolkit.Find(toolkit.Query{
		NVVMPath: nvvmPath,
		CUDA:     l.options.Own.CUDA,
		Origin:   l.caller.Origin,
		Env:      l.caller.Env,
		ForLink:  true,
	})
}

// findLLVM looks for libLLVM if an input has bitcode. A link without any does not need
// it.
func (l *linker) findLLVM() (err error) {
	if slices.ContainsFunc(l.objects, (*object.Object).HasBitcode) {
		l.llvm, err = toolkit.FindLLVM(l.options.Own.LLVM, l.caller.Env)
	}
	return err
}

// policy returns what the command line says about messages.
func policy(o *options.Options) message.Policy {
	p := o.Messages
	p.ToolName, p.Strict = o.ToolName, o.Own.Strict
	if o.ReportArch {
		p.Suffix = fmt.Sprintf(" (target: %s)", o.Arch)
	}
	return p
}

// release returns the release whose nvlink this link stands in for.
func (l *linker) release() gpu.Release { return l.toolkit.Version.Release() }

// toolEnv returns the environment of the tools: empty, but for variables that tests
// name in WARPLD_WORKER_ENV.
func (l *linker) toolEnv() []string {
	var env []string
	for name := range strings.SplitSeq(l.caller.Env("WARPLD_WORKER_ENV"), ",") {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	slices.Sort(env)
	return env
}

func (l *linker) hold(m *message.Message) { l.held = append(l.held, m) }

// flush reports the messages that were held back.
func (l *linker) flush() {
	for _, m := range l.held {
		l.journal.Report(m)
	}
	l.held = nil
}
