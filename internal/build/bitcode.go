package build

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/plan"
)

// compileBitcode adds the step from bitcode to PTX; what follows depends on its
// answer.
func (b *build) compileBitcode() {
	modules := bitcodeModules(b.in.Plan)
	read := func(r *action.Result) (*optimization, error) { return readOptimization(modules, r) }
	b.result.Steps.Optimizing = b.graph.Add(&action.Step{
		Make: func() (*action.Action, error) {
			libdevice, err := b.libdevice()
			if err != nil {
				return nil, err
			}
			return engine.CompileBitcode(b.llvmTools(), modules, b.in.Plan.LLVM, libdevice)
		},
		Handle: action.Handle(read, func(o *optimization) error {
			b.tookLLVM(o.wall)
			b.traceLLVM(o.answer)
			b.result.Remarks = o.answer.Remarks
			if b.in.Plan.EmitPTX {
				b.emit(o.ptx)
				return nil
			}
			missing := engine.UndefinedVariables(o.text)
			if len(missing) > 0 && b.in.Options.ForceWhole {
				return undefinedVariables(missing)
			}
			b.take(code{llvm: true, relocatable: o.relocatable || len(missing) > 0,
				texts: []text{{o.ptx, bitcodeArguments(b.in.Plan, o.text)}}})
			return nil
		}),
	})
}

// undefinedVariables returns the merger's errors for variables that nobody defines, for a
// program that is not merged. ptxas has only a warning for them, and the program would read
// zeros.
func undefinedVariables(names []string) error {
	var list message.List
	for _, name := range names {
		list = append(list, &message.Message{Severity: message.Error, ID: "undefined-symbol", Symbol: name,
			Text: fmt.Sprintf("Undefined reference to '%s' in '%s'", name, plan.LLVMName)})
	}
	return list
}

// An optimization is what LLVM made of bitcode.
type optimization struct {
	ptx         action.Content
	text        []byte // of ptx
	relocatable bool
	answer      *engine.LLVMAnswer
	wall        time.Duration
}

func readOptimization(modules []engine.Module, r *action.Result) (*optimization, error) {
	outcome, answer, err := engine.ParseBitcodeResult(modules, r)
	if err != nil {
		return nil, err
	}
	text, err := outcome.PTX.Read()
	return &optimization{outcome.PTX, text, outcome.Relocatable, answer, r.Usage.Wall}, err
}

// mergeBitcode adds the step that makes one module of all, which is the result.
func (b *build) mergeBitcode() {
	modules := bitcodeModules(b.in.Plan)
	read := func(r *action.Result) (linkedBitcode, error) { return readBitcode(modules, r) }
	b.graph.Add(&action.Step{
		Make: func() (*action.Action, error) {
			return engine.MergeBitcode(b.llvmTools(), modules, b.in.Plan.LLVM)
		},
		Handle: action.Handle(read, func(l linkedBitcode) error {
			b.traceLLVM(l.answer)
			b.emit(l.content)
			return nil
		}),
	})
}

// linkedBitcode is the result of an action that makes bitcode of bitcode.
type linkedBitcode struct {
	content action.Content
	answer  *engine.LLVMAnswer
}

func readBitcode(modules []engine.Module, r *action.Result) (linkedBitcode, error) {
	_, answer, err := engine.ParseBitcodeResult(modules, r)
	return linkedBitcode{r.Outputs[engine.LinkedFile], answer}, err
}

// traceLLVM shows what LLVM removed and its warnings.
func (b *build) traceLLVM(answer *engine.LLVMAnswer) {
	if answer.Version != "" {
		b.in.Verbosef("LLVM %s has the bitcode", answer.Version)
	}
	for _, name := range answer.Kernels {
		b.in.Verbosef("no reference to kernel %s", name)
	}
	for _, name := range answer.Variables {
		b.in.Verbosef("no reference to variable %s", name)
	}
	for _, warning := range answer.Warnings {
		b.in.Verbosef("LLVM: %s", warning)
	}
}

// bitcodeArguments returns ptxas's arguments for LLVM's text. ptxas keeps the line
// tables of a text only if it is asked to.
func bitcodeArguments(p *plan.Plan, text []byte) []string {
	arguments := p.Assemble
	if bytes.Contains(text, []byte("\n\t.loc\t")) && !slices.Contains(arguments, "-g") {
		arguments = append(slices.Clip(arguments), "-lineinfo")
	}
	if addsResources(p) {
		arguments = append(slices.Clip(arguments), engine.Resources)
	}
	return arguments
}

// addsResources reports whether ptxas lists the resources of functions for the sake of
// the remarks alone.
func addsResources(p *plan.Plan) bool {
	asked := slices.Contains(p.Assemble, engine.Resources) || slices.Contains(p.Assemble, "--verbose")
	return p.LLVM.Remarks && !asked
}

// takeSpills turns what ptxas said about registers into remarks.
func (b *build) takeSpills() {
	if len(b.in.Plan.Bitcode) == 0 || !addsResources(b.in.Plan) {
		return
	}
	for _, a := range b.result.Steps.Optimized {
		spills, rest := engine.Spills(a.said)
		b.result.Remarks = append(b.result.Remarks, spills...)
		a.said = rest
	}
}

// libdevice returns the path of NVIDIA's library of mathematics, if the plan needs it.
func (b *build) libdevice() (string, error) {
	if !b.in.Plan.LLVM.Libdevice {
		return "", nil
	}
	return b.in.Toolkit.NeedLibdevice()
}

// llvmTools returns the tools with LLVM's library in the place of NVIDIA's.
func (b *build) llvmTools() engine.Tools {
	tools := b.tools
	tools.Library = b.in.LLVM.Path
	return tools
}
