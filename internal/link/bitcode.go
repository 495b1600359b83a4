package link

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/object/bitcode"
	"github.com/warpld/warpld/internal/plan"
	"github.com/warpld/warpld/internal/toolkit"
)

// findLLVM looks for libLLVM if an input has bitcode. A link without any never
// comes near it.
func (l *linker) findLLVM() (err error) {
	if slices.ContainsFunc(l.objects, (*object.Object).HasBitcode) {
		l.llvm, err = toolkit.FindLLVM(l.options.Own.LLVM, l.Env)
	}
	return err
}

func (l *linker) llvmMajor() int {
	if l.llvm == nil {
		return 0
	}
	return l.llvm.Major
}

// compileBitcode adds the step from bitcode to PTX; what follows depends on its
// answer.
func (b *build) compileBitcode() {
	modules := b.bitcodeModules()
	b.optimizing = b.graph.Add(&action.Step{
		Make: func() (*action.Action, error) {
			libdevice, err := b.libdevice()
			if err != nil {
				return nil, err
			}
			return engine.CompileBitcode(b.llvmTools(), modules, b.plan.LLVM, libdevice)
		},
		Handle: action.Handle(func(r *action.Result) (*optimization, error) { return readOptimization(modules, r) }, func(o *optimization) error {
			b.took(b.timeOfLTO("llvm", "llvm.bc", "llvm.ptx"), o.wall)
			b.trace(o.answer)
			b.remarks = o.answer.Remarks
			b.optimizedBitcode(o)
			return nil
		}),
	})
}

// An optimization is what LLVM made of bitcode.
type optimization struct {
	*engine.Outcome
	answer *engine.LLVMAnswer
	text   []byte
	wall   time.Duration
}

func readOptimization(modules []engine.Module, r *action.Result) (*optimization, error) {
	outcome, answer, err := engine.ParseBitcodeResult(modules, r)
	if err != nil {
		return nil, err
	}
	text, err := outcome.PTX.Read()
	return &optimization{outcome, answer, text, r.Usage.Wall}, err
}

// mergeBitcode adds the step that makes one module of all, which is the result.
func (b *build) mergeBitcode() {
	modules := b.bitcodeModules()
	b.graph.Add(&action.Step{
		Make: func() (*action.Action, error) { return engine.MergeBitcode(b.llvmTools(), modules, b.plan.LLVM) },
		Handle: action.Handle(func(r *action.Result) (bitcodeResult, error) { return readBitcode(modules, r) }, func(r bitcodeResult) error {
			b.trace(r.answer)
			b.output = r.linked
			return nil
		}),
	})
}

// A bitcodeResult is what an action on bitcode gave whose result is bitcode.
type bitcodeResult struct {
	answer *engine.LLVMAnswer
	linked action.Content
}

func readBitcode(modules []engine.Module, r *action.Result) (bitcodeResult, error) {
	_, answer, err := engine.ParseBitcodeResult(modules, r)
	return bitcodeResult{answer, r.Outputs[engine.LinkedFile]}, err
}

// trace tells what LLVM removed and what it warned of.
func (b *build) trace(answer *engine.LLVMAnswer) {
	if answer.Version != "" {
		b.say("LLVM %s has the bitcode", answer.Version)
	}
	for _, name := range answer.Kernels {
		b.say("no reference to kernel %s", name)
	}
	for _, name := range answer.Variables {
		b.say("no reference to variable %s", name)
	}
	for _, warning := range answer.Warnings {
		b.say("LLVM: %s", warning)
	}
}

// optimizedBitcode goes on from LLVM's PTX: to the end, to one assembly, or to a
// merge.
func (b *build) optimizedBitcode(o *optimization) {
	if b.emitsPTX() {
		b.output = o.PTX
		return
	}
	arguments := b.bitcodeArguments(o.text)
	b.whole = len(b.plan.IR) == 0 && b.plan.Mode == plan.Whole && (!o.Relocatable || b.options.ForceWhole)
	b.decide(whyMerge(b, o.Outcome))
	if b.whole {
		b.optimized = []*assembly{b.assemble(&assembly{ptx: o.PTX, arguments: arguments}, func(a *assembly) {
			b.output = a.cubin
		})}
		return
	}
	b.optimized = []*assembly{b.assemble(&assembly{ptx: o.PTX, arguments: relocatable(arguments)}, nil)}
	b.engineDone()
}

// bitcodeArguments are ptxas's for LLVM's text. It keeps the line tables of a text
// only if told to.
func (l *linker) bitcodeArguments(text []byte) []string {
	arguments := l.plan.Assemble
	if bytes.Contains(text, []byte("\n\t.loc\t")) && !slices.Contains(arguments, "-g") {
		arguments = append(slices.Clip(arguments), "-lineinfo")
	}
	if l.addsResources() {
		arguments = append(slices.Clip(arguments), engine.Resources)
	}
	return arguments
}

// addsResources says whether ptxas is asked what functions take for the remarks' sake alone.
func (l *linker) addsResources() bool {
	return l.plan.LLVM.Remarks && !slices.Contains(l.plan.Assemble, engine.Resources) && !slices.Contains(l.plan.Assemble, "--verbose")
}

// libdevice is NVIDIA's library of mathematics, if the plan asks for it.
func (l *linker) libdevice() (string, error) {
	if !l.plan.LLVM.Libdevice {
		return "", nil
	}
	return l.toolkit.NeedLibdevice()
}

// llvmTools are the tools with LLVM's library in the place of NVIDIA's.
func (b *build) llvmTools() engine.Tools {
	tools := b.tools
	tools.Library = b.llvm.Path
	return tools
}

// bitcodeModules are the plan's, each a file of its own.
func (l *linker) bitcodeModules() []engine.Module {
	var modules []engine.Module
	for _, piece := range l.plan.Bitcode {
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
			modules = append(modules, engine.Module{Origin: piece.Object.Origin.String(), Content: action.Content{Load: load}})
		}
	}
	return modules
}

// bitcodeWith names the objects whose bitcode defines a symbol, or refers to it.
func (l *linker) bitcodeWith(symbol string, defined bool) []string {
	var who []string
	for _, piece := range l.plan.Bitcode {
		has := func(m bitcode.Module) bool {
			return slices.ContainsFunc(m.Symbols, func(y bitcode.Symbol) bool { return y.Name == symbol && y.Defined == defined })
		}
		if slices.ContainsFunc(piece.Module.Bitcode, has) {
			who = append(who, piece.Object.Origin.String())
		}
	}
	return who
}

// takeSpills makes remarks of what ptxas said about registers, which is not to be reported.
func (b *build) takeSpills() {
	for _, a := range b.optimized {
		if spills, rest := engine.Spills(a.said); len(b.plan.Bitcode) > 0 && b.addsResources() {
			b.remarks = append(b.remarks, spills...)
			a.said = rest
		}
	}
}

// writeRemarks writes what LLVM said about its work, one remark a line.
func (b *build) writeRemarks() error {
	path := b.options.Own.Remarks
	if path == "" {
		return nil
	}
	var text strings.Builder
	for _, remark := range b.remarks {
		fmt.Fprintln(&text, strings.ReplaceAll(remark, "\n", " "))
	}
	return replaceFile(path, strings.NewReader(text.String()))
}

// llvmFolder is where --verbose-keep puts what LLVM had and made.
const llvmFolder = "llvm"

// keepBitcode keeps LLVM's action: its files, and the command that does it again.
func (b *build) keepBitcode(k *keeper) {
	if b.thin != nil {
		b.thin.keepThin(k)
	}
	if !b.cameTo(b.optimizing) {
		return
	}
	k.inputs(llvmFolder, b.optimizing.Action())
	k.action(llvmFolder, b.optimizing.Action())
	text := filepath.Join(llvmFolder, engine.PTXFile)
	if b.emitsPTX() {
		k.save(text, b.output)
	}
	for _, a := range b.optimized {
		k.save(text, a.ptx)
		k.assembly(llvmFolder, a)
	}
}
