package compose

import (
	"cmp"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/cubin/layout"
	"github.com/warpld/warpld/internal/object/elf64"
)

// classOf orders the sections in the file; those of a class come in the order of their names
// in .shstrtab. In executables the types of sections no longer say what memory they are.
func (c *composer) classOf(s *section) int {
	e := s.elf
	switch {
	case strings.HasPrefix(e.Name, ".debug_") || strings.HasPrefix(e.Name, ".nv_debug_"):
		return 0
	case e.Type == elf64.Note:
		return 1
	case s.part == partInfo:
		return 2
	case s.part == partCompat:
		return 3
	case s.part == partKernelInfo:
		return 4
	case s.part == partCallGraph:
		return 5
	case e.Type == cubin.SHT_CUDA_RELOCINFO:
		return 7
	case e.Type == elf64.Rel || e.Type == elf64.Rela:
		return 8
	case c.isLate(e.Name):
		return 13
	case strings.HasPrefix(e.Name, ".nv.constant"):
		return 9
	case s.isCode():
		return 10
	case e.Type != elf64.NoBits && e.Flags&elf64.Write != 0:
		return 11 // variables with values
	}
	return 12 // without bytes
}

// orderSections finds the sections of the composed file and their order.
func (c *composer) orderSections() error {
	c.at.module = map[string]*section{}
	var body, mirrors []*section
	visited := make([]bool, len(c.units))
	c.kernels(func(_ kernelID, u *unit) {
		if visited[u.place] {
			return
		}
		visited[u.place] = true
		for i := layout.FirstIndex; i < len(u.sections); i++ {
			s := &u.sections[i]
			switch {
			case s.owner != module && c.unitOf(s.owner) != u:
				continue // of a stub
			case s.owner == module && c.at.module[s.elf.Name] != nil:
				continue
			case s.owner == module:
				c.at.module[s.elf.Name] = s
			}
			if s.isMirror() {
				mirrors = append(mirrors, s)
			} else {
				body = append(body, s)
			}
		}
	})
	if len(body)+len(mirrors) >= maxSections {
		return refuse(TooLarge, nil, "")
	}
	for _, s := range body {
		if _, named := c.names.Offset[s.elf.Name]; !named {
			return refuse(UnknownName, s.unit, s.elf.Name)
		}
	}
	slices.SortFunc(body, func(a, b *section) int {
		return cmp.Or(c.classOf(a)-c.classOf(b),
			cmp.Compare(c.names.Offset[a.elf.Name], c.names.Offset[b.elf.Name]))
	})
	place := make(map[string]int, len(body))
	for i, s := range body {
		s.index = uint32(layout.FirstIndex + i)
		place[s.elf.Name] = i
	}
	c.body = body
	c.orderMirrors(mirrors, place)
	return nil
}

// maxSections is how many sections the fields of a file have room for. Tables of longer
// indexes (.symtab_shndx) were not seen.
const maxSections = 0xff00 - layout.FirstIndex

// sectionIndex is where the composed file has a section of a unit.
func (c *composer) sectionIndex(u *unit, i uint32) uint32 {
	if i == 0 {
		return 0
	}
	if uint64(i) >= uint64(len(u.sections)) {
		c.fail(Damaged, u, "section index")
		return 0
	}
	s := &u.sections[i]
	if s.part == partTable {
		return i
	}
	if s.index == 0 && s.owner == module && c.at.module[s.elf.Name] != nil {
		s = c.at.module[s.elf.Name]
	}
	if s.index == 0 {
		c.fail(UnknownSection, u, s.elf.Name)
	}
	return s.index
}

// linkAndInfo are the references of a section to others, and to a symbol.
func (c *composer) linkAndInfo(s *section) (link, info uint32) {
	e := s.elf
	link, info = c.sectionIndex(s.unit, e.Link), e.Info
	switch {
	case e.Flags&elf64.InfoLink != 0:
		info = c.sectionIndex(s.unit, e.Info)
	case s.isCode():
		const registers = 0xff << 24
		info = e.Info&registers | c.symbolIndex(s.unit, e.Info&^registers)
	case s.part == partCapsule:
		info = c.symbolIndex(s.unit, e.Info)
	case s.part == partMirrorSymbols:
		info = uint32(1 + len(c.symbols.locals))
	case info != 0:
		c.fail(UnknownSection, s.unit, e.Name)
	}
	return link, info
}
