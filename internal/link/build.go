package link

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/plan"
)

// A build is the graph of actions and what they have given so far.
type build struct {
	*linker
	graph action.Graph
	tools engine.Tools

	// native are the assemblies of native code that exists as PTX only; shards are
	// those of the optimized part, of which linked is the bitcode before.
	native []*assembly
	shards []*assembly
	linked action.Content
	// compileSaid is what the compiler said, until it is reported.
	compileSaid []*message.Message
	// vector is libnvvm's, of the last try.
	vector []string
	// optimizing is LLVM's step, and optimized are the assemblies of what it gave.
	optimizing *action.Step
	optimized  []*assembly
	remarks    []string
	thin       *thinLink // nil: no ThinLTO
	// engines counts those that are still at work.
	engines int
	// merging is the last step and parts are its inputs, if the link came to it.
	merging *action.Step
	parts   []part

	// sliced has the slices, if the program is cut into some.
	sliced *sliced

	output     action.Content // the cubin, or the PTX with -emit-ptx
	whole      bool           // output is of a whole program
	registered []string       // what the merger says is in output
}

// An assembly is one run of ptxas.
type assembly struct {
	piece     *plan.Piece // of native code; nil: the optimized part
	place     int         // of the piece among native code
	ptx       action.Content
	arguments []string
	weight    int
	step      *action.Step
	cubin     action.Content
	said      []*message.Message
	failed    bool
}

// build makes the graph of actions and runs it.
func (l *linker) build(ctx context.Context, w *workshop) (*build, error) {
	if l.options.Own.Mode == "fast" {
		if b, err := l.buildFast(ctx, w); b != nil || err != nil {
			return b, err
		}
		l.decided = nil // what the attempt found does not count
	}
	b, err := l.newBuild()
	if err != nil {
		return nil, err
	}
	b.tools.PostLink = l.options.Own.VerboseKeep
	if err = b.start(); err != nil {
		return nil, err
	}
	if err = b.graph.Run(ctx, l.watch(w.runner), w.inFlight); err == nil {
		b.reportSteps()
		return b, nil
	}
	// Steps beside the one that failed may or may not have ended: they are not
	// heard. Where native code could not be assembled nvlink reads no further.
	until := len(l.plan.Messages)
	if at := slices.IndexFunc(b.native, func(a *assembly) bool { return a.failed }); at >= 0 {
		until = b.native[at].piece.Said
	}
	l.reportPlan(until)
	return b, err
}

// start adds the engines' steps, or the merge if there is nothing to optimize.
func (b *build) start() error {
	if len(b.plan.IR) > 0 {
		b.engines++
		b.compile(b.plan.Compile, 1)
	}
	if len(b.plan.Bitcode) > 0 {
		b.engines++
		switch {
		case b.plan.KeepBitcode:
			b.mergeBitcode()
		case b.plan.Thin:
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

// newBuild has the steps that do not depend on others.
func (l *linker) newBuild() (*build, error) {
	b := &build{linker: l}
	var err error
	if b.tools, err = l.tools(); err != nil {
		return nil, err
	}
	for i := range l.plan.Native {
		if piece := &l.plan.Native[i]; piece.Module.Kind == object.PTX && !l.emitsPTX() {
			b.native = append(b.native, b.assembleNative(piece, i))
		}
	}
	return b, nil
}

// report tells of something that an action said. What slices say is kept back until
// it is certain that their link counts.
func (b *build) report(m *message.Message) {
	if b.sliced != nil {
		b.sliced.hear(m)
		return
	}
	b.log.Report(m)
}

// compile adds the step from IR to PTX; what follows depends on its answer.
func (b *build) compile(vector []string, try int) {
	modules := b.modules()
	b.vector = vector
	b.graph.Add(&action.Step{
		Make: func() (*action.Action, error) { return b.compileAction(modules, vector) },
		Handle: action.Handle(func(r *action.Result) (*compilation, error) { return b.readCompilation(modules, r) }, func(c *compilation) error {
			if b.compileAgain(c.result, vector, try) {
				return nil
			}
			b.linked = c.result.Outputs[engine.LinkedFile]
			if c.Outcome == nil {
				return c.err
			}
			b.took(b.timeOfLTO("cicc", "lto.nvvm", "lto.ptx"), c.result.Usage.Wall)
			for _, m := range []*message.Message{c.Wrote, c.Log} {
				if m != nil {
					b.compileSaid = append(b.compileSaid, m)
				}
			}
			if len(b.native) == 0 {
				b.reportSteps()
			}
			if c.err == nil {
				b.compiled(c.Outcome, c.texts)
			}
			return c.err
		}),
	})
}

// A compilation is what a compile action gave. An error of the engine is part of it:
// the build may try again.
type compilation struct {
	result *action.Result
	*engine.Outcome
	texts []action.Content // the PTX in its shards
	err   error
}

func (b *build) readCompilation(modules []engine.Module, r *action.Result) (*compilation, error) {
	c := &compilation{result: r}
	if c.Outcome, c.err = engine.ParseResult(b.plan.Engine, modules, r); c.err == nil && !b.emitsPTX() {
		c.texts, c.err = shardsOf(c.Outcome)
	}
	return c, nil
}

// compiled goes on from the PTX: to the end, to one assembly, or to a merge.
func (b *build) compiled(o *engine.Outcome, texts []action.Content) {
	if b.emitsPTX() {
		b.output = o.PTX
		return
	}
	b.whole = len(texts) == 1 && b.plan.Mode == plan.Whole && (!o.Relocatable || b.options.ForceWhole)
	b.decide(whyMerge(b, o))
	if b.whole {
		b.shards = []*assembly{b.assemble(&assembly{ptx: texts[0], arguments: b.plan.Assemble}, func(a *assembly) {
			b.output = a.cubin
		})}
		return
	}
	for _, text := range texts {
		b.shards = append(b.shards, b.assemble(&assembly{ptx: text, arguments: relocatable(b.plan.Assemble)}, nil))
	}
	b.engineDone()
}

// engineDone goes on to the merge once all engines have given their code.
func (b *build) engineDone() {
	if b.engines--; b.engines == 0 {
		b.merge()
	}
}

func whyMerge(b *build, o *engine.Outcome) string {
	switch {
	case b.whole:
		return "the program is closed: ptxas makes the result"
	case len(o.Shards) > 1:
		return fmt.Sprintf("the program comes in %d shards, which are merged", len(o.Shards))
	case b.plan.Mode == plan.Whole:
		return "the program is not closed: its missing functions are sought in native code"
	}
	return "the optimized part is merged with the rest"
}

// shardsOf gives the PTX texts of an outcome.
func shardsOf(o *engine.Outcome) ([]action.Content, error) {
	if len(o.Shards) <= 1 {
		return []action.Content{o.PTX}, nil
	}
	text, err := o.PTX.Read()
	if err != nil {
		return nil, err
	}
	shards, err := engine.Shards(text, o.Shards)
	var contents []action.Content
	for _, s := range shards {
		contents = append(contents, action.Bytes(s))
	}
	return contents, err
}

// assembleNative compiles native code that exists as PTX only, with the options
// that it was made with and those of the link.
func (b *build) assembleNative(piece *plan.Piece, place int) *assembly {
	return b.assemble(&assembly{
		piece:     piece,
		place:     place,
		ptx:       action.Content{Load: piece.Module.Text},
		arguments: relocatable(append(strings.Fields(piece.Module.Options), b.plan.Assemble...)),
	}, nil)
}

// assemble adds the step for an assembly. What ptxas says is kept, so that it can
// be reported in an order that doesn't depend on which step ends first.
func (b *build) assemble(a *assembly, then func(*assembly)) *assembly {
	a.step = b.graph.Add(&action.Step{
		Weight: a.weight,
		Make: func() (*action.Action, error) {
			assemble := engine.Assemble(b.tools, a.ptx, a.arguments)
			if b.hasLineTables(a) {
				assemble.Impure = lineTables
			}
			return assemble, nil
		},
		Handle: action.Handle(readAssembly, func(r assembled) error {
			a.cubin, a.said, a.failed = r.cubin, r.said, r.err != nil
			b.tookAssembly(a, r.wall, r.err == nil)
			if r.err == nil && then != nil {
				then(a)
			}
			return r.err
		}),
	})
	return a
}

// assembled is the result of an assembly. That ptxas failed is part of it, because
// that takes time, too.
type assembled struct {
	cubin action.Content
	said  []*message.Message
	wall  time.Duration
	err   error
}

func readAssembly(r *action.Result) (assembled, error) {
	cubin, said, err := engine.ParseAssemblyResult(r)
	return assembled{cubin, said, r.Usage.Wall, err}, nil
}

const lineTables = "ptxas of 13.0 writes sizes and times of the source files into line tables"

// hasLineTables says whether the PTX names source files.
func (b *build) hasLineTables(a *assembly) bool {
	isOption := func(option string) bool {
		return slices.Contains([]string{"-g", "-lineinfo", "--device-debug", "--generate-line-info", "-generate-line-info"}, option)
	}
	return slices.ContainsFunc(b.plan.Compile, isOption) || slices.ContainsFunc(a.arguments, isOption)
}

// relocatable adds ptxas's option for code that is linked further.
func relocatable(arguments []string) []string {
	if slices.Contains(arguments, "-c") || slices.Contains(arguments, "--compile-only") {
		return arguments
	}
	return append([]string{"-c"}, arguments...)
}

// reportSteps reports what the steps so far said, in nvlink's order and each
// message once.
func (b *build) reportSteps() {
	for _, a := range b.native {
		b.reportPlan(a.piece.Said)
		b.reportAll(&a.said)
	}
	b.reportPlan(len(b.plan.Messages))
	b.reportAll(&b.compileSaid)
	for _, a := range b.shards {
		b.reportAll(&a.said)
	}
	b.takeSpills()
	for _, a := range b.optimized {
		b.reportAll(&a.said)
	}
}

// reportAll reports messages that nobody has reported yet.
func (b *build) reportAll(said *[]*message.Message) {
	for _, m := range *said {
		b.report(m)
	}
	*said = nil
}

// modules are the plan's, in the form that its engine reads.
func (l *linker) modules() []engine.Module {
	var modules []engine.Module
	for _, piece := range l.plan.IR {
		load := piece.Module.Data
		if l.plan.Engine == plan.JITLink {
			load = piece.Module.Container
		}
		modules = append(modules, engine.Module{Origin: piece.Object.Origin.String(), Content: action.Shared(load)})
	}
	return modules
}

// emitsPTX says whether PTX is the result. Without LTO-IR there is none, and -emit-ptx
// is of no effect.
func (l *linker) emitsPTX() bool { return l.options.EmitPTX && len(l.plan.IR)+len(l.plan.Bitcode) > 0 }

// memoryLimit is for the library that compiles LTO-IR. It needs about 50 times the
// size of the IR; damaged IR can make it ask for all that there is.
func (l *linker) memoryLimit() int64 {
	if l.options.Own.MemoryLimit != nil {
		return int64(*l.options.Own.MemoryLimit) << 20
	}
	const least, perByte, perThread = 2 << 30, 1000, 64 << 20
	return int64(least+perThread*runtime.NumCPU()) + perByte*size(l.plan.IR, l.plan.Bitcode)
}

// size is how many bytes of code some pieces have together.
func size(pieces ...[]plan.Piece) (sum int64) {
	for _, piece := range slices.Concat(pieces...) {
		sum += piece.Module.Size
	}
	return sum
}

// tools are those of the user's toolkit, as far as this link may need them.
func (l *linker) tools() (t engine.Tools, err error) {
	t = engine.Tools{Self: l.Self, Env: l.workerEnv(), Limit: l.options.Own.TimeLimit, MemoryLimit: l.memoryLimit()}
	switch {
	case len(l.plan.IR) == 0:
	case l.plan.Engine == plan.JITLink:
		t.Library, err = l.toolkit.NeedJitLink()
	default:
		t.Library, err = l.toolkit.NeedNVVM()
	}
	if err != nil || l.emitsPTX() {
		return t, err
	}
	t.PTXAS, err = l.toolkit.NeedPTXAS()
	return t, err
}
