package elf64

import (
	"encoding/binary"
	"iter"
)

// A Binding is how a symbol binds: the upper half of st_info.
type Binding uint8

// The bindings.
const (
	Local  Binding = 0
	Global Binding = 1
	Weak   Binding = 2
)

// A SymbolType is what a symbol stands for: the lower half of st_info.
type SymbolType uint8

// The types of symbols that have a use here.
const (
	Object        SymbolType = 1
	Function      SymbolType = 2
	SectionSymbol SymbolType = 3
)

// Undefined is the section of a symbol that is defined elsewhere, and Common that of one that
// the linker allocates; the value of such a symbol is its alignment.
const (
	Undefined = 0
	Common    = 0xfff2
)

// A Symbol is one entry of a symbol table.
type Symbol struct {
	Name    string
	Binding Binding
	Type    SymbolType
	Other   uint8
	Section uint32 // index; 0xff00 to 0xfffe are reserved by the format
	Value   uint64
	Size    uint64
}

// A SymbolTable holds the rows of a symbol table and decodes them on demand.
type SymbolTable struct {
	rows     []byte
	names    Strings
	extended []byte // of section indexes, where a row has no room for its own
}

// Symbols reads a symbol table, which has no more than limit bytes, nor have
// its names.
func (f *File) Symbols(s *Section, limit int64) (*SymbolTable, error) {
	rows, err := f.Data(s, limit)
	if err != nil {
		return nil, err
	}
	if s.EntSize != SymbolSize || len(rows)%SymbolSize != 0 {
		return nil, wrong(s.describe(), ErrFormat, "%d bytes in rows of %d", len(rows), s.EntSize)
	}
	if uint64(s.Link) >= uint64(len(f.Sections)) {
		return nil, wrong(s.describe(), ErrFormat, "names in section %d of %d", s.Link, len(f.Sections))
	}
	t := &SymbolTable{rows: rows}
	if t.names, err = f.Strings(&f.Sections[s.Link], limit); err != nil {
		return nil, err
	}
	if err := f.extendSymbols(t, s, limit); err != nil {
		return nil, err
	}
	budget := t.names.budget()
	for i := range t.Len() {
		if _, err := t.names.at(binary.LittleEndian.Uint32(t.row(i)), &budget); err != nil {
			return nil, wrong(s.describe(), err, "symbol %d", i)
		}
	}
	return t, nil
}

// extendSymbols finds the table of long section indexes that belongs to s.
func (f *File) extendSymbols(t *SymbolTable, s *Section, limit int64) (err error) {
	for i := range f.Sections {
		x := &f.Sections[i]
		if x.Type != SymtabShndx || x.Link != uint32(s.Index) {
			continue
		}
		if t.extended, err = f.Data(x, limit); err != nil {
			return err
		}
		if len(t.extended)/4 < t.Len() {
			return wrong(x.describe(), ErrFormat, "%d bytes for %d symbols", len(t.extended), t.Len())
		}
		return nil
	}
	return nil
}

// Len is the number of symbols, with the null symbol.
func (t *SymbolTable) Len() int { return len(t.rows) / SymbolSize }

func (t *SymbolTable) row(i int) []byte { return t.rows[i*SymbolSize : (i+1)*SymbolSize] }

// At returns the symbol of an index.
func (t *SymbolTable) At(i int) Symbol {
	const extendedIndex = 0xffff
	le := binary.LittleEndian
	row := t.row(i)
	budget := t.names.budget()
	name, _ := t.names.at(le.Uint32(row), &budget) // Symbols has tried them all
	y := Symbol{
		Name:    name,
		Binding: Binding(row[4] >> 4),
		Type:    SymbolType(row[4] & 15),
		Other:   row[5],
		Section: uint32(le.Uint16(row[6:])),
		Value:   le.Uint64(row[8:]),
		Size:    le.Uint64(row[16:]),
	}
	if y.Section == extendedIndex && t.extended != nil {
		y.Section = le.Uint32(t.extended[4*i:])
	}
	return y
}

// All returns the symbols in their order.
func (t *SymbolTable) All() iter.Seq2[int, Symbol] {
	return func(yield func(int, Symbol) bool) {
		for i := range t.Len() {
			if !yield(i, t.At(i)) {
				return
			}
		}
	}
}
