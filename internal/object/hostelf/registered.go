package hostelf

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/warpld/warpld/internal/object/elf64"
)

// Registered are the device symbols that nvcc's host code registers with the runtime: all
// kernels and variables of its translation unit, used or not. It calls a function of the
// runtime for each one, with its name; the relocations of the code show where the calls and
// the names are.
type Registered struct{ Kernels, Variables []string }

// ErrIndirect: the host code calls the runtime by addresses that it loads once for many calls,
// so the relocations don't show what it registers.
var ErrIndirect = errors.New("calls through pointers")

// registering are the runtime's functions, and whether they register a kernel.
var registering = map[string]bool{"__cudaRegisterFunction": true, "__cudaRegisterVar": false,
	"__cudaRegisterManagedVar": false}

// Flags of sections.
const (
	flagWrite   = 1
	flagExecute = 4
)

// ReadRegistered reads them from the host object that is the first size bytes of r.
func ReadRegistered(r io.ReaderAt, size int64) (*Registered, error) {
	e, err := elf64.Open(r, size)
	if err != nil {
		return nil, err
	}
	found := &Registered{}
	texts := texts{file: e, read: map[uint32][]byte{}}
	tables := map[uint32]*elf64.SymbolTable{}
	unread := uint64(size)
	for i := range e.Sections {
		s := &e.Sections[i]
		if s.Type != elf64.Rela || uint64(s.Info) >= uint64(len(e.Sections)) || uint64(s.Link) >= uint64(len(e.Sections)) ||
			e.Sections[s.Info].Flags&flagExecute == 0 {
			continue
		}
		if s.Size > unread { // many sections of the same bytes
			return nil, &elf64.Error{Part: "section " + s.Name, Err: fmt.Errorf("%w: overlaps others", elf64.ErrFormat)}
		}
		unread -= s.Size
		if tables[s.Link] == nil {
			if tables[s.Link], err = e.Symbols(&e.Sections[s.Link], maxSymbols); err != nil {
				return nil, err
			}
		}
		if err := found.add(e, s, tables[s.Link], &texts); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// add reads the relocations of one section of code. The name that was loaded last
// before a call is the one that is registered.
func (f *Registered) add(e *elf64.File, s *elf64.Section, symbols *elf64.SymbolTable, texts *texts) error {
	rows, err := relocationsByPlace(e, s)
	if err != nil || !slices.ContainsFunc(rows, func(r relocation) bool { return r.registers(symbols) }) {
		return err
	}
	code, err := e.Data(&e.Sections[s.Info], maxEntries)
	if err != nil {
		return err
	}
	var name operandText
	for _, r := range rows {
		if uint64(r.symbol) >= uint64(symbols.Len()) {
			continue
		}
		y := symbols.At(int(r.symbol))
		kernel, registers := registering[y.Name]
		switch {
		case registers && !r.calls(e.Machine):
			return fmt.Errorf("%w: of %s", ErrIndirect, y.Name)
		case registers && name.text != "":
			f.register(name.text, kernel)
			name = operandText{}
		case isText(e, y.Section):
			text, err := texts.at(y.Section, y.Value+r.target(e.Machine))
			if err != nil {
				return err
			}
			name.load(text, r.operand(e.Machine, code))
		}
	}
	return nil
}

func relocationsByPlace(e *elf64.File, s *elf64.Section) ([]relocation, error) {
	rows, err := e.Data(s, maxEntries)
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	var sorted []relocation
	for ; len(rows) >= relocationSize; rows = rows[relocationSize:] {
		sorted = append(sorted, relocation{le.Uint64(rows), le.Uint32(rows[8:]), le.Uint32(rows[12:]), le.Uint64(rows[16:])})
	}
	slices.SortStableFunc(sorted, func(a, b relocation) int { return cmp.Compare(a.place, b.place) })
	return sorted, nil
}

// An operandText is the text that code has loaded for the next call.
type operandText struct {
	text  string
	known bool // it is in the register of an operand that is a name
}

// load replaces the text. The host's address of a constant is that of its value, which
// is read-only data, too, so it is told from a name by its register. A register that is no
// operand's may be on its way to one.
func (o *operandText) load(text string, to operand) {
	switch {
	case to == hostAddress || !isIdentifier(text):
	case to == deviceName || !o.known:
		o.text, o.known = text, to == deviceName
	}
}

// isIdentifier reports whether a text can be a symbol of device code.
func isIdentifier(text string) bool {
	for i, c := range []byte(text) {
		letter := c == '_' || c == '$' || ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z')
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return text != ""
}

func (f *Registered) register(name string, kernel bool) {
	list := &f.Variables
	if kernel {
		list = &f.Kernels
	}
	if !slices.Contains((*list)[max(0, len(*list)-1):], name) {
		*list = append(*list, name)
	}
}

// isText reports whether a section may hold names: it is read-only data.
func isText(e *elf64.File, section uint32) bool {
	if section == elf64.Undefined || uint64(section) >= uint64(len(e.Sections)) {
		return false
	}
	s := &e.Sections[section]
	return s.Type == typeProgbits && s.Flags&(flagWrite|flagExecute) == 0
}

type relocation struct {
	place        uint64
	kind, symbol uint32
	addend       uint64
}

// calls reports whether the relocation is that of a direct call.
func (r *relocation) calls(m elf64.Machine) bool {
	switch m {
	case elf64.X8664:
		return r.kind == 2 || r.kind == 4 // PC32, PLT32
	case elf64.AArch64:
		return r.kind == 282 || r.kind == 283 // JUMP26, CALL26
	}
	return false
}

// target is where a relocation leads to behind its symbol. Of x86 it counts from the
// end of the instruction, which is that of the four bytes.
func (r *relocation) target(m elf64.Machine) uint64 {
	const relative = 2 // R_X86_64_PC32
	if m == elf64.X8664 && r.kind == relative {
		return r.addend + 4
	}
	return r.addend
}

// registers reports whether the relocation is of a function that registers symbols.
func (r *relocation) registers(symbols *elf64.SymbolTable) bool {
	if uint64(r.symbol) >= uint64(symbols.Len()) {
		return false
	}
	_, registers := registering[symbols.At(int(r.symbol)).Name]
	return registers
}
