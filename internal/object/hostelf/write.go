package hostelf

import (
	"bytes"
	"encoding/binary"

	"github.com/warpld/warpld/internal/object/elf64"
)

// Carry returns a host object without host code, in which device linkers find a fat binary,
// its module id and the host references. Without references it has no sections for them.
// warpld adds its own device code to the objects of a link in this form.
func Carry(fatbin []byte, moduleID string, refs *HostRefs) []byte {
	w := &writer{}
	w.section(RelocatableSection, fatbin)
	w.section(SegmentSection, segment())
	w.section(moduleIDSection, append([]byte(moduleID), 0))
	if refs != nil {
		for _, l := range refs.Lists() {
			w.section(l.Section, joined(*l.Patterns))
		}
	}
	return w.file()
}

// segment is what the host's start-up code finds the fat binary by: a magic
// number, a version, the address, which the host linker fills in, and a zero.
func segment() []byte {
	b := make([]byte, 24)
	binary.LittleEndian.PutUint32(b, 0x466243B1)
	binary.LittleEndian.PutUint32(b[4:], 1)
	return b
}

// joined is the form of a list: strings that end in NULs; an empty list is one
// NUL.
func joined(list []string) []byte {
	if len(list) == 0 {
		return []byte{0}
	}
	var b bytes.Buffer
	for _, s := range list {
		b.WriteString(s)
		b.WriteByte(0)
	}
	return b.Bytes()
}

// A writer appends sections after the ELF header.
type writer struct {
	body    bytes.Buffer
	names   bytes.Buffer
	headers []sectionHeader
}

// A sectionHeader is as the ELF format has it.
type sectionHeader struct {
	Name, Type                uint32
	Flags, Addr, Offset, Size uint64
	Link, Info                uint32
	Alignment, EntrySize      uint64
}

const (
	typeProgbits = 1
	typeStrtab   = 3
	flagAlloc    = 2
	alignment    = 8
)

func (w *writer) section(name string, data []byte) { w.add(name, typeProgbits, flagAlloc, data) }

func (w *writer) add(name string, kind uint32, flags uint64, data []byte) {
	if w.names.Len() == 0 {
		w.names.WriteByte(0)
		w.headers = append(w.headers, sectionHeader{}) // the first one stands for none
	}
	for w.body.Len()%alignment != 0 {
		w.body.WriteByte(0)
	}
	w.headers = append(w.headers, sectionHeader{Name: uint32(w.names.Len()), Type: kind, Flags: flags,
		Offset: uint64(elf64.HeaderSize + w.body.Len()), Size: uint64(len(data)), Alignment: alignment})
	w.names.WriteString(name + "\x00")
	w.body.Write(data)
}

func (w *writer) file() []byte {
	const namesSection = ".shstrtab"
	names := append(w.names.Bytes(), namesSection+"\x00"...)
	w.add(namesSection, typeStrtab, 0, names)
	for w.body.Len()%alignment != 0 {
		w.body.WriteByte(0)
	}
	var out bytes.Buffer
	le := binary.LittleEndian
	header := struct {
		Ident                                          [16]byte
		Type, Machine                                  uint16
		Version                                        uint32
		Entry, ProgramOffset, SectionOffset            uint64
		Flags                                          uint32
		HeaderSize, ProgramSize, Programs, SectionSize uint16
		Sections, NamesIndex                           uint16
	}{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: uint16(elf64.Relocatable), Machine: uint16(elf64.X8664),
		Version:       1,
		SectionOffset: uint64(elf64.HeaderSize + w.body.Len()), HeaderSize: elf64.HeaderSize, SectionSize: 64,
		Sections: uint16(len(w.headers)), NamesIndex: uint16(len(w.headers) - 1),
	}
	binary.Write(&out, le, header)
	out.Write(w.body.Bytes())
	binary.Write(&out, le, w.headers)
	return out.Bytes()
}
