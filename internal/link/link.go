// Package link runs a link from the command line to the output files. Run is the
// list of the phases; each one is in a package of its own.
package link

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/warpld/warpld/internal/action/local"
	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/plan"
	"github.com/warpld/warpld/internal/progress"
	"github.com/warpld/warpld/internal/record"
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
	// Terminal says that Stderr is read by a person.
	Terminal bool
	Width    func() int // of that terminal
	// Recorded is what the result has to say of the command line, if not what that is
	// now.
	Recorded string
}

// A linker is one link in progress.
type linker struct {
	Caller
	log     *message.Log
	status  *progress.Display
	options *options.Options
	toolkit *toolkit.Toolkit
	objects []*object.Object
	plan    *plan.Plan
	llvm    *toolkit.LLVM // only if a link has bitcode
	times   []phaseTime
	// reported is how many messages of the plan were reported.
	reported int
	// held are messages about the command line, which the vendor's nvlink would
	// print too, until it is certain that it won't be asked.
	held []*message.Message
	// record is what --warpld-record and --warpld-trace write, and written says
	// that there is an output.
	record  record.Record
	noting  sync.Mutex // guards record.Actions: actions end concurrently
	written bool
	// decided is what the engines' answers made of the plan's mode.
	decided []string
	// scanned are the symbols of the plan's IR, if somebody asked for them.
	scanned [][]symbols.Symbol
}

// newLinker is a link that begins now.
func newLinker(c Caller) *linker {
	status := &progress.Display{Out: c.Stderr, Width: c.Width}
	c.Stdout, c.Stderr = status.Over(c.Stdout), status
	return &linker{Caller: c, status: status, log: message.NewLog(c.Stderr, message.Style{Terminal: c.Terminal}), record: record.Record{Started: time.Now()}}
}

// Run links as nvlink with these arguments would, and gives the exit code.
func Run(ctx context.Context, c Caller, args []string) int {
	l := newLinker(c)
	var err error
	if l.options, err = options.Parse(args, c.Env("WARPLD_FLAGS"), os.ReadFile, l.hold); err == nil {
		l.log.SetPolicy(policy(l.options))
		err = l.link(ctx)
	}
	l.flush()
	if err != nil && ctx.Err() != nil {
		err = &message.Message{Severity: message.Fatal, ID: "interrupted", Text: "interrupted, nothing was written"}
	}
	l.log.Fail(err)
	if l.options != nil {
		l.log.Fail(l.writeRecord())
	}
	return l.log.ExitCode()
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

// link is the phases in their order.
func (l *linker) link(ctx context.Context) (err error) {
	if l.options.Help {
		_, err = io.WriteString(l.Stdout, options.Help(filepath.Base(l.Origin)))
		return err
	}
	if l.options.Own.Version {
		_, err = fmt.Fprintln(l.Stdout, version.Full())
		return err
	}
	if l.toolkit, err = l.findToolkit(); err != nil {
		return err
	}
	if err = l.reproduce(); err != nil {
		return err
	}
	if reason := handedOver(l.options); reason != "" {
		return l.handOver(reason)
	}
	l.flush()
	if err = l.options.Check(l.log.Report); err != nil {
		return err
	}
	end := l.phase("read the inputs")
	l.objects, err = l.readInputs()
	if end(); err != nil {
		return err
	}
	if err = l.findLLVM(); err != nil {
		return err
	}
	end = l.phase("plan")
	err = l.makePlan()
	if end(); err != nil {
		return err
	}
	runner, err := local.New(l.options.Own.TempDir, l.options.Own.KeepWorkDirs)
	if err != nil {
		return err
	}
	defer runner.Close()
	end = l.phase("run the actions")
	result, err := l.run(ctx, runner)
	if end(); err != nil {
		return err
	}
	if l.log.ExitCode() != message.ExitOK {
		return nil // an error was reported that did not stop the link, but its result doesn't count
	}
	defer l.phase("write the outputs")()
	return l.writeOutputs(result)
}

// makePlan decides what will be done and reports what was found out on the way.
func (l *linker) makePlan() (err error) {
	l.plan, err = plan.Make(plan.Input{Options: l.options, Objects: l.objects, Release: l.release(), LLVM: l.llvmMajor()})
	if err == nil && len(l.plan.IR)+len(l.plan.Bitcode) > 0 {
		err = l.options.CheckCompile(func(m *message.Message) { l.plan.Messages = append(l.plan.Messages, m) })
	}
	first := len(l.plan.Messages)
	if err == nil && l.plan.Mode != plan.Whole && !l.emitsPTX() {
		first = l.plan.BeforePTX()
	}
	l.reportPlan(first)
	return err
}

// reportPlan reports the first n messages of the plan, each one once. nvlink runs
// ptxas on native code while it reads its inputs; what it says of later ones
// comes after what ptxas says.
func (l *linker) reportPlan(n int) {
	for ; l.reported < n; l.reported++ {
		l.log.Report(l.plan.Messages[l.reported])
	}
}

// run runs the actions, from the cache where it can.
func (l *linker) run(ctx context.Context, runner *local.Runner) (*build, error) {
	if l.options.Own.KeepWorkDirs {
		l.tell("the working directories of the actions are kept in %s", runner.Root())
	}
	l.explain()
	w, done, err := l.open(ctx, runner)
	if err != nil {
		return nil, err
	}
	defer done()
	result, err := l.build(ctx, w)
	if l.options.Own.VerboseKeep && result != nil && ctx.Err() == nil {
		if keepErr := result.keep(); err == nil {
			err = keepErr
		}
	}
	if failed := message.Of(err); failed != nil && ctx.Err() == nil {
		l.blame(ctx, w, failed)
		err = failed
	}
	if timeErr := l.writeTimes(); err == nil {
		err = timeErr
	}
	if err == nil {
		l.scanSymbols(ctx, w)
	}
	return result, err
}

func (l *linker) findToolkit() (*toolkit.Toolkit, error) {
	nvvmPath := l.options.NVVMPath
	if nvvmPath == "" && l.options.Given("nvvmpath") {
		nvvmPath = "/" // nvlink puts /lib64/libnvvm.so behind whatever it is given
	}
	return toolkit.Find(toolkit.Query{
		NVVMPath: nvvmPath,
		CUDA:     l.options.Own.CUDA,
		Origin:   l.Origin,
		Env:      l.Env,
		ForLink:  true,
	})
}

// policy is what the command line says about messages.
func policy(o *options.Options) message.Policy {
	p := o.Messages
	p.ToolName, p.Strict = o.ToolName, o.Own.Strict
	if o.ReportArch {
		p.Suffix = fmt.Sprintf(" (target: %s)", o.Arch)
	}
	return p
}

// release tells the plan whose nvlink we stand in for.
func (l *linker) release() gpu.Release { return l.toolkit.Version.Release() }

func (l *linker) hold(m *message.Message) { l.held = append(l.held, m) }

// flush prints what was held back.
func (l *linker) flush() {
	for _, m := range l.held {
		l.log.Report(m)
	}
	l.held = nil
}
