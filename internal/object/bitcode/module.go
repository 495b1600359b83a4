package bitcode

import (
	"slices"
	"strings"
)

// Records of a module.
const (
	recordVersion    = 1
	recordTriple     = 2
	recordDataLayout = 3
	recordVariable   = 7
	recordFunction   = 8
	recordAlias      = 14
	recordSourceFile = 16
	recordIFunc      = 15
)

// A Symbol is a function, a variable or an alias of a module.
type Symbol struct {
	Name    string
	Kind    SymbolKind
	Linkage Linkage
	Defined bool
	// Kernel means that the host launches the function.
	Kernel bool
	// AddressSpace is a variable's: 1 global, 3 shared, 4 constant memory; see IsShared.
	AddressSpace uint64

	nameAt, nameSize uint64
}

// IsShared reports whether a variable is in shared memory.
func (y Symbol) IsShared() bool {
	const shared = 3
	return y.AddressSpace == shared
}

// A SymbolKind is what a symbol stands for.
type SymbolKind uint8

const (
	Function SymbolKind = iota
	Variable
	Alias
)

// A Linkage is which modules can refer to a symbol, and how its definitions are combined.
type Linkage uint8

const (
	External Linkage = iota
	Local
	// Weak definitions are overridden by others.
	Weak
	// Appending variables grow together.
	Appending
	// AvailableExternally: the definition is a copy of one in another module.
	AvailableExternally
)

// linkageOf reads the number of a record; old ones stand for the same as new ones.
func linkageOf(number uint64) Linkage {
	switch number {
	case 2:
		return Appending
	case 3, 9, 13, 14:
		return Local
	case 1, 4, 7, 8, 10, 11, 16, 17, 18, 19:
		return Weak
	case 12:
		return AvailableExternally
	}
	return External
}

// kernelConvention is the calling convention of kernels.
const kernelConvention = 71

func (m *Module) identify(s *stream, b *block) {
	s.read(b, func(r *record) {
		switch r.code {
		case 1:
			m.Producer = r.text()
		case 2:
			m.Epoch = r.op(0)
		}
	}, nil)
}

// read reads a module block. Bodies of functions are passed over.
func (m *Module) read(s *stream, b *block) {
	md := &metadata{}
	cpus, features := map[string]bool{}, map[string]bool{}
	s.read(b, m.take, func(inner *block) {
		switch inner.id {
		case blockAttributeGroup:
			s.read(inner, func(r *record) { readAttributes(r, cpus, features) }, nil)
		case blockConstants:
			md.readConstants(s, inner, uint64(len(m.Symbols)))
		case blockMetadata:
			s.read(inner, md.take, nil)
		case blockSummary:
			m.Thin = true
		}
	})
	m.Flags = md.flags()
	m.CPUs, m.Features = sorted(cpus), sorted(features)
}

// take reads one record of a module. Version 2 names symbols by place and length of
// their names, before all else.
func (m *Module) take(r *record) {
	y := Symbol{nameAt: r.op(0), nameSize: r.op(1)}
	switch r.code {
	case recordVersion:
		m.version = r.op(0)
		return
	case recordTriple:
		m.Triple = r.text()
		return
	case recordDataLayout:
		m.DataLayout = r.text()
		return
	case recordSourceFile:
		m.SourceFile = r.text()
		return
	case recordFunction: // type, convention, declared only, linkage
		y.Kind, y.Kernel, y.Defined = Function, r.op(3) == kernelConvention, r.op(4) == 0
		y.Linkage = linkageOf(r.op(5))
	case recordVariable: // type, flags and address space, initializer, linkage
		y.Kind, y.AddressSpace, y.Defined = Variable, r.op(3)>>2, r.op(4) != 0
		y.Linkage = linkageOf(r.op(5))
	case recordAlias: // type, address space, aliasee, linkage
		y.Kind, y.AddressSpace, y.Defined = Alias, r.op(3), true
		y.Linkage = linkageOf(r.op(5))
	case recordIFunc:
		y.Kind, y.Defined = Alias, true
	default:
		return
	}
	m.Symbols = append(m.Symbols, y)
}

// readAttributes looks for two attributes in a group: id, parameter, then each with
// its kind: 0 and 1 are numbered, 3 and 4 texts, of which 4 has a value too. Kinds 5
// and above name types and carry one number more when they are even.
func readAttributes(r *record, cpus, features map[string]bool) {
	ops := r.ops
	if len(ops) < 2 {
		return
	}
	for ops = ops[2:]; len(ops) > 1; {
		kind := ops[0]
		ops = ops[1:]
		switch kind {
		case 0, 5:
			ops = ops[1:]
		case 1, 6:
			ops = ops[min(2, len(ops)):]
		case 3, 4:
			var key, value string
			key, ops = textIn(ops)
			if kind == 4 {
				value, ops = textIn(ops)
			}
			switch key {
			case "target-cpu":
				cpus[value] = true
			case "target-features":
				for word := range strings.SplitSeq(value, ",") {
					features[word] = true
				}
			}
		default:
			return // ranges and the like are no attributes of functions
		}
	}
}

// textIn returns the zero-terminated text at the front of ops and the rest.
func textIn(ops []uint64) (string, []uint64) {
	end := slices.Index(ops, 0)
	if end < 0 {
		return characters(ops), nil
	}
	return characters(ops[:end]), ops[end+1:]
}

func sorted(set map[string]bool) []string {
	var list []string
	for word := range set {
		list = append(list, word)
	}
	slices.Sort(list)
	return list
}
