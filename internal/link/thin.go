package link

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

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
	compiled []thinModule
	left     int // modules that are not compiled yet
	// What follows is by the place of the module. Edits and summaries are nil where a
	// module is as it must be, and assemblies where it has no code.
	edits, summaries, backends []*action.Step
	edited                     []action.Content
	assemblies                 []*assembly
	linking                    *action.Step
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
	t.compiled, t.edited, t.left = make([]thinModule, n), make([]action.Content, n), n
	t.edits, t.summaries, t.backends = make([]*action.Step, n), make([]*action.Step, n), make([]*action.Step, n)
	t.assemblies = make([]*assembly, n)
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
			return engine.Prepare(t.tools, one[0], t.plan.LLVM, libdevice)
		},
		Handle: action.Handle(func(r *action.Result) (bitcodeResult, error) { return readBitcode(one, r) }, func(r bitcodeResult) error {
			t.trace(r.answer)
			one[0].Content, t.edited[place] = r.linked, r.linked
			return nil
		}),
	})
	summarized := t.graph.Add(&action.Step{
		After: []*action.Step{edited},
		Make:  func() (*action.Action, error) { return engine.Summarize(t.programs, t.tools, one[0]), nil },
		Handle: action.Handle(func(r *action.Result) (action.Content, error) {
			return engine.SummarizedModule(r), engine.CheckThinResult("opt", one, r)
		}, func(c action.Content) error {
			one[0].Content = c
			return nil
		}),
	})
	t.edits[place], t.summaries[place] = edited, summarized
	return []*action.Step{edited, summarized}
}

// link adds the thin link.
func (t *thinLink) link(before []*action.Step) {
	t.linking = t.graph.Add(&action.Step{
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
			return engine.ThinLink(t.programs, t.tools, t.modules, t.plan.LLVM, t.plan.LLVM.Resolve(read)), nil
		},
		Handle: action.Handle(func(r *action.Result) (*action.Result, error) {
			return r, engine.CheckThinResult("the thin link", t.modules, r)
		}, func(r *action.Result) error {
			t.linked = r
			for i := range t.modules {
				t.backend(i, r)
			}
			return nil
		}),
	})
}

// backend adds the compilation of a module.
func (t *thinLink) backend(place int, linked *action.Result) {
	t.backends[place] = t.graph.Add(&action.Step{
		Make: func() (*action.Action, error) {
			return engine.Backend(t.programs, t.tools, t.modules, place, t.plan.LLVM, linked)
		},
		Handle: action.Handle(func(r *action.Result) (thinModule, error) {
			return readThinModule(t.modules[place:place+1], r)
		}, func(m thinModule) error {
			t.took(t.timeOfLTO("llvm", "llvm.bc", "llvm.ptx"), m.wall)
			t.compiled[place] = m
			if t.left--; t.left == 0 {
				t.assembleAll()
			}
			return nil
		}),
	})
}

// A thinModule is what the compilation of a module gave.
type thinModule struct {
	text    []byte
	symbols []ptx.Declaration
	remarks []string
	wall    time.Duration
}

func readThinModule(module []engine.Module, r *action.Result) (m thinModule, err error) {
	if err = engine.CheckThinResult("clang", module, r); err != nil {
		return m, err
	}
	text, err := r.Outputs[engine.PTXFile].Read()
	if err != nil {
		return m, err
	}
	text = engine.RepairNames(text)
	return thinModule{text, slices.Collect(ptx.Declarations(text)), engine.ThinRemarks(r), r.Usage.Wall}, nil
}

// assembleAll adds the assemblies, in the order of the modules, and goes on to the merge.
// A module of which nothing is needed has no code.
func (t *thinLink) assembleAll() {
	pure := false
	in := map[string]bool{}
	for i, m := range t.compiled {
		for _, d := range m.symbols {
			in[d.Name] = in[d.Name] || d.Defined()
			pure = pure || d.Name == pureVirtual && !d.Defined()
		}
		if len(m.symbols) > 0 {
			t.assemblies[i] = t.assemble(&assembly{ptx: action.Bytes(m.text), arguments: relocatable(t.bitcodeArguments(m.text))}, nil)
			t.optimized = append(t.optimized, t.assemblies[i])
		}
		if pure && !in[pureVirtual] {
			in[pureVirtual] = true
			t.trap = t.assemble(&assembly{ptx: action.Bytes(trapFor(m.text)), arguments: relocatable(t.plan.Assemble)}, nil)
			t.optimized = append(t.optimized, t.trap)
		}
		t.build.remarks = append(t.build.remarks, m.remarks...)
	}
	t.traceMissing(in)
	t.decide(fmt.Sprintf("ThinLTO compiled %d modules, which are merged", len(t.compiled)))
	t.engineDone()
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
