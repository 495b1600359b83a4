// Package build makes one cubin of the code of a plan: it runs the engines, ptxas and
// the merger as a graph of actions. It takes values and returns a value, and knows
// neither the command line's files nor the link's outputs.
package build

import (
	"context"
	"fmt"
	"slices"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/assemble"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/plan"
	"github.com/warpld/warpld/internal/runners"
	"github.com/warpld/warpld/internal/toolkit"
)

// An Input is all that a build depends on.
type Input struct {
	Options *options.Options
	Plan    *plan.Plan
	// Events are those of the plan that are not reported yet.
	Events  []plan.Event
	Toolkit *toolkit.Toolkit
	LLVM    *toolkit.LLVM // only if the plan has bitcode
	// Self is the path of warpld's executable.
	Self string
	// Env returns a variable of the environment; LLVM's programs are found by it.
	Env func(string) string
	// ToolEnv is the environment of the tools.
	ToolEnv []string
	// CommandLine is the one that nvlink would write into its output.
	CommandLine string
	Runners     *runners.Set
	// Watch wraps a runner whose actions are to be observed.
	Watch func(action.Runner) action.Runner
	// Report is called for each message, in nvlink's order.
	Report func(*message.Message)
	// Differs is called with a composed cubin that is not ptxas's.
	Differs func(assemble.Difference) error
	// Verbosef is called with what --warpld-verbose shows.
	Verbosef func(format string, args ...any)
}

// A Result is what a build made. After an error it has what was made before.
type Result struct {
	Output     action.Content // the cubin, the PTX with -emit-ptx, or bitcode
	Whole      bool           // Output is ptxas's output for the whole program
	Registered []string       // IDs of the objects that the merger took
	Remarks    []string       // what LLVM and ptxas said about their work
	Printed    string         // what the engine's library printed on standard output
	// Decisions are what the engines' answers made of the plan.
	Decisions []string
	Times     []Time
	// Steps are for people who want to see what the steps made.
	Steps Steps
}

// Steps are the steps of a build, as far as it came.
type Steps struct {
	Tools engine.Tools
	// Vector are libnvvm's options of the last try, and Linked the bitcode of all
	// modules before optimization.
	Vector []string
	Linked action.Content
	// Native are the assemblies of native code that exists as PTX only, Shards those of
	// the optimized LTO-IR, and Optimized those of the optimized bitcode.
	Native, Shards, Optimized []*Assembly
	// Optimizing is the step of LLVM, if it optimized all bitcode at once.
	Optimizing *action.Step
	Thin       *Thin // nil without ThinLTO
	// Merging is the last step and Parts are its inputs.
	Merging *action.Step
	Parts   []Part
}

// Run runs the actions. The result is nil if there was nothing to run.
func Run(ctx context.Context, in Input) (*Result, error) {
	if in.Options.Own.Mode == "fast" {
		if r, err := runFast(ctx, &in); r != nil || err != nil {
			return r, err
		}
	}
	b, err := newBuild(&in)
	if err != nil {
		return nil, err
	}
	b.tools.PostLink = in.Options.Own.VerboseKeep
	if err = b.start(); err != nil {
		return nil, err
	}
	if err = b.run(ctx); err == nil {
		b.reportSteps()
	} else {
		b.reportUntilFailure()
	}
	return b.finish(), err
}

// A build is the graph of actions and what they have made so far. Only callbacks that
// run in the loop of the graph change it.
type build struct {
	in    *Input
	tools engine.Tools
	graph action.Graph
	// report takes the messages of the steps, and events are those of the plan that it
	// has not got yet.
	report func(*message.Message)
	events []plan.Event
	// compileLog is what the compiler said, until it is reported.
	compileLog []*message.Message
	// engines counts those that are still at work.
	engines int
	// parts returns what is merged, and mergeArguments is the merger's command line.
	parts          func() []Part
	mergeArguments []string
	// keepsAllKernels: the merger removes no kernels, whatever the options say.
	keepsAllKernels bool
	result          Result
}

// newBuild returns a build with the steps that do not depend on others.
func newBuild(in *Input) (*build, error) {
	b := &build{in: in, report: in.Report, events: in.Events, mergeArguments: in.Plan.MergeArguments}
	b.parts = b.planParts
	var err error
	if b.tools, err = newTools(in); err != nil {
		return nil, err
	}
	for i := range in.Plan.Native {
		if piece := &in.Plan.Native[i]; piece.Module.Kind == object.PTX && !in.Plan.EmitPTX {
			b.result.Steps.Native = append(b.result.Steps.Native, b.assembleNative(piece, i))
		}
	}
	return b, nil
}

func (b *build) run(ctx context.Context) error {
	assembler := newAssembler(b.in)
	err := b.graph.Run(ctx, assembler, b.in.Runners.InFlight)
	b.result.Decisions = append(b.result.Decisions, assembler.Decisions()...)
	return err
}

// finish returns the result.
func (b *build) finish() *Result {
	b.result.Steps.Tools = b.tools
	return &b.result
}

// start adds the engines' steps, or the merge if there is nothing to optimize.
func (b *build) start() error {
	p := b.in.Plan
	if len(p.IR) > 0 {
		b.engines++
		lto := &ltoEngine{b: b, modules: Modules(p)}
		lto.compile(p.Compile, 1)
	}
	if len(p.Bitcode) > 0 {
		b.engines++
		switch {
		case p.KeepBitcode:
			b.mergeBitcode()
		case p.Thin:
			return b.compileThin()
		default:
			b.compileBitcode()
		}
	}
	if b.engines == 0 {
		b.merge()
	}
	return nil
}

// A code is what an engine made: PTX that is to be assembled.
type code struct {
	texts []text
	// relocatable: functions are undefined or visible, so the code must be linked.
	relocatable bool
	// llvm: it is the code of the bitcode, not that of the LTO-IR.
	llvm bool
	// decision is why the code is merged, if it is not the plan's mode that decides.
	decision string
}

// A text is for one run of ptxas.
type text struct {
	ptx       action.Content
	arguments []string
}

// emit ends the build with PTX or bitcode.
func (b *build) emit(c action.Content) { b.result.Output = c }

// take adds the assemblies of an engine's code, and goes on to the end, if ptxas makes
// the result, or to the merge.
func (b *build) take(c code) []*Assembly {
	p := b.in.Plan
	closed := !c.relocatable || b.in.Options.ForceWhole
	whole := c.decision == "" && len(c.texts) == 1 && p.Mode == plan.Whole && closed
	b.result.Whole = whole
	b.decide(c.why(whole, p.Mode))
	var list []*Assembly
	for _, t := range c.texts {
		a := &Assembly{PTX: t.ptx, arguments: t.arguments}
		if whole {
			b.assemble(a, func() { b.result.Output = a.Cubin })
		} else {
			a.arguments = relocatable(a.arguments)
			b.assemble(a, nil)
		}
		list = append(list, a)
	}
	if c.llvm {
		b.result.Steps.Optimized = list
	} else {
		b.result.Steps.Shards = list
	}
	if !whole {
		b.engineDone()
	}
	return list
}

// why returns the decision about the code in words.
func (c *code) why(whole bool, mode plan.Mode) string {
	switch {
	case c.decision != "":
		return c.decision
	case whole:
		return "the program is closed: ptxas makes the result"
	case len(c.texts) > 1:
		return fmt.Sprintf("the program comes in %d shards, which are merged", len(c.texts))
	case mode == plan.Whole:
		return "the program is not closed: what it lacks is sought in native code"
	}
	return "the optimized part is merged with the rest"
}

// engineDone goes on to the merge once all engines have returned their code.
func (b *build) engineDone() {
	if b.engines--; b.engines == 0 {
		b.merge()
	}
}

// decide notes what an engine's answer makes of the link. With two engines both count.
func (b *build) decide(what string) {
	b.in.Verbosef("%s", what)
	if !slices.Contains(b.result.Decisions, what) {
		b.result.Decisions = append(b.result.Decisions, what)
	}
}

// reportSteps reports the messages of the plan and of the steps so far, in nvlink's
// order and each one once.
func (b *build) reportSteps() {
	steps := &b.result.Steps
	for _, e := range b.events {
		if e.Message != nil {
			b.report(e.Message)
			continue
		}
		for _, a := range steps.Native {
			if a.place == e.Assembled {
				b.reportAll(&a.said)
			}
		}
	}
	b.events = nil
	for _, a := range steps.Native {
		b.reportAll(&a.said)
	}
	b.reportAll(&b.compileLog)
	for _, a := range steps.Shards {
		b.reportAll(&a.said)
	}
	b.takeSpills()
	for _, a := range steps.Optimized {
		b.reportAll(&a.said)
	}
}

// reportUntilFailure reports the messages of the plan after a failure. Where native
// code could not be assembled nvlink reads no further. Messages of other steps are
// discarded, because it depends on timing which of them have ended.
func (b *build) reportUntilFailure() {
	failed := slices.IndexFunc(b.result.Steps.Native, func(a *Assembly) bool { return a.failed })
	for _, e := range b.events {
		if e.Message != nil {
			b.report(e.Message)
		} else if failed >= 0 && e.Assembled == b.result.Steps.Native[failed].place {
			return
		}
	}
}

// reportAll reports messages and clears the list.
func (b *build) reportAll(list *[]*message.Message) {
	for _, m := range *list {
		b.report(m)
	}
	*list = nil
}
