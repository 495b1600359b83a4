package symbols

import (
	"errors"

	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/object/bitcode"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/internal/ptx"
	"github.com/warpld/warpld/internal/record"
	"github.com/warpld/warpld/internal/slice"
)

// Where the symbols of an input are known from.
const (
	FromScan    = "its LTO-IR, compiled by itself"
	FromHost    = "what its host code registers"
	FromTable   = "its symbol table"
	FromText    = "its PTX"
	FromBitcode = "its bitcode"
)

// OfModule returns the symbols that a module of an object defines, and where they are
// known from. LTO-IR shows none, but a host object registers some.
func OfModule(obj *object.Object, m *object.Module) ([]Symbol, string, error) {
	switch {
	case m.Kind == object.NVVM && obj.Kind == object.HostObject:
		list, err := ofHost(obj)
		return list, FromHost, err
	case m.Kind == object.NVVM:
		return nil, "", nil
	case m.Kind == object.LLVM:
		return ofBitcode(m.Bitcode), FromBitcode, nil
	case m.Kind == object.PTX:
		text, err := m.Text()
		if err != nil {
			return nil, "", err
		}
		list, err := OfPTX(text)
		return list, FromText, err
	}
	data, err := m.Data()
	if err != nil {
		return nil, "", err
	}
	list, err := ofCubin(data)
	return list, FromTable, err
}

// ofHost returns the kernels and variables that an object of nvcc registers.
func ofHost(obj *object.Object) (list []Symbol, err error) {
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
		list = append(list, Symbol{Name: name, Kind: record.KindKernel})
	}
	for _, name := range r.Variables {
		list = append(list, Symbol{Name: name, Kind: record.KindVariable})
	}
	return list, nil
}

// OfPTX returns the symbols that a text defines. Shared memory is left out, because it is
// a part of the functions that use it, and so are constants that the compiler made.
func OfPTX(text []byte) (list []Symbol, err error) {
	m, err := ptx.Parse(text)
	if err != nil {
		return nil, err
	}
	kinds := map[string]string{".entry": record.KindKernel, ".func": record.KindFunction,
		".global": record.KindVariable, ".const": record.KindVariable}
	for i := range m.Entities {
		e := &m.Entities[i]
		kind := kinds[e.Kind]
		local := e.Linkage == ptx.Local
		literal := local && kind == record.KindVariable && isLiteral(m, e.Name)
		if kind == "" || !e.Defined() || m.Symbol(e.Name) != e || literal {
			continue
		}
		y := Symbol{Name: e.Name, Kind: kind, Local: local}
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

// isLiteral reports whether the compiler made a local variable. Some it calls after the
// function that they are for: k$1.
func isLiteral(m *ptx.Module, name string) bool {
	of := m.Symbol(WithoutNumber(name))
	return slice.IsLiteralName(name) || (of != nil && of.IsFunction())
}

func ofBitcode(modules []bitcode.Module) (list []Symbol) {
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
			isVariable := kind == record.KindVariable && !y.IsShared() &&
				y.Linkage != bitcode.Appending && !local
			if y.Defined && y.Linkage != bitcode.AvailableExternally && (isVariable || y.Kind == bitcode.Function) {
				list = append(list, Symbol{Name: y.Name, Kind: kind, Local: local})
			}
		}
	}
	return list
}

// kindOf returns the kind of a symbol of a cubin, or "" if it is none that people know.
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

func ofCubin(data []byte) (list []Symbol, err error) {
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
		row := Symbol{Name: y.Name, Kind: kind, Local: y.Binding == elf64.Local}
		for _, to := range refs[i] {
			row.Refs = append(row.Refs, table.At(to).Name)
		}
		list = append(list, row)
	}
	return list, nil
}

// InCubin returns the sections and symbols of an output.
func InCubin(f *cubin.File) (sections []record.Section, places []Place, err error) {
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
			section := f.Sections[y.Section].Name
			places = append(places, Place{Name: y.Name, Kind: kind, Section: section, Offset: y.Value, Size: y.Size})
		}
	}
	return sections, places, nil
}

// InBitcode returns the symbols of an output that is bitcode.
func InBitcode(data []byte) ([]Place, error) {
	f, err := bitcode.Read(data)
	if err != nil {
		return nil, err
	}
	return placesOf(ofBitcode(f.Modules)), nil
}

// InPTX returns the symbols of an output that is PTX. It returns none of several texts
// in one, which -split-compile-extended gives.
func InPTX(data []byte) ([]Place, error) {
	list, err := OfPTX(data)
	var wrong *ptx.SyntaxError
	if errors.As(err, &wrong) {
		return nil, nil
	}
	return placesOf(list), err
}

func placesOf(list []Symbol) (places []Place) {
	for _, y := range list {
		places = append(places, Place{Name: y.Name, Kind: y.Kind})
	}
	return places
}
