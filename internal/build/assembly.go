package build

import (
	"slices"
	"strings"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/assemble"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/plan"
)

// An Assembly is one run of ptxas.
type Assembly struct {
	Piece *plan.Piece // native code, or nil for an optimized part
	PTX   action.Content
	Cubin action.Content

	place     int // index of Piece in the plan's native code
	arguments []string
	weight    int
	kernels   []string // of a slice
	step      *action.Step
	said      []*message.Message
	failed    bool
}

// Action returns the action, or nil if the build did not come to it.
func (a *Assembly) Action() *action.Action { return a.step.Action() }

// assembleNative assembles native code that exists as PTX only, with the options that it
// was made with and those of the link.
func (b *build) assembleNative(piece *plan.Piece, place int) *Assembly {
	a := &Assembly{
		Piece:     piece,
		PTX:       action.Content{Load: piece.Module.Text},
		place:     place,
		arguments: relocatable(append(strings.Fields(piece.Module.Options), b.in.Plan.Assemble...)),
	}
	b.assemble(a, nil)
	return a
}

// assemble adds the step for an assembly, after which then is called. The messages of
// ptxas are stored, so that the order in which they are reported does not depend on
// which step ends first.
func (b *build) assemble(a *Assembly, then func()) {
	a.step = b.graph.Add(&action.Step{
		Weight: a.weight,
		Make: func() (*action.Action, error) {
			run := engine.Assemble(b.tools, a.PTX, a.arguments)
			run.Kernels = a.kernels
			if hasLineTables(b.in.Plan, a.arguments) {
				run.Impure = assemble.LineTables
			}
			return run, nil
		},
		Handle: action.Handle(readAssembly, func(r assembled) error {
			a.Cubin, a.said, a.failed = r.cubin, r.said, r.err != nil
			b.tookAssembly(a, r.wall)
			if r.err == nil && then != nil {
				then()
			}
			return r.err
		}),
	})
}

// assembled is the result of an assembly. An error of ptxas is part of it, because a run
// that failed has taken time, too.
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

// hasLineTables reports whether ptxas with these arguments reads names of source files.
func hasLineTables(p *plan.Plan, arguments []string) bool {
	names := []string{"-g", "-lineinfo", "--device-debug", "--generate-line-info", "-generate-line-info"}
	isOption := func(option string) bool { return slices.Contains(names, option) }
	return slices.ContainsFunc(p.Compile, isOption) || slices.ContainsFunc(arguments, isOption)
}

// relocatable adds ptxas's option for code that is linked further.
func relocatable(arguments []string) []string {
	if slices.Contains(arguments, "-c") || slices.Contains(arguments, "--compile-only") {
		return arguments
	}
	return append([]string{"-c"}, arguments...)
}

// newAssembler returns the runner of a build, which assembles whole programs kernel by kernel
// if the options say so.
func newAssembler(in *Input) *assemble.Assembler {
	own := &in.Options.Own.Assembly
	return assemble.New(assemble.Settings{Mode: own.How, Runner: in.Runners.Runner, InFlight: in.Runners.InFlight,
		Remember: in.Runners.Remember, Watch: in.Watch, Report: in.Report, Verbosef: in.Verbosef,
		Slow: own.Slow, Verify: own.Verify, Differs: in.Differs})
}
