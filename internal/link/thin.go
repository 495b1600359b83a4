package link

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/object/bitcode"
	"github.com/warpld/warpld/internal/ptx"
)

// A thinLink is the bitcode of a link on its way through ThinLTO.
type thinLink struct {
	*build
	programs engine.ThinTools
	tools    engine.Tools
	modules  []engine.Module // as they were, then as they are prepared
	texts    []action.Content
	left     int // modules that are not compiled yet
	// What follows is by the place of the module. Edits and summaries are nil where a
	// module is as it must be, and assemblies where it has no code.
	edits, summaries, backends []*action.Action
	edited                     []action.Content
	remarks                    [][]string
	assemblies                 []*assembly
	linking                    *action.Action
	linked                     *action.Result // of linking
	trap                       *assembly      // of what stands for pure virtual functions
}

// compileThin adds the steps: those that prepare modules, the thin link after them, and
// then one compilation for each module.
func (b *build) compileThin() error {
	t := &thinLink{build: b, tools: b.llvmTools(), modules: b.bitcodeModules()}
	for name, place := range map[string]*engine.Program{"opt": &t.programs.Opt, "llvm-lto2": &t.programs.LTO2, "clang": &t.programs.Clang} {
		path, err := b.llvm.Tool(name)
		if err == nil {
			*place, err = b.program(path)
		}
		if err != nil {
			return err
		}
		place.Name = name
	}
	n := len(t.modules)
	t.texts, t.edited, t.left = make([]action.Content, n), make([]action.Content, n), n
	t.edits, t.summaries, t.backends = make([]*action.Action, n), make([]*action.Action, n), make([]*action.Action, n)
	t.remarks, t.assemblies = make([][]string, n), make([]*assembly, n)
	b.thin = t
	var before []*action.Step
	for i, piece := range b.plan.Bitcode {
		if b.plan.LLVM.Prepares(&piece.Module.Bitcode[0]) {
			before = append(before, t.prepare(i)...)
		}
	}
	t.link(before)
	return nil
}

// prepare adds the steps that change a module and give it a summary.
func (t *thinLink) prepare(place int) []*action.Step {
	one := t.modules[place : place+1]
	edited := t.graph.Add(&action.Step{
		Make: func() (*action.Action, error) {
			libdevice, err := t.libdevice()
			if err != nil {
				return nil, err
			}
			t.edits[place], err = engine.Prepare(t.tools, one[0], t.plan.LLVM, libdevice)
			return t.edits[place], err
		},
		Done: func(r *action.Result) error {
			_, answer, err := engine.ParseBitcodeResult(one, r)
			if err == nil {
				t.trace(answer)
				one[0].Content = r.Outputs[engine.LinkedFile]
				t.edited[place] = one[0].Content
			}
			return err
		},
	})
	summarized := t.graph.Add(&action.Step{
		After: []*action.Step{edited},
		Make: func() (*action.Action, error) {
			t.summaries[place] = engine.Summarize(t.programs, t.tools, one[0])
			return t.summaries[place], nil
		},
		Done: func(r *action.Result) error {
			one[0].Content = engine.SummarizedModule(r)
			return engine.CheckThinResult("opt", one, r)
		},
	})
	return []*action.Step{edited, summarized}
}

// link adds the thin link.
func (t *thinLink) link(before []*action.Step) {
	t.graph.Add(&action.Step{
		After: before,
		Make: func() (*action.Action, error) {
			var read []bitcode.Module
			for _, m := range t.modules {
				data, err := m.Content.Read()
				if err != nil {
					return nil, err
				}
				f, err := bitcode.Read(data)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", m.Origin, err)
				}
				read = append(read, f.Modules[0])
			}
			t.linking = engine.ThinLink(t.programs, t.tools, t.modules, t.plan.LLVM, t.plan.LLVM.Resolve(read))
			return t.linking, nil
		},
		Done: func(r *action.Result) error {
			if err := engine.CheckThinResult("the thin link", t.modules, r); err != nil {
				return err
			}
			t.linked = r
			for i := range t.modules {
				t.backend(i, r)
			}
			return nil
		},
	})
}

// backend adds the compilation of a module.
func (t *thinLink) backend(place int, linked *action.Result) {
	t.graph.Add(&action.Step{
		Make: func() (a *action.Action, err error) {
			t.backends[place], err = engine.Backend(t.programs, t.tools, t.modules, place, t.plan.LLVM, linked)
			return t.backends[place], err
		},
		Done: func(r *action.Result) error {
			if err := engine.CheckThinResult("clang", t.modules[place:place+1], r); err != nil {
				return err
			}
			t.took(t.timeOfLTO("llvm", "llvm.bc", "llvm.ptx"), r.Usage.Wall)
			text, err := r.Outputs[engine.PTXFile].Read()
			if err != nil {
				return err
			}
			t.texts[place] = action.Bytes(engine.RepairNames(text))
			t.remarks[place] = engine.ThinRemarks(r)
			t.mu.Lock()
			t.left--
			last := t.left == 0
			t.mu.Unlock()
			if last {
				return t.assembleAll()
			}
			return nil
		},
	})
}

// assembleAll adds the assemblies, in the order of the modules, and goes on to the merge.
// A module of which nothing is needed has no code.
func (t *thinLink) assembleAll() error {
	pure := false
	in := map[string]bool{}
	for i, c := range t.texts {
		text, err := c.Read()
		if err != nil {
			return err
		}
		symbols := 0
		for d := range ptx.Declarations(text) {
			symbols++
			in[d.Name] = in[d.Name] || d.Defined()
			pure = pure || d.Name == pureVirtual && !d.Defined()
		}
		if symbols > 0 {
			t.assemblies[i] = t.assemble(&assembly{ptx: c, arguments: relocatable(t.bitcodeArguments(text))}, nil)
			t.optimized = append(t.optimized, t.assemblies[i])
		}
		if pure && !in[pureVirtual] {
			in[pureVirtual] = true
			t.trap = t.assemble(&assembly{ptx: action.Bytes(trapFor(text)), arguments: relocatable(t.plan.Assemble)}, nil)
			t.optimized = append(t.optimized, t.trap)
		}
	}
	t.build.remarks = slices.Concat(t.remarks...)
	t.traceMissing(in)
	t.decide(fmt.Sprintf("ThinLTO compiled %d modules, which are merged", len(t.texts)))
	t.engineDone()
	return nil
}

// traceMissing tells of the kernels and variables that are gone and which the host can't
// name.
func (t *thinLink) traceMissing(in map[string]bool) {
	var kernels, variables []string
	for _, piece := range t.plan.Bitcode {
		for _, y := range piece.Module.Bitcode[0].Symbols {
			const shared = 3
			switch {
			case in[y.Name] || !y.Defined || y.Linkage != bitcode.External:
			case y.Kernel:
				kernels = append(kernels, y.Name)
			case y.Kind == bitcode.Variable && y.AddressSpace != shared && !strings.HasPrefix(y.Name, "_ZT"):
				variables = append(variables, y.Name)
			}
		}
	}
	slices.Sort(kernels)
	slices.Sort(variables)
	t.trace(&engine.LLVMAnswer{Kernels: kernels, Variables: variables})
}

// pureVirtual is what vtables hold for functions that no class defines.
const pureVirtual = "__cxa_pure_virtual"

// trapFor is a text like another that defines it.
func trapFor(text []byte) []byte {
	var head []byte
	for line := range bytes.Lines(text) {
		for _, directive := range []string{".version", ".target", ".address_size"} {
			if bytes.HasPrefix(line, []byte(directive)) {
				head = append(head, line...)
			}
		}
	}
	return append(head, "\n.weak .func "+pureVirtual+"()\n{\n\ttrap;\n\tret;\n}\n"...)
}
