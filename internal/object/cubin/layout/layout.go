package layout

import (
	"encoding/binary"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

var le = binary.LittleEndian

// Sections that come first in every file.
const (
	IndexShstrtab = 1
	IndexStrtab   = 2
	IndexSymtab   = 3
	FirstIndex    = 4
)

// AfterNames is how many bytes are unused after .shstrtab in files with Mercury code.
const AfterNames = 36

// AlignUp rounds up to a multiple of a power of two; 0 counts as 1.
func AlignUp(n, align uint64) uint64 {
	if align < 2 {
		return n
	}
	return (n + align - 1) &^ (align - 1)
}

// A Row is one of the section table. The address of a section is always 0.
type Row struct {
	Name         uint32 // offset in the table of names
	Type         elf64.SectionType
	Flags        uint64
	Offset, Size uint64
	Link, Info   uint32
	Align, Entry uint64
}

// Put writes the row.
func (r *Row) Put(b []byte) {
	le.PutUint32(b, r.Name)
	le.PutUint32(b[4:], uint32(r.Type))
	le.PutUint64(b[8:], r.Flags)
	le.PutUint64(b[24:], r.Offset)
	le.PutUint64(b[32:], r.Size)
	le.PutUint32(b[40:], r.Link)
	le.PutUint32(b[44:], r.Info)
	le.PutUint64(b[48:], r.Align)
	le.PutUint64(b[56:], r.Entry)
}

// A Segment is a row of the program header table.
type Segment struct {
	kind, flags       uint32
	offset            uint64
	fileSize, memSize uint64
}

const (
	segmentLoad    = 1
	segmentHeaders = 6
	segmentRead    = 4
	segmentExec    = 5
	segmentWrite   = 6
)

// Put writes the row of a segment.
func (s *Segment) Put(b []byte) {
	le.PutUint32(b, s.kind)
	le.PutUint32(b[4:], s.flags)
	le.PutUint64(b[8:], s.offset)
	le.PutUint64(b[32:], s.fileSize)
	le.PutUint64(b[40:], s.memSize)
	le.PutUint64(b[48:], 8)
}

// Segments makes the program headers, which are at offset: one segment for constants and
// code, one for variables, and one for the headers themselves.
func Segments(rows []Row, offset uint64) []Segment {
	var code, data []Row
	for _, r := range rows {
		switch {
		//rule: Code comes with one segment, variables with another.
		//mutate: false
		case r.Flags&elf64.Write != 0:
			data = append(data, r)
		case r.Flags&elf64.Alloc != 0:
			code = append(code, r)
		}
	}
	list := []Segment{{kind: segmentHeaders, flags: segmentExec}}
	if len(code) > 0 {
		list = append(list, segmentOf(code, segmentExec))
	}
	if len(data) > 0 {
		list = append(list, segmentOf(data, segmentWrite))
	}
	list = append(list, Segment{kind: segmentLoad, flags: segmentExec})
	cover(list, offset, 0, len(list)-1)
	return list
}

// cover gives some segments the bytes of the program headers.
func cover(list []Segment, offset uint64, which ...int) {
	size := uint64(len(list)) * elf64.SegmentSize
	for _, i := range which {
		list[i].offset, list[i].fileSize, list[i].memSize = offset, size, size
	}
}

// Runs makes the program headers of files in which every run of sections with equal access
// is a segment. Sections of Mercury code are in none.
func Runs(rows []Row, offset uint64) []Segment {
	list := []Segment{{kind: segmentHeaders, flags: segmentRead}, {kind: segmentLoad, flags: segmentRead}}
	var run []Row
	access := uint32(0)
	end := func() {
		if len(run) > 0 {
			list = append(list, segmentOf(run, access))
		}
		run = run[:0]
	}
	for _, r := range rows {
		if r.Flags&cubin.SHF_MERCURY != 0 || r.Flags&(elf64.Alloc|elf64.Write) == 0 {
			continue
		}
		a := uint32(segmentRead)
		if r.Flags&elf64.Exec != 0 {
			a = segmentExec
		} else if r.Flags&elf64.Write != 0 {
			a = segmentWrite
		}
		if a != access {
			end()
		}
		run, access = append(run, r), a
	}
	end()
	cover(list, offset, 0, 1)
	return list
}

// segmentOf covers sections that follow each other. In the file it ends where
// the last section without bytes is, in memory those come after.
func segmentOf(list []Row, flags uint32) Segment {
	last := &list[len(list)-1]
	end := last.Offset + last.Size
	if last.Type == elf64.NoBits {
		//rule: The segment of variables ends in the file at the last section without bytes.
		//mutate: last.Offset -> last.Offset + last.Size
		end = last.Offset
	}
	memory := end
	for i := range list {
		if r := &list[i]; r.Type == elf64.NoBits {
			//rule: Memory of sections without bytes comes after those with.
			//mutate: AlignUp(memory, r.Align) -> memory
			memory = AlignUp(memory, r.Align) + r.Size
		}
	}
	start := list[0].Offset
	return Segment{segmentLoad, flags, start, end - start, memory - start}
}

// A Header is the header of the file.
type Header struct {
	Type  elf64.Type
	Arch  int    // the number of the architecture
	Flags uint32 // the lowest byte of the flags
	// Note is the index of the note about the architecture.
	Note               uint32
	Table, Segments    uint64 // where the section table and the program headers are
	Sections, Programs int    // how many rows they have
}

// The ABI of files since CUDA 13.
const (
	ABI        = 0x41
	ABIVersion = 8
)

// Put writes the header.
func (h *Header) Put(b []byte) {
	copy(b, []byte{0x7f, 'E', 'L', 'F', 2, 1, 1, ABI, ABIVersion})
	le.PutUint16(b[16:], uint16(h.Type))
	le.PutUint16(b[18:], uint16(elf64.CUDA))
	le.PutUint32(b[20:], 1)
	le.PutUint64(b[32:], h.Segments)
	le.PutUint64(b[40:], h.Table)
	//rule: The flags of the file have the index of the note about the architecture.
	//mutate: 0xff -> 0
	// with more sections before it, readers have to search
	note := min(h.Note, 0xff)
	le.PutUint32(b[48:], note<<24|uint32(h.Arch)<<8|h.Flags)
	le.PutUint16(b[52:], elf64.HeaderSize)
	le.PutUint16(b[54:], elf64.SegmentSize)
	le.PutUint16(b[56:], uint16(h.Programs))
	le.PutUint16(b[58:], elf64.SectionSize)
	le.PutUint16(b[60:], uint16(h.Sections))
	le.PutUint16(b[62:], IndexShstrtab)
}
