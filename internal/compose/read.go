package compose

import (
	"bytes"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/cubin/layout"
	"github.com/warpld/warpld/internal/object/elf64"
)

// A kernelID is the place of a kernel in the file of the program. It says whose things are.
type kernelID int32

// module is the owner of what belongs to no kernel.
const module kernelID = -1

// Limits on what is read. ptxas makes nothing near them.
const (
	maxAlign  = 1 << 16
	maxMemory = 1 << 40 // bytes of a section without contents
	maxFile   = 1 << 31
)

// A section is one of a unit's file.
type section struct {
	elf   *elf64.Section
	data  []byte // empty if it has only a size
	owner kernelID
	part  part
	unit  *unit

	index   uint32 // in the composed file, 0: it is not there
	content []byte // in the composed file
	offset  uint64 // in the composed file
}

func (s *section) isCode() bool { return s.part == partCode }

// isMirror reports whether it is of the second program.
func (s *section) isMirror() bool { return s.elf.Flags&cubin.SHF_MERCURY != 0 }

// A symbol is one of a unit's file.
type symbol struct {
	elf64.Symbol
	owner  kernelID
	global bool // stands among the global symbols
	late   bool // stands after all others
	name   string
	place  int    // in the unit's table
	index  uint32 // in the composed file, 0: it is not there
}

// A unit is the file of one, read.
type unit struct {
	place    int
	elf      *elf64.File
	sections []section
	byName   map[string]*section
	symbols  []symbol
	names    []byte // .shstrtab
	strings  []byte // .strtab
	mirror   []byte // the rows of the symbols of the second program
	kernels  map[string]kernelID
	// renamed are the new names of symbols that are numbered over the whole program.
	renamed map[string]string
	frames  map[string]*frameTable
	lines   map[string]*lineTable
}

// readUnit reads the file of a unit.
func (c *composer) readUnit(place int, data []byte, ids map[string]kernelID) (*unit, error) {
	u := &unit{place: place, byName: map[string]*section{}, kernels: map[string]kernelID{},
		renamed: map[string]string{}, frames: map[string]*frameTable{}, lines: map[string]*lineTable{}}
	damaged := func(err error) (*unit, error) { return nil, &Refused{Reason: Damaged, Unit: place, Cause: err} }
	if len(data) > maxFile {
		return nil, refuse(TooLarge, u, "")
	}
	var err error
	if u.elf, err = elf64.Open(bytes.NewReader(data), int64(len(data))); err != nil {
		return damaged(err)
	}
	h := &u.elf.Header
	if h.Type != elf64.Executable || h.Machine != elf64.CUDA || h.Ident[7] != layout.ABI ||
		h.ABIVersion() != layout.ABIVersion || len(u.elf.Sections) <= layout.IndexSymtab {
		return nil, refuse(Damaged, u, "header")
	}
	if err := u.readSections(data, ids); err != nil {
		return nil, err
	}
	table, err := u.elf.Symbols(&u.elf.Sections[layout.IndexSymtab], maxFile)
	if err != nil {
		return damaged(err)
	}
	if err := c.readSymbols(u, table); err != nil {
		return nil, err
	}
	return u, nil
}

// readSections finds the sections, their contents and their owners.
func (u *unit) readSections(data []byte, ids map[string]kernelID) error {
	for i := range u.elf.Sections {
		name, isCode := cutPrefix(u.elf.Sections[i].Name, ".text.")
		if k, known := ids[name]; isCode {
			if !known {
				return refuse(UnknownSection, u, u.elf.Sections[i].Name)
			}
			u.kernels[name] = k
		}
	}
	u.sections = make([]section, len(u.elf.Sections))
	left := 2 * uint64(len(data)) // of contents; mirrors may share those of their sections
	for i := range u.elf.Sections {
		s := section{elf: &u.elf.Sections[i], owner: module, unit: u}
		if i > 0 {
			if err := u.readSection(&s, data, &left); err != nil {
				return err
			}
		}
		u.sections[i] = s
		if u.byName[s.elf.Name] != nil {
			return refuse(UnknownSection, u, s.elf.Name+" twice")
		}
		u.byName[s.elf.Name] = &u.sections[i]
	}
	u.names, u.strings = u.sections[layout.IndexShstrtab].data, u.sections[layout.IndexStrtab].data
	if s := u.byName[cubin.MercurySymbols]; s != nil {
		u.mirror = s.data
	}
	return u.checkTables()
}

func (u *unit) readSection(s *section, data []byte, left *uint64) error {
	e := s.elf
	if e.Align > maxAlign || e.Align&(e.Align-1) != 0 || e.Addr != 0 {
		return refuse(Damaged, u, e.Name)
	}
	known := false
	if s.part, s.owner, known = u.classify(e); !known {
		return refuse(UnknownSection, u, e.Name)
	}
	if e.Type == elf64.NoBits {
		if e.Size > maxMemory {
			return refuse(Damaged, u, e.Name)
		}
		return nil
	}
	size := uint64(len(data))
	if e.Offset > size || e.Size > size-e.Offset || e.Size > *left {
		return refuse(Damaged, u, e.Name)
	}
	*left -= e.Size
	s.data = data[e.Offset : e.Offset+e.Size : e.Offset+e.Size]
	return nil
}

// checkTables checks that the tables that come first in every file are there.
func (u *unit) checkTables() error {
	for i, want := range []struct {
		name string
		kind elf64.SectionType
	}{{"", elf64.Null}, {".shstrtab", elf64.Strtab}, {".strtab", elf64.Strtab}, {".symtab", elf64.Symtab}} {
		if e := u.sections[i].elf; e.Name != want.name || e.Type != want.kind {
			return refuse(UnknownSection, u, e.Name)
		}
	}
	for _, table := range [][]byte{u.names, u.strings} {
		if len(table) == 0 || table[0] != 0 || table[len(table)-1] != 0 {
			return refuse(Damaged, u, "string table")
		}
	}
	return nil
}

// readSymbols reads the symbol table and finds the owners.
func (c *composer) readSymbols(u *unit, table *elf64.SymbolTable) error {
	u.symbols = make([]symbol, table.Len())
	global := false
	modules := map[string]bool{}
	for i, y := range table.All() {
		s := symbol{Symbol: y, owner: module, name: y.Name, place: i}
		if i == 0 {
			u.symbols[i] = s
			continue
		}
		switch {
		case y.Section == elf64.Undefined:
		case y.Section < uint32(len(u.sections)):
			s.owner = u.sections[y.Section].owner
		default:
			return refuse(UnknownSymbol, u, y.Name)
		}
		//rule: Since 13.4 weak symbols are among the global ones.
		//mutate: false c.rules.WeakIsGlobal
		if y.Binding == elf64.Global || (c.rules.WeakIsGlobal && y.Binding == elf64.Weak) {
			global = true
		}
		s.late = c.isLate(y.Name)
		s.global = global && !s.late
		if s.owner == module {
			if modules[y.Name] {
				return refuse(UnknownSymbol, u, y.Name+" twice")
			}
			modules[y.Name] = true
		}
		u.symbols[i] = s
	}
	return nil
}
