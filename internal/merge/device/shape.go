package device

import (
	"strings"

	"github.com/warpld/warpld/internal/object/elf64"
)

// Compilers and linkers write cubins in one shape only. In a file that says the same
// thing in two places, and not the same, nvlink believes sometimes one and sometimes
// the other; so what has another shape is left to it.

// checkShape sees to it that a file agrees with itself.
func (o *object) checkShape(*Options) error {
	if o.hasProgram() {
		return unsupported(o.name, "relocatable code with an entry or program headers")
	}
	type identity struct {
		name  string
		owner uint32
	}
	known := map[identity]bool{}
	for i := range o.file.Sections {
		s := &o.file.Sections[i]
		if s.Flags&flagMirror != 0 || s.Type == typeNull {
			continue
		}
		key := identity{name: s.Name}
		if s.Flags&flagOwned != 0 || isText(s) {
			key.owner = s.Info // local functions may have the same name
		}
		if known[key] {
			return unsupported(o.name, "two sections '%s'", s.Name)
		}
		known[key] = true
		if s.Addr != 0 || s.EntSize != rowSize(s.Type) || !o.isNamedAfterOwner(s) {
			return unsupported(o.name, "the section '%s' in rows of %d bytes, for section or symbol %d", s.Name, s.EntSize, s.Info)
		}
	}
	return o.checkSymbolShapes()
}

// hasProgram reports whether the header of the file is that of an executable.
func (o *object) hasProgram() bool {
	const (
		entry, programHeaders = 24, 32
		programHeaderCount    = 56
	)
	return le.Uint64(o.data[entry:])|le.Uint64(o.data[programHeaders:]) != 0 || le.Uint16(o.data[programHeaderCount:]) != 0
}

// rowSize is the size of the rows of a table; 0: it is none.
func rowSize(t elf64.SectionType) uint64 {
	switch t {
	case typeSymtab, typeRela:
		return symbolSize
	case typeRel:
		return relSize
	case typeCallGraph, typePrototype:
		return callSize
	}
	return 0
}

// isNamedAfterOwner reports whether a section is called as what it belongs to.
func (o *object) isNamedAfterOwner(s *elf64.Section) bool {
	if s.Flags&flagOwned == 0 {
		return isText(s) || s.Type == typeSymtab || s.Info == 0
	}
	owner := o.file.Sections[s.Info].Name
	switch s.Type {
	case typeRel:
		return s.Name == ".rel"+owner
	case typeRela:
		return s.Name == ".rela"+owner
	case typeNote:
		return owner == ".nv.compat"
	}
	function, isText := strings.CutPrefix(owner, ".text.")
	return isText && strings.HasSuffix(s.Name, "."+function) && len(s.Name) == len(ownedPrefix(s.Type))+len(function)
}

// ownedPrefix is how the names of sections of functions begin.
func ownedPrefix(t elf64.SectionType) string {
	switch t {
	case typeInfo:
		return ".nv.info."
	case typeShared:
		return ".nv.shared."
	}
	return bankName(t) + "."
}

// checkSymbolShapes sees to it that symbols agree with the sections that they are in.
func (o *object) checkSymbolShapes() error {
	for i := 1; i < len(o.symbols); i++ {
		y := &o.symbols[i]
		if y.Section == elf64.Undefined || int64(y.Section) >= int64(len(o.file.Sections)) {
			continue
		}
		s := &o.file.Sections[y.Section]
		if !fits(y, s, uint32(i)) {
			return unsupported(o.name, "the symbol '%s' of %d bytes at %#x of the section '%s'", y.Name, y.Size, y.Value, s.Name)
		}
	}
	return nil
}

// fits reports whether a symbol and its section say the same.
func fits(y *elf64.Symbol, s *elf64.Section, index uint32) bool {
	const indexBits = 0xffffff // the rest counts registers
	switch {
	case y.Type == elf64.SectionSymbol:
		return y.Name == s.Name && y.Value == 0 && y.Size == 0 && y.Other == 0 && y.Binding == elf64.Local
	case y.Type == elf64.Function:
		return s.Name == ".text."+y.Name && y.Value == 0 && y.Size == s.Size && s.Info&indexBits == index
	case y.Other == otherShared || y.Other == otherReserved: // its value is its alignment
		return y.Value > 0 && y.Value <= maxAlign && y.Value&(y.Value-1) == 0
	}
	return y.Value <= s.Size && y.Size <= s.Size-y.Value
}

// A rowShape is what the row of an attribute looks like.
type rowShape struct {
	form  byte
	bytes int // of form formBytes; 0: any number of words
}

// copied are the attributes that mean the same in the output as in the input. One that is
// not here has form 0, which no row has.
var copied = [256]rowShape{
	0x04: {form: 1}, 0x05: {formBytes, 12}, 0x17: {formBytes, 12}, 0x19: {form: 3}, attrMaxRegs: {form: 3}, 0x1c: {form: formBytes},
	attrCallStack: {formBytes, 4}, 0x28: {form: formBytes}, 0x29: {form: formBytes}, 0x31: {form: formBytes}, 0x34: {form: formBytes},
	0x35: {form: 1}, 0x36: {formBytes, 4}, 0x37: {formBytes, 4}, 0x4a: {form: 2}, attrBarriers: {form: 2}, 0x50: {form: 3}, 0x53: {form: 1},
	0x3d: {formBytes, 12}, 0x3e: {form: 1}, 0x41: {form: 1}, 0x55: {form: formBytes}, 0x5a: {form: formBytes}, 0x5f: {form: 3}, 0x66: {formBytes, 4}, 0x6b: {form: 3}, 0x6d: {form: 2},
}

// compatShapes are those of what code demands of the driver.
var compatShapes = map[byte]rowShape{
	compatVersion: {form: 2}, 0x03: {form: 2}, 0x05: {form: 2}, 0x06: {form: 2}, 0x07: {form: 3}, compatSpecific: {form: 2},
	compatFeatures: {formBytes, 8}, 0x0c: {form: 2}, 0x0d: {form: 3}, 0x0e: {form: 3},
}

// of reports whether a row looks so.
func (r rowShape) of(x *attribute) bool {
	return x.form == r.form && (r.form != formBytes || len(x.data) == r.bytes || r.bytes == 0 && len(x.data)%4 == 0)
}
