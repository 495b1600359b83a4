package compose

import (
	"strings"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// A relocation is a row of a section of these.
type relocation struct {
	offset uint64
	kind   uint32
	symbol uint32
	addend []byte // 8 bytes, or none
}

// relocationsOf calls do with the rows of a section.
func relocationsOf(s *section, do func(r relocation)) {
	size := int(s.elf.EntSize) // classify has checked it
	for b := s.data; len(b) >= size; b = b[size:] {
		do(relocation{le.Uint64(b), le.Uint32(b[8:]), le.Uint32(b[12:]), b[16:size]})
	}
}

// appendRelocation appends a row with the symbol's index in the composed file.
func (c *composer) appendRelocation(b []byte, u *unit, r relocation) []byte {
	b = le.AppendUint64(b, r.offset)
	b = le.AppendUint32(b, r.kind)
	b = le.AppendUint32(b, c.symbolIndex(u, r.symbol))
	return append(b, r.addend...)
}

// relocations are those of a section, as its unit has them.
func (c *composer) relocations(s *section) []byte {
	b := make([]byte, 0, len(s.data))
	relocationsOf(s, func(r relocation) { b = c.appendRelocation(b, s.unit, r) })
	return b
}

// isBank4 reports whether a section holds the addresses that kernels use, or is about them.
func isBank4(s *section) bool {
	name := s.elf.Name
	if s.isMirror() {
		name = strings.TrimPrefix(name, cubin.MercuryPrefix)
	}
	for _, prefix := range []string{".rela", ".rel"} {
		if strings.HasPrefix(name, prefix+".") {
			name = name[len(prefix):]
			break
		}
	}
	return name == ".nv.constant4" || name == ".nv.constant.pic"
}

// largest is the section of this name that has all that others have: kernels add the
// addresses of functions that they call to bank 4, one after the other.
func (c *composer) largest(s *section) *section {
	//rule: Bank 4 is that of the unit with the most external functions.
	//mutate: true
	if s.owner != module || !isBank4(s) {
		return s
	}
	for _, u := range c.units {
		if of := u.byName[s.elf.Name]; of != nil && of.elf.Size > s.elf.Size && of.elf.Type != elf64.NoBits {
			s = of
		}
	}
	return s
}
