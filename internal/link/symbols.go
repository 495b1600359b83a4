package link

import (
	"context"
	"errors"
	"os"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/object/bitcode"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/internal/plan"
	"github.com/warpld/warpld/internal/ptx"
	"github.com/warpld/warpld/internal/record"
	"github.com/warpld/warpld/internal/slice"
	"github.com/warpld/warpld/internal/symbols"
)

// Where the symbols of an input are known from.
const (
	fromScan    = "its LTO-IR, compiled by itself"
	fromHost    = "what its host code registers"
	fromTable   = "its symbol table"
	fromText    = "its PTX"
	fromBitcode = "its bitcode"
)

// asksForSymbols says whether the link was asked what became of symbols. Then their
// references have to be known.
func (l *linker) asksForSymbols() bool {
	own := &l.options.Own
	return own.PrintRemoved || len(own.WhyLive) > 0 || own.Map != ""
}

// scanSymbols compiles the LTO-IR of each input by itself to see its symbols, which
// nothing else shows. Without that the link is as good, only its answers are not.
func (l *linker) scanSymbols(ctx context.Context, w *workshop) {
	if !l.asksForSymbols() || len(l.plan.IR) == 0 {
		return
	}
	b, err := l.newBuild()
	if err == nil {
		read := func(_ int, text []byte) ([]symbols.Symbol, error) { return symbolsOfPTX(text) }
		l.scanned, err = scan(ctx, b, w, l.modules(), read)
	}
	if err != nil && ctx.Err() == nil {
		l.log.Report(&message.Message{Severity: message.Info, ID: "symbols", Tool: "warpld", Notes: []string{message.Of(err)[0].Text},
			Text: "of the symbols of LTO-IR only those that host code registers are known"})
	}
}

// recordSymbols says what became of the symbols.
func (l *linker) recordSymbols(output []symbols.Place) {
	of := symbols.Link{Roots: rootsOf(l.plan), Output: output, Traced: len(l.plan.Bitcode) == 0 && (l.scanned != nil || len(l.plan.IR) == 0)}
	scanned := map[*object.Module][]symbols.Symbol{}
	for i, list := range l.scanned {
		scanned[l.plan.IR[i].Module] = list
	}
	places := map[*object.Object]int{}
	for i, obj := range l.objects {
		places[obj] = i
	}
	pieces := make([]*plan.Piece, len(l.objects))
	for _, list := range [][]plan.Piece{l.plan.IR, l.plan.Bitcode, l.plan.Native} {
		for i := range list {
			pieces[places[list[i].Object]] = &list[i]
		}
	}
	var linked []int // places of the inputs
	for i, piece := range pieces {
		if piece == nil || plan.IsDeviceRuntime(piece.Object) {
			continue
		}
		list, from, err := symbolsOf(piece, scanned)
		if err != nil {
			// The tools took the code, so the link is good; that we can't read it, the
			// record tells by listing none of its symbols.
			list, from, of.Traced = nil, "", false
		}
		l.record.Inputs[i].SymbolsFrom = from
		linked = append(linked, i)
		of.Inputs = append(of.Inputs, symbols.Input{Name: piece.Object.Origin.String(), Symbols: list})
	}
	var uses [][]string
	l.record.Symbols, uses = of.Explain()
	l.record.SymbolsTraced = of.Traced
	for i, in := range linked {
		l.record.Inputs[in].Uses = uses[i]
	}
}

func rootsOf(p *plan.Plan) symbols.Roots {
	r := symbols.Roots{All: p.Roots.All, AllInput: p.Roots.Origin.String(), ByOption: p.Roots.ByOption}
	for _, k := range p.Roots.Kernels {
		r.Kernels = append(r.Kernels, symbols.Root{Pattern: k.Pattern, Input: k.Origin.String()})
	}
	for _, v := range p.Roots.Variables {
		r.Variables = append(r.Variables, symbols.Root{Pattern: v.Pattern, Input: v.Origin.String()})
	}
	return r
}

// symbolsOf lists what an input defines, and says where that is known from.
func symbolsOf(piece *plan.Piece, scanned map[*object.Module][]symbols.Symbol) ([]symbols.Symbol, string, error) {
	m := piece.Module
	list, known := scanned[m]
	switch {
	case known:
		return list, fromScan, nil
	case m.Kind == object.NVVM && piece.Object.Kind == object.HostObject:
		list, err := symbolsOfHost(piece.Object)
		return list, fromHost, err
	case m.Kind == object.NVVM:
		return nil, "", nil
	case m.Kind == object.LLVM:
		return symbolsOfBitcode(m.Bitcode), fromBitcode, nil
	case m.Kind == object.PTX:
		text, err := m.Text()
		if err != nil {
			return nil, "", err
		}
		list, err := symbolsOfPTX(text)
		return list, fromText, err
	}
	data, err := m.Data()
	if err != nil {
		return nil, "", err
	}
	list, err = symbolsOfCubin(data)
	return list, fromTable, err
}

// symbolsOfHost are the kernels and variables that an object of nvcc registers.
func symbolsOfHost(obj *object.Object) (list []symbols.Symbol, err error) {
	f, err := obj.Source.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := hostelf.ReadRegistered(f, f.Size())
	if err != nil {
		return nil, err
	}
	for _, name := range r.Kernels {
		list = append(list, symbols.Symbol{Name: name, Kind: record.KindKernel})
	}
	for _, name := range r.Variables {
		list = append(list, symbols.Symbol{Name: name, Kind: record.KindVariable})
	}
	return list, nil
}

// symbolsOfPTX leaves out shared memory, which is a part of the functions that use it,
// and constants that the compiler made.
func symbolsOfPTX(text []byte) (list []symbols.Symbol, err error) {
	m, err := ptx.Parse(text)
	if err != nil {
		return nil, err
	}
	kinds := map[string]string{".entry": record.KindKernel, ".func": record.KindFunction, ".global": record.KindVariable, ".const": record.KindVariable}
	for i := range m.Entities {
		e := &m.Entities[i]
		kind := kinds[e.Kind]
		local := e.Linkage == ptx.Local
		if kind == "" || !e.Defined() || m.Symbol(e.Name) != e || local && kind == record.KindVariable && isLiteral(m, e.Name) {
			continue
		}
		y := symbols.Symbol{Name: e.Name, Kind: kind, Local: local}
		refs, _, err := m.Refs(e)
		if err != nil {
			return nil, err
		}
		for _, r := range refs {
			y.Refs = append(y.Refs, r.Name)
		}
		list = append(list, y)
	}
	return list, nil
}

// isLiteral says whether the compiler made a local variable. Some it calls after the
// function that they are for: k$1.
func isLiteral(m *ptx.Module, name string) bool {
	of := m.Symbol(symbols.WithoutNumber(name))
	return slice.IsLiteralName(name) || of != nil && of.IsFunction()
}

func symbolsOfBitcode(modules []bitcode.Module) (list []symbols.Symbol) {
	const shared = 3
	for i := range modules {
		for _, y := range modules[i].Symbols {
			kind := record.KindFunction
			switch {
			case y.Kernel:
				kind = record.KindKernel
			case y.Kind == bitcode.Variable:
				kind = record.KindVariable
			}
			local := y.Linkage == bitcode.Local
			isVariable := kind == record.KindVariable && y.AddressSpace != shared && y.Linkage != bitcode.Appending && !local
			if y.Defined && y.Linkage != bitcode.AvailableExternally && (isVariable || y.Kind == bitcode.Function) {
				list = append(list, symbols.Symbol{Name: y.Name, Kind: kind, Local: local})
			}
		}
	}
	return list
}

// kindOf is that of a symbol of a cubin; empty: it is none that people know.
func kindOf(f *cubin.File, y elf64.Symbol) string {
	switch {
	case y.Section == elf64.Undefined || uint64(y.Section) >= uint64(len(f.Sections)):
	case cubin.IsKernel(y):
		return record.KindKernel
	case y.Type == elf64.Function:
		return record.KindFunction
	case f.IsVariable(y) && !(y.Binding == elf64.Local && slice.IsLiteralName(y.Name)):
		return record.KindVariable
	}
	return ""
}

func symbolsOfCubin(data []byte) (list []symbols.Symbol, err error) {
	f, err := cubin.Parse(data)
	if err != nil {
		return nil, err
	}
	table, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	refs, err := f.References(table)
	if err != nil {
		return nil, err
	}
	for i, y := range table.All() {
		kind := kindOf(f, y)
		if kind == "" {
			continue
		}
		row := symbols.Symbol{Name: y.Name, Kind: kind, Local: y.Binding == elf64.Local}
		for _, to := range refs[i] {
			row.Refs = append(row.Refs, table.At(to).Name)
		}
		list = append(list, row)
	}
	return list, nil
}

// placesInCubin are the sections and symbols of the output.
func placesInCubin(f *cubin.File) (sections []record.Section, places []symbols.Place, err error) {
	for _, s := range f.Sections {
		if s.Name != "" {
			sections = append(sections, record.Section{Name: s.Name, Offset: s.Offset, Size: s.Size})
		}
	}
	table, err := f.Symbols()
	if err != nil {
		return nil, nil, err
	}
	for _, y := range table.All() {
		if kind := kindOf(f, y); kind != "" {
			places = append(places, symbols.Place{Name: y.Name, Kind: kind, Section: f.Sections[y.Section].Name, Offset: y.Value, Size: y.Size})
		}
	}
	return sections, places, nil
}

// placesInText are the symbols of an output that is PTX or bitcode.
func (l *linker) placesInText(path string) (places []symbols.Place, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []symbols.Symbol
	if l.plan.KeepBitcode {
		f, err := bitcode.Read(data)
		if err != nil {
			return nil, err
		}
		list = symbolsOfBitcode(f.Modules)
	} else if list, err = symbolsOfPTX(data); err != nil {
		var wrong *ptx.SyntaxError
		if errors.As(err, &wrong) {
			return nil, nil // -split-compile-extended gives several texts in one
		}
		return nil, err
	}
	for _, y := range list {
		places = append(places, symbols.Place{Name: y.Name, Kind: y.Kind})
	}
	return places, nil
}
