// Package objecttest makes small inputs for tests: ELF files, fat binaries,
// archives, LTO-IR. What they hold is not code.
package objecttest

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/klauspost/compress/zstd"
)

var le = binary.LittleEndian

// A Section is a section of an ELF file.
type Section struct {
	Name    string
	Type    uint32 // 0: PROGBITS
	Flags   uint64
	Link    uint32
	Info    uint32
	EntSize uint64
	Data    []byte
}

// An ELFFile is an ELF file to be made. Section 0 and the section of names,
// which is the last one, come by themselves.
type ELFFile struct {
	Type       uint16 // 0: relocatable
	Machine    uint16 // 0: x86-64
	ABIVersion byte
	Flags      uint32
	Sections   []Section
	// Extended writes the counts where files with very many sections have them.
	Extended bool
}

// ELF returns the bytes of the file.
func ELF(f ELFFile) []byte {
	const (
		headerSize = 64
		progbits   = 1
		strtab     = 3
	)
	names := []byte{0}
	nameOf := func(s string) uint32 {
		names = append(append(names, s...), 0)
		return uint32(len(names) - len(s) - 1)
	}
	file := make([]byte, headerSize)
	table := make([]byte, headerSize)
	add := func(s Section) {
		if s.Type == 0 {
			s.Type = progbits
		}
		row := make([]byte, headerSize)
		le.PutUint32(row, nameOf(s.Name))
		if s.Type == strtab && s.Data == nil {
			s.Data = names
		}
		le.PutUint32(row[4:], s.Type)
		le.PutUint64(row[8:], s.Flags)
		le.PutUint64(row[24:], uint64(len(file)))
		le.PutUint64(row[32:], uint64(len(s.Data)))
		le.PutUint32(row[40:], s.Link)
		le.PutUint32(row[44:], s.Info)
		le.PutUint64(row[48:], 1)
		le.PutUint64(row[56:], s.EntSize)
		table = append(table, row...)
		file = append(file, s.Data...)
	}
	for _, s := range f.Sections {
		add(s)
	}
	add(Section{Name: ".shstrtab", Type: strtab})
	f.header(file, table)
	return append(file, table...)
}

func (f *ELFFile) header(file, table []byte) {
	copy(file, "\x7fELF\x02\x01\x01")
	file[8] = f.ABIVersion
	le.PutUint16(file[16:], max(f.Type, 1))
	machine := f.Machine
	if machine == 0 {
		machine = 62
	}
	le.PutUint16(file[18:], machine)
	le.PutUint32(file[20:], 1)
	le.PutUint64(file[40:], uint64(len(file)))
	le.PutUint32(file[48:], f.Flags)
	le.PutUint16(file[58:], 64)
	count := len(table) / 64
	if f.Extended {
		le.PutUint16(file[62:], 0xffff)
		le.PutUint64(table[32:], uint64(count))
		le.PutUint32(table[40:], uint32(count-1))
		return
	}
	le.PutUint16(file[60:], uint16(count))
	le.PutUint16(file[62:], uint16(count-1))
}

// A Symbol is a row of a symbol table.
type Symbol struct {
	Name    string
	Info    byte
	Other   byte
	Section uint16
	Value   uint64
	Size    uint64
}

// Symbols returns a symbol table, with the null symbol, and its string table.
func Symbols(symbols ...Symbol) (rows, names []byte) {
	names = []byte{0}
	rows = make([]byte, 24)
	for _, y := range symbols {
		row := make([]byte, 24)
		le.PutUint32(row, uint32(len(names)))
		row[4], row[5] = y.Info, y.Other
		le.PutUint16(row[6:], y.Section)
		le.PutUint64(row[8:], y.Value)
		le.PutUint64(row[16:], y.Size)
		rows = append(rows, row...)
		names = append(append(names, y.Name...), 0)
	}
	return rows, names
}

// A Relocation is a row of a table of relocations with addends.
type Relocation struct {
	Place        uint64
	Kind, Symbol uint32
	Addend       int64
}

// Relocations returns a table of relocations.
func Relocations(list ...Relocation) (rows []byte) {
	for _, r := range list {
		rows = le.AppendUint64(rows, r.Place)
		rows = le.AppendUint32(rows, r.Kind)
		rows = le.AppendUint32(rows, r.Symbol)
		rows = le.AppendUint64(rows, uint64(r.Addend))
	}
	return rows
}

// A Member is a member of a fat binary.
type Member struct {
	Kind    uint16
	Arch    uint32
	Flags   uint64 // the flags of the compression come by themselves
	Options string
	Ident   string
	Payload []byte
	// Compression is "", "lz4" or "zstd".
	Compression string
	// Version is that of the payload, 1.65 if it is zero.
	Version [2]uint16
}

// Fatbin returns a fat binary.
func Fatbin(members ...Member) []byte {
	var body []byte
	for _, m := range members {
		body = append(body, m.bytes()...)
	}
	head := make([]byte, 16)
	le.PutUint32(head, 0xBA55ED50)
	le.PutUint16(head[4:], 1)
	le.PutUint16(head[6:], 16)
	le.PutUint64(head[8:], uint64(len(body)))
	return append(head, body...)
}

func (m Member) bytes() []byte {
	payload, flags := m.Payload, m.Flags
	head := make([]byte, 64)
	switch m.Compression {
	case "lz4":
		payload, flags = lz4Literals(payload), flags|0x2000
	case "zstd":
		payload, flags = zstdFrame(payload), flags|0x8000
	}
	if m.Compression != "" {
		le.PutUint32(head[16:], uint32(len(payload)))
		le.PutUint64(head[56:], uint64(len(m.Payload)))
	}
	le.PutUint16(head, m.Kind)
	le.PutUint16(head[2:], 0x0101)
	if m.Version == [2]uint16{} {
		m.Version = [2]uint16{1, 65}
	}
	le.PutUint16(head[24:], m.Version[1])
	le.PutUint16(head[26:], m.Version[0])
	le.PutUint32(head[28:], m.Arch)
	le.PutUint64(head[40:], flags|0x11)
	if m.Options != "" {
		le.PutUint32(head[20:], 64)
		head = le.AppendUint32(head, 72)
		head = le.AppendUint32(head, uint32(len(m.Options)))
		head = append(head, m.Options...)
	}
	if m.Ident != "" {
		le.PutUint32(head[32:], uint32(len(head)))
		le.PutUint32(head[36:], uint32(len(m.Ident)))
		head = append(head, m.Ident...)
	}
	head, payload = pad(head, 8), pad(payload, 8)
	le.PutUint32(head[4:], uint32(len(head)))
	le.PutUint64(head[8:], uint64(len(payload)))
	return append(head, payload...)
}

func pad(b []byte, n int) []byte {
	return append(b[:len(b):len(b)], make([]byte, (n-len(b)%n)%n)...)
}

// lz4Literals is an LZ4 block without matches.
func lz4Literals(data []byte) []byte {
	n := len(data)
	block := []byte{byte(min(n, 15)) << 4}
	if n >= 15 {
		for n -= 15; n >= 255; n -= 255 {
			block = append(block, 255)
		}
		block = append(block, byte(n))
	}
	return append(block, data...)
}

func zstdFrame(data []byte) []byte {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // no options can be wrong
	}
	return w.EncodeAll(data, nil)
}

// A File is a member of an archive.
type File struct {
	Name string
	Data []byte
}

// Archive returns an archive with GNU's long names, after a symbol table.
func Archive(files ...File) []byte { return archive("!<arch>\n", files) }

// ThinArchive returns an archive that has only the names of its members.
func ThinArchive(files ...File) []byte { return archive("!<thin>\n", files) }

func archive(magic string, files []File) []byte {
	a := magic + ArchiveHeader("/", 4) + "\x00\x00\x00\x00"
	var names string
	position := make([]int, len(files))
	for i, f := range files {
		position[i] = len(names)
		names += f.Name + "/\n"
	}
	a += evenly(ArchiveHeader("//", len(names)) + names)
	for i, f := range files {
		a += ArchiveHeader(fmt.Sprintf("/%d", position[i]), len(f.Data))
		if magic == "!<arch>\n" {
			a += evenly(string(f.Data))
		}
	}
	return []byte(a)
}

// ArchiveHeader returns the header of a member.
func ArchiveHeader(name string, size int) string {
	return fmt.Sprintf("%-16s%-12d%-6d%-6d%-8s%-10d`\n", name, 0, 0, 0, "644", size)
}

func evenly(s string) string { return s + strings.Repeat("\n", len(s)%2) }
