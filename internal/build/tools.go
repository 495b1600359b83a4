package build

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/plan"
)

// newTools returns the tools of the user's toolkit, as far as a link may need them.
func newTools(in *Input) (t engine.Tools, err error) {
	t = engine.Tools{Self: in.Self, Env: in.ToolEnv, Limit: in.Options.Own.TimeLimit, MemoryLimit: memoryLimit(in)}
	switch {
	case len(in.Plan.IR) == 0:
	case in.Plan.Engine == plan.JITLink:
		t.Library, err = in.Toolkit.NeedJitLink()
	default:
		t.Library, err = in.Toolkit.NeedNVVM()
	}
	if err != nil || !assembles(in.Plan) {
		return t, err
	}
	t.PTXAS, err = in.Toolkit.NeedPTXAS()
	return t, err
}

// assembles reports whether a plan has code that ptxas is needed for.
func assembles(p *plan.Plan) bool {
	isPTX := func(piece plan.Piece) bool { return piece.Module.Kind == object.PTX }
	return !p.EmitPTX && (len(p.IR)+len(p.Bitcode) > 0 || slices.ContainsFunc(p.Native, isPTX))
}

// memoryLimit returns the limit for the library that compiles LTO-IR. It needs about 50
// times the size of the IR; damaged IR can make it ask for all that there is.
func memoryLimit(in *Input) int64 {
	if in.Options.Own.MemoryLimit != nil {
		return int64(*in.Options.Own.MemoryLimit) << 20
	}
	const least, perByte, perThread = 2 << 30, 1000, 64 << 20
	return int64(least+perThread*runtime.NumCPU()) + perByte*size(in.Plan.IR, in.Plan.Bitcode)
}

// size returns how many bytes of code some pieces have together.
func size(pieces ...[]plan.Piece) (sum int64) {
	for _, piece := range slices.Concat(pieces...) {
		sum += piece.Module.Size
	}
	return sum
}

// Modules returns the LTO-IR of a plan, in the form that its engine reads.
func Modules(p *plan.Plan) []engine.Module {
	var modules []engine.Module
	for _, piece := range p.IR {
		load := piece.Module.Data
		if p.Engine == plan.JITLink {
			load = piece.Module.Container
		}
		modules = append(modules, engine.Module{Origin: piece.Object.Origin.String(), Content: action.Shared(load)})
	}
	return modules
}

// bitcodeModules returns the bitcode of a plan, each file of it as a module.
func bitcodeModules(p *plan.Plan) []engine.Module {
	var modules []engine.Module
	for _, piece := range p.Bitcode {
		for i := range piece.Module.Bitcode {
			load := func() ([]byte, error) {
				files, err := piece.Module.BitcodeFiles()
				if err != nil {
					return nil, err
				}
				if i >= len(files) {
					return nil, fmt.Errorf("%s: %w", piece.Object.Origin, object.ErrChanged)
				}
				return files[i], nil
			}
			origin := piece.Object.Origin.String()
			modules = append(modules, engine.Module{Origin: origin, Content: action.Content{Load: load}})
		}
	}
	return modules
}

// compileAction returns the action in which the plan's engine compiles some modules.
func compileAction(p *plan.Plan, t engine.Tools, modules []engine.Module, vector []string) (*action.Action, error) {
	return engine.Compile(p.Engine, t, modules, p.EngineOptions(vector))
}

// compiledText returns the PTX of such an action.
func compiledText(p *plan.Plan, modules []engine.Module, r *action.Result) ([]byte, *engine.Outcome, error) {
	outcome, err := engine.ParseResult(p.Engine, modules, r)
	if err != nil {
		return nil, nil, err
	}
	text, err := outcome.PTX.Read()
	return text, outcome, err
}
