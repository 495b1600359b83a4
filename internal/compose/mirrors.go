package compose

import (
	"cmp"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/cubin/layout"
	"github.com/warpld/warpld/internal/object/elf64"
)

// firstName is the name in the first program of a section of the second one.
func firstName(name string) string {
	if rest, ok := strings.CutPrefix(name, cubin.CapsulePrefix); ok {
		return rest
	}
	return cubin.SassName(strings.TrimPrefix(name, cubin.MercuryPrefix))
}

// mirrorClass orders the sections of the second program.
func mirrorClass(s *section) int {
	name := strings.TrimPrefix(s.elf.Name, cubin.MercuryPrefix)
	switch {
	case s.part == partCapsule:
		return 0
	case strings.HasPrefix(name, ".debug") || strings.HasPrefix(name, ".nv_debug"):
		return 1
	case s.part == partInfo || s.part == partKernelInfo:
		return 2
	case s.part == partCallGraph:
		return 3
	case s.elf.Type == cubin.SHT_MERCURY_RELA:
		return 4
	case strings.HasPrefix(name, ".nv.constant"):
		return 5
	case name == ".nv.global.init":
		return 6
	case s.part == partMirrorSymbols:
		return 9
	}
	return 7
}

// orderMirrors puts the sections of the second program into their order, in which those of a
// class are as in the first program, and names them.
func (c *composer) orderMirrors(mirrors []*section, place map[string]int) {
	slices.SortStableFunc(mirrors, func(a, b *section) int {
		return cmp.Or(mirrorClass(a)-mirrorClass(b),
			cmp.Compare(place[firstName(a.elf.Name)], place[firstName(b.elf.Name)]))
	})
	for i, s := range mirrors {
		s.index = uint32(layout.FirstIndex + len(c.body) + i)
		c.at.mirrorNames = append(c.at.mirrorNames, c.names.AddUnshared(s.elf.Name))
	}
	c.mirrors = mirrors
}

// patchCapsule is Mercury code; its first word is the section of the instructions.
func patchCapsule(c *composer, s *section) []byte {
	b := slices.Clone(s.data)
	//rule: A capsule begins with the index of its kernel's section.
	le.PutUint32(b, c.sectionIndex(s.unit, le.Uint32(b)))
	return b
}

// mirrorSymbols writes the symbols of the second program: those of the first one without the
// last ones, with other names, sections and sizes.
func mirrorSymbols(c *composer, s *section) []byte {
	t := &c.symbols
	b := make([]byte, (1+len(t.locals)+len(t.globals))*elf64.SymbolSize)
	for _, list := range [][]symbolOf{t.locals, t.globals} {
		for _, y := range list {
			from := y.place * elf64.SymbolSize
			if from+elf64.SymbolSize > len(y.unit.mirror) {
				c.fail(UnknownSymbol, y.unit, y.Name)
				return nil
			}
			row := b[y.index*elf64.SymbolSize:]
			copy(row, y.unit.mirror[from:from+elf64.SymbolSize])
			le.PutUint32(row, mirrorName(c, y, le.Uint32(row)))
			le.PutUint16(row[6:], uint16(c.sectionIndex(y.unit, uint32(le.Uint16(row[6:])))))
		}
	}
	return b
}

// mirrorName is the place of the name that a symbol has in the second program.
func mirrorName(c *composer, y symbolOf, at uint32) uint32 {
	name := y.Name
	if y.Type == elf64.SectionSymbol {
		name = cubin.MercuryName(name)
	}
	if !hasName(y.unit.strings, at, name) {
		c.fail(UnknownSymbol, y.unit, y.Name)
		return 0
	}
	if y.name != y.Name {
		name = y.name // a number of the whole program
	}
	if name == "" {
		return 0
	}
	offset, ok := c.strings.Offset[name]
	if !ok {
		c.fail(UnknownName, y.unit, name)
	}
	return offset
}

// hasName reports whether a string is at a place of a table.
func hasName(table []byte, at uint32, name string) bool {
	rest := table[min(uint64(at), uint64(len(table))):]
	return len(rest) > len(name) && string(rest[:len(name)]) == name && rest[len(name)] == 0
}

// sharesFile reports whether a mirror has no bytes of its own in the file, but those of its
// section.
func sharesFile(s *section) bool {
	first := s.unit.byName[firstName(s.elf.Name)]
	//rule: A mirror shares the bytes of its section where it does in its unit.
	//mutate: false s.elf.Size > 0
	return s.elf.Size > 0 && first != nil && first.elf.Offset == s.elf.Offset && first.elf.Type != elf64.NoBits
}

// afterStrings is how many bytes are unused after .strtab: where a section has another name in
// the second program, it has room for that one again, and not for the zero after it.
func (c *composer) afterStrings() uint64 {
	if !c.rules.Mercury {
		return 0
	}
	hasSymbol := map[string]bool{}
	for _, list := range [][]symbolOf{c.symbols.locals, c.symbols.globals, c.symbols.lates} {
		for _, y := range list {
			if y.Type == elf64.SectionSymbol {
				hasSymbol[y.Name] = true
			}
		}
	}
	unused := uint64(0)
	for _, s := range c.body {
		name := s.elf.Name
		second := cubin.MercuryName(name)
		if second == name {
			continue
		}
		//rule: There is room after .strtab for the names of the second program.
		//mutate: uint64(len(second)) -> 0
		unused += uint64(len(second))
		if hasSymbol[name] {
			unused -= uint64(len(name) + 1)
		}
	}
	return unused
}
