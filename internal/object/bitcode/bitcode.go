// Package bitcode reads what a linker must know of LLVM bitcode before LLVM sees
// it: who made it, what it is for, and which symbols it has.
//
// A file starts with the magic number "BC" c0 de, or with a wrapper: five u32, the
// magic 0x0b17c0de, a version, offset and size of the bitcode, and a CPU. Then
// come blocks, numbered as here:
//
//	13 identification: record 1 the producer, record 2 the epoch
//	 8 module: records 1 version, 2 triple, 3 data layout, 16 source file, 7 variable,
//	   8 function, 14 alias; in it the blocks
//	   10 attribute groups, 11 constants, 15 metadata, 20 and 24 summaries
//	23 strings: one blob of the names of all symbols
//	25 symbols: LLVM's own table, which is not read here
//
// A module follows its identification. A file may hold several modules, which share
// the strings: clang splits a module whose vtables are to be optimized.
package bitcode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// What can be wrong with a file. Errors of this package wrap one of these.
var (
	ErrFormat    = errors.New("not as LLVM's bitcode format has it")
	ErrTruncated = errors.New("bitcode is cut off")
	// ErrOld: names are kept in a form that LLVM left with version 5.
	ErrOld = errors.New("bitcode of an LLVM before 5.0")
)

const (
	magic        = "BC\xc0\xde"
	wrapperMagic = "\xde\xc0\x17\x0b"
	wrapperSize  = 20
)

// IsBitcode reports whether data starts as a file of bitcode does.
func IsBitcode(data []byte) bool {
	return len(data) >= 4 && (string(data[:4]) == magic || string(data[:4]) == wrapperMagic)
}

// Ids of blocks.
const (
	blockModule         = 8
	blockAttributeGroup = 10
	blockConstants      = 11
	blockIdentification = 13
	blockMetadata       = 15
	blockSummary        = 20
	blockStrings        = 23
	blockFullSummary    = 24
)

// A File is a file of bitcode.
type File struct {
	Modules []Module

	data    []byte // without the wrapper
	strings span
}

type span struct{ start, end uint64 } // in bytes

// A Module is one module of a file.
type Module struct {
	// Producer is the program that wrote it: "LLVM22.1.8".
	Producer string
	Epoch    uint64
	Triple   string
	// DataLayout and SourceFile are as the compiler wrote them.
	DataLayout string
	SourceFile string
	// Flags are the module flags that have a number.
	Flags map[string]uint64
	// CPUs are the values of "target-cpu" in it, Features the words of
	// "target-features", each sorted.
	CPUs     []string
	Features []string
	Symbols  []Symbol
	// Thin means that the module has a summary for ThinLTO.
	Thin bool

	where   span // from the identification to the end of the module
	version uint64
}

// Major returns the major version of the LLVM that wrote the module, or 0 if it is not
// recorded.
func (m *Module) Major() int {
	text, ok := strings.CutPrefix(m.Producer, "LLVM")
	if !ok {
		return 0
	}
	var major int
	if _, err := fmt.Sscanf(text, "%d", &major); err != nil || major < 0 {
		return 0
	}
	return major
}

// Read reads a file. Modules of it stay valid only as long as data is not changed.
func Read(data []byte) (*File, error) {
	data, err := unwrap(data)
	if err != nil {
		return nil, err
	}
	f := &File{data: data}
	s := &stream{bits: newCursor(data), shared: map[uint64][]abbrev{}}
	s.bits.fixed(32) // the magic number
	var names string
	var identification *Module
	for s.bits.err == nil && s.bits.left() >= 64 && !s.padding() {
		start := s.bits.at / 8
		if s.bits.fixed(2) != enterBlock {
			s.bits.fail(ErrFormat, "no block at byte %d", start)
			break
		}
		b := s.enter()
		if s.bits.err != nil {
			break
		}
		switch b.id {
		case blockIdentification:
			identification = &Module{where: span{start: start}}
			identification.identify(s, b)
		case blockModule:
			m := identification
			if m == nil {
				m = &Module{where: span{start: start}}
			}
			clear(s.shared) // abbreviations are a module's own
			m.read(s, b)
			m.where.end = b.end / 8
			f.Modules = append(f.Modules, *m)
			identification = nil
		case blockStrings:
			if f.strings.end != 0 {
				s.bits.fail(ErrFormat, "two tables of names, as in files that were joined")
			}
			f.strings = span{start, b.end / 8}
			s.read(b, func(r *record) { names = string(r.blob) }, nil)
		}
		if s.bits.err == nil {
			s.bits.at = b.end
		}
	}
	if s.bits.err != nil {
		return nil, s.bits.err
	}
	return f, f.finish(names)
}

// padding reports whether only zeros follow, which archives and sections add.
func (s *stream) padding() bool {
	const word = 4
	at := s.bits.at / 8
	return s.bits.at%32 == 0 && string(s.bits.data[at:at+word]) == "\x00\x00\x00\x00"
}

// finish sets the names of the symbols and checks that nothing is missing.
func (f *File) finish(names string) error {
	if len(f.Modules) == 0 {
		return fmt.Errorf("%w: no module in it", ErrFormat)
	}
	for i := range f.Modules {
		m := &f.Modules[i]
		if m.version < 2 {
			return ErrOld
		}
		for j := range m.Symbols {
			y := &m.Symbols[j]
			if y.nameAt > uint64(len(names)) || y.nameSize > uint64(len(names))-y.nameAt {
				return fmt.Errorf("%w: name at %d of %d", ErrFormat, y.nameAt, len(names))
			}
			y.Name = names[y.nameAt : y.nameAt+y.nameSize]
		}
	}
	return nil
}

// unwrap removes the wrapper.
func unwrap(data []byte) ([]byte, error) {
	if !IsBitcode(data) {
		return nil, fmt.Errorf("%w: wrong magic number", ErrFormat)
	}
	if string(data[:4]) != wrapperMagic {
		return data, nil
	}
	if len(data) < wrapperSize {
		return nil, fmt.Errorf("%w: wrapper of %d bytes", ErrTruncated, len(data))
	}
	offset, size := uint64(binary.LittleEndian.Uint32(data[8:])), uint64(binary.LittleEndian.Uint32(data[12:]))
	if offset > uint64(len(data)) || size > uint64(len(data))-offset {
		return nil, fmt.Errorf("%w: %d bytes at %d of %d", ErrTruncated, size, offset, len(data))
	}
	if inner := data[offset : offset+size]; len(inner) >= 4 && string(inner[:4]) == magic {
		return inner, nil
	}
	return nil, fmt.Errorf("%w: no bitcode in the wrapper", ErrFormat)
}

// Extract returns a module as a file of its own, for readers that accept only one
// module. Offsets in a module count from its identification block, so they stay valid.
func (f *File) Extract(place int) []byte {
	if len(f.Modules) == 1 {
		return f.data
	}
	m := f.Modules[place].where
	alone := append([]byte(magic), f.data[m.start:m.end]...)
	return append(alone, f.data[f.strings.start:f.strings.end]...)
}
