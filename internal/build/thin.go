package build

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

// A Thin is the bitcode of a link on its way through ThinLTO.
type Thin struct {
	// Inputs are the modules as they are read, then as they are prepared.
	Inputs  []engine.Module
	Modules []ThinModule // at the same indices
	Linking *action.Step
	Linked  *action.Result // of Linking
	// Trap is the assembly of what stands for pure virtual functions, if it is needed.
	Trap *Assembly

	b        *build
	programs engine.ThinTools
	tools    engine.Tools
	left     int // modules that are not compiled yet
}

// A ThinModule is what became of a module.
type ThinModule struct {
	// Edit and Summary are nil where a module needs no preparation.
	Edit, Summary, Backend *action.Step
	Edited                 action.Content
	PTX                    []byte
	Assembly               *Assembly // nil where a module has no code

	symbols []ptx.Declaration
	remarks []string
}

// compileThin adds the steps: those that prepare modules, the thin link after them, and
// then one compilation for each module.
func (b *build) compileThin() error {
	t := &Thin{b: b, tools: b.llvmTools(), Inputs: bitcodeModules(b.in.Plan)}
	for name, program := range map[string]*engine.Program{
		"opt": &t.programs.Opt, "llvm-lto2": &t.programs.LTO2, "clang": &t.programs.Clang,
	} {
		path, err := b.in.LLVM.Tool(name)
		if err == nil {
			*program, err = engine.FindProgram(path, b.in.Env)
		}
		if err != nil {
			return err
		}
		program.Name = name
	}
	t.Modules, t.left = make([]ThinModule, len(t.Inputs)), len(t.Inputs)
	b.result.Steps.Thin = t
	var before []*action.Step
	for i, piece := range b.in.Plan.Bitcode {
		if b.in.Plan.LLVM.Prepares(&piece.Module.Bitcode[0]) {
			before = append(before, t.prepare(i)...)
		}
	}
	t.link(before)
	return nil
}

// prepare adds the steps that change a module and give it a summary.
func (t *Thin) prepare(place int) []*action.Step {
	one, m := t.Inputs[place:place+1], &t.Modules[place]
	edited := func(r *action.Result) (linkedBitcode, error) { return readBitcode(one, r) }
	m.Edit = t.b.graph.Add(&action.Step{
		Make: func() (*action.Action, error) {
			libdevice, err := t.b.libdevice()
			if err != nil {
				return nil, err
			}
			return engine.Prepare(t.tools, one[0], t.b.in.Plan.LLVM, libdevice)
		},
		Handle: action.Handle(edited, func(l linkedBitcode) error {
			t.b.traceLLVM(l.answer)
			one[0].Content, m.Edited = l.content, l.content
			return nil
		}),
	})
	summarized := func(r *action.Result) (action.Content, error) {
		return engine.SummarizedModule(r), engine.CheckThinResult("opt", one, r)
	}
	m.Summary = t.b.graph.Add(&action.Step{
		After: []*action.Step{m.Edit},
		Make:  func() (*action.Action, error) { return engine.Summarize(t.programs, t.tools, one[0]), nil },
		Handle: action.Handle(summarized, func(c action.Content) error {
			one[0].Content = c
			return nil
		}),
	})
	return []*action.Step{m.Edit, m.Summary}
}

// link adds the thin link.
func (t *Thin) link(before []*action.Step) {
	settings := &t.b.in.Plan.LLVM
	checked := func(r *action.Result) (*action.Result, error) {
		return r, engine.CheckThinResult("the thin link", t.Inputs, r)
	}
	t.Linking = t.b.graph.Add(&action.Step{
		After: before,
		Make: func() (*action.Action, error) {
			modules, err := readModules(t.Inputs)
			if err != nil {
				return nil, err
			}
			return engine.ThinLink(t.programs, t.tools, t.Inputs, *settings, settings.Resolve(modules)), nil
		},
		Handle: action.Handle(checked, func(r *action.Result) error {
			t.Linked = r
			for i := range t.Inputs {
				t.backend(i)
			}
			return nil
		}),
	})
}

func readModules(inputs []engine.Module) (modules []bitcode.Module, err error) {
	for _, m := range inputs {
		data, err := m.Content.Read()
		if err != nil {
			return nil, err
		}
		f, err := bitcode.Read(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Origin, err)
		}
		modules = append(modules, f.Modules[0])
	}
	return modules, nil
}

// backend adds the compilation of a module.
func (t *Thin) backend(place int) {
	m := &t.Modules[place]
	read := func(r *action.Result) (thinText, error) { return readThinText(t.Inputs[place:place+1], r) }
	m.Backend = t.b.graph.Add(&action.Step{
		Make: func() (*action.Action, error) {
			return engine.Backend(t.programs, t.tools, t.Inputs, place, t.b.in.Plan.LLVM, t.Linked)
		},
		Handle: action.Handle(read, func(text thinText) error {
			t.b.tookLLVM(text.wall)
			m.PTX, m.symbols, m.remarks = text.ptx, text.symbols, text.remarks
			if t.left--; t.left == 0 {
				t.done()
			}
			return nil
		}),
	})
}

// A thinText is the result of the compilation of a module.
type thinText struct {
	ptx     []byte
	symbols []ptx.Declaration
	remarks []string
	wall    time.Duration
}

func readThinText(module []engine.Module, r *action.Result) (t thinText, err error) {
	if err = engine.CheckThinResult("clang", module, r); err != nil {
		return t, err
	}
	text, err := r.Outputs[engine.PTXFile].Read()
	if err != nil {
		return t, err
	}
	text = engine.RepairNames(text)
	return thinText{text, slices.Collect(ptx.Declarations(text)), engine.ThinRemarks(r), r.Usage.Wall}, nil
}

// done passes the code on, in the order of the modules. A module of which nothing is
// needed has no code.
func (t *Thin) done() {
	p := t.b.in.Plan
	made := code{llvm: true, decision: fmt.Sprintf("ThinLTO compiled %d modules, which are merged", len(t.Modules))}
	var owners []**Assembly // of the texts
	callsPure := false
	defined := map[string]bool{}
	for i := range t.Modules {
		m := &t.Modules[i]
		for _, d := range m.symbols {
			defined[d.Name] = defined[d.Name] || d.Defined()
			callsPure = callsPure || (d.Name == pureVirtual && !d.Defined())
		}
		if len(m.symbols) > 0 {
			made.texts = append(made.texts, text{action.Bytes(m.PTX), bitcodeArguments(p, m.PTX)})
			owners = append(owners, &m.Assembly)
		}
		if callsPure && !defined[pureVirtual] {
			defined[pureVirtual] = true
			made.texts = append(made.texts, text{action.Bytes(trapFor(m.PTX)), p.Assemble})
			owners = append(owners, &t.Trap)
		}
		t.b.result.Remarks = append(t.b.result.Remarks, m.remarks...)
	}
	t.traceMissing(defined)
	for i, a := range t.b.take(made) {
		*owners[i] = a
	}
}

// traceMissing shows the kernels and variables that are gone and which the host can't
// name.
func (t *Thin) traceMissing(defined map[string]bool) {
	var kernels, variables []string
	for _, piece := range t.b.in.Plan.Bitcode {
		for _, y := range piece.Module.Bitcode[0].Symbols {
			switch {
			case defined[y.Name] || !y.Defined || y.Linkage != bitcode.External:
			case y.Kernel:
				kernels = append(kernels, y.Name)
			case y.Kind == bitcode.Variable && !y.IsShared() && !strings.HasPrefix(y.Name, "_ZT"):
				variables = append(variables, y.Name)
			}
		}
	}
	slices.Sort(kernels)
	slices.Sort(variables)
	t.b.traceLLVM(&engine.LLVMAnswer{Kernels: kernels, Variables: variables})
}

// pureVirtual is what vtables hold for functions that no class defines.
const pureVirtual = "__cxa_pure_virtual"

// trapFor returns a text with the head of another that defines pureVirtual.
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
