// Package elf64 reads 64-bit little-endian ELF files, host objects and device
// code alike, as far as a device linker needs them: the header, the sections
// and their contents, the symbols.
//
// Input is not trusted: every offset and size is checked against the file
// before it is used, and nothing is allocated that the file does not hold.
package elf64

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// What can be wrong with a file. Errors of this package wrap one of these.
var (
	ErrFormat    = errors.New("not as the ELF format has it")
	ErrTruncated = errors.New("beyond the end of the file")
	ErrTooLarge  = errors.New("larger than this reader takes")
)

// An Error names the part of an ELF file that cannot be read.
type Error struct {
	Part string // "section table", "section .symtab"
	Err  error
}

func (e *Error) Error() string { return e.Part + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

func wrong(part string, err error, detail string, args ...any) error {
	if detail != "" {
		err = fmt.Errorf("%w: "+detail, append([]any{err}, args...)...)
	}
	return &Error{Part: part, Err: err}
}

// A Type is what kind of file it is: e_type.
type Type uint16

// The types that occur.
const (
	Relocatable Type = 1
	Executable  Type = 2
)

// A Machine is what processor the file is for: e_machine.
type Machine uint16

// The machines that a CUDA build meets.
const (
	I386    Machine = 3
	PPC64   Machine = 21
	ARM     Machine = 40
	X8664   Machine = 62
	AArch64 Machine = 183
	CUDA    Machine = 190
	RISCV   Machine = 243
)

// A SectionType is sh_type.
type SectionType uint32

// The types that occur, without those of a machine.
const (
	Null        SectionType = 0
	ProgBits    SectionType = 1
	Symtab      SectionType = 2
	Strtab      SectionType = 3
	Rela        SectionType = 4
	Note        SectionType = 7
	NoBits      SectionType = 8
	Rel         SectionType = 9
	SymtabShndx SectionType = 18
)

// Flags of sections: sh_flags.
const (
	Write    = 0x1
	Alloc    = 0x2
	Exec     = 0x4
	InfoLink = 0x40 // sh_info is the index of a section
)

// Sizes of the fixed structures.
const (
	HeaderSize  = 64
	SectionSize = 64
	SegmentSize = 56
	SymbolSize  = 24
	RelSize     = 16
	RelaSize    = 24
)

// Limits on what is read to open a file. Both are far above what compilers
// make, and below what would hurt.
const (
	maxSections = 1 << 22
	maxNames    = 1 << 28
)

// A Header is the ELF header.
type Header struct {
	Ident        [16]byte
	Type         Type
	Machine      Machine
	Version      uint32
	Flags        uint32
	ProgramCount int

	sectionOffset uint64
	sectionSize   uint16
	sectionCount  uint32
	nameSection   uint32
}

// ABIVersion is the version of the ABI in the identification bytes.
func (h *Header) ABIVersion() byte { return h.Ident[8] }

// A Section is one entry of the section table.
type Section struct {
	Name    string
	Index   int
	Type    SectionType
	Flags   uint64
	Addr    uint64
	Offset  uint64
	Size    uint64
	Link    uint32
	Info    uint32
	Align   uint64
	EntSize uint64

	name uint32 // offset in the section of names
}

// A File is an ELF file whose header and section table were read.
type File struct {
	Header
	Sections []Section

	r    io.ReaderAt
	size int64
}

// Size returns the size of the file in bytes.
func (f *File) Size() int64 { return f.size }

// Span returns a reader of some bytes of the file.
func (f *File) Span(offset, size int64) *io.SectionReader {
	return io.NewSectionReader(f.r, offset, size)
}

// IsELF reports whether data starts as an ELF file of any class and order does.
func IsELF(data []byte) bool { return len(data) >= 4 && string(data[:4]) == "\x7fELF" }

// ReadHeader reads the header only.
func ReadHeader(r io.ReaderAt, size int64) (*Header, error) {
	const part = "ELF header"
	var b [HeaderSize]byte
	if size < HeaderSize {
		return nil, wrong(part, ErrTruncated, "%d bytes", size)
	}
	if err := readFull(r, b[:], 0); err != nil {
		return nil, wrong(part, err, "")
	}
	switch {
	case !IsELF(b[:]):
		return nil, wrong(part, ErrFormat, "wrong magic number")
	case b[4] != 2 || b[5] != 1:
		return nil, wrong(part, ErrFormat, "not 64-bit little-endian")
	}
	le := binary.LittleEndian
	return &Header{
		Ident:         [16]byte(b[:16]),
		Type:          Type(le.Uint16(b[16:])),
		Machine:       Machine(le.Uint16(b[18:])),
		Version:       le.Uint32(b[20:]),
		Flags:         le.Uint32(b[48:]),
		ProgramCount:  int(le.Uint16(b[56:])),
		sectionOffset: le.Uint64(b[40:]),
		sectionSize:   le.Uint16(b[58:]),
		sectionCount:  uint32(le.Uint16(b[60:])),
		nameSection:   uint32(le.Uint16(b[62:])),
	}, nil
}

// Open reads the header, the section table and the section names of the file
// that is the first size bytes of r. It keeps r for later reads.
func Open(r io.ReaderAt, size int64) (*File, error) {
	h, err := ReadHeader(r, size)
	if err != nil {
		return nil, err
	}
	f := &File{Header: *h, r: r, size: size}
	if f.sectionOffset == 0 {
		return f, nil
	}
	if err := f.readSections(); err != nil {
		return nil, err
	}
	if err := f.nameSections(); err != nil {
		return nil, err
	}
	return f, nil
}

// extend replaces the counts in the header by those in section 0, where a file
// with 0xff00 sections or more keeps them.
func (f *File) extend() error {
	const extendedIndex = 0xffff
	if f.sectionCount != 0 && f.nameSection != extendedIndex {
		return nil
	}
	var b [SectionSize]byte
	if err := f.readAt(b[:], f.sectionOffset); err != nil {
		return wrong("section table", err, "")
	}
	first := parseSection(b[:])
	if f.sectionCount == 0 {
		if first.Size > maxSections {
			return wrong("section table", ErrTooLarge, "%d sections", first.Size)
		}
		f.sectionCount = uint32(first.Size)
	}
	if f.nameSection == extendedIndex {
		f.nameSection = first.Link
	}
	return nil
}

func (f *File) readSections() error {
	const part = "section table"
	if f.sectionSize != SectionSize {
		return wrong(part, ErrFormat, "entries of %d bytes", f.sectionSize)
	}
	if err := f.extend(); err != nil {
		return err
	}
	length := uint64(f.sectionCount) * SectionSize
	if !f.holds(f.sectionOffset, length) {
		return wrong(part, ErrTruncated, "%d bytes at %#x of %d", length, f.sectionOffset, f.size)
	}
	table := make([]byte, length)
	if err := f.readAt(table, f.sectionOffset); err != nil {
		return wrong(part, err, "")
	}
	f.Sections = make([]Section, f.sectionCount)
	for i := range f.Sections {
		f.Sections[i] = parseSection(table[i*SectionSize:])
		f.Sections[i].Index = i
	}
	return nil
}

func parseSection(b []byte) Section {
	le := binary.LittleEndian
	return Section{
		name:    le.Uint32(b),
		Type:    SectionType(le.Uint32(b[4:])),
		Flags:   le.Uint64(b[8:]),
		Addr:    le.Uint64(b[16:]),
		Offset:  le.Uint64(b[24:]),
		Size:    le.Uint64(b[32:]),
		Link:    le.Uint32(b[40:]),
		Info:    le.Uint32(b[44:]),
		Align:   le.Uint64(b[48:]),
		EntSize: le.Uint64(b[56:]),
	}
}
