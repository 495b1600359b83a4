package hostelf

import (
	"encoding/binary"
	"fmt"

	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/internal/object/offload"
)

// clang lists what the host program registers, and so can name, in a section of records:
//
//	 0 u64 reserved, 8 u16 version, 10 u16 programming model, 12 u32 flags
//	16 address of the host's side, 24 address of the name
//	32 u64 size of a variable, 0 for a kernel, 40 u64 data, 48 auxiliary address
//
// The addresses are relocations in an object.
const (
	entriesSection = "llvm_offload_entries"
	entrySize      = 56
	entryModel     = 10
	entryName      = 24
	entryVariable  = 32
	modelCUDA      = 2

	relocationSize = 24
	maxEntries     = 1 << 26
	maxSymbols     = 1 << 28
	maxNameText    = 1 << 16
)

// readClang reads what clang adds to an object: its containers and what the host refers to. An
// object with device code and without entries refers to nothing.
func (f *File) readClang(e *elf64.File) error {
	for i := range e.Sections {
		if s := &e.Sections[i]; s.Name == offload.Section {
			offset, length, err := e.Bytes(s)
			if err != nil {
				return err
			}
			if length > 0 {
				f.Offloading = append(f.Offloading, Span{offset, length})
			}
		}
	}
	if len(f.Offloading) == 0 || len(f.Relocatable) > 0 {
		return nil
	}
	f.Refs.Missing = nil
	for i := range e.Sections {
		if s := &e.Sections[i]; s.Name == entriesSection {
			if err := f.readEntries(e, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// readEntries reads one section of entries. Of a variable it is not known what
// memory it is in, so it counts for both.
func (f *File) readEntries(e *elf64.File, s *elf64.Section) error {
	data, err := e.Data(s, maxEntries)
	if err != nil {
		return err
	}
	if len(data)%entrySize != 0 {
		return &elf64.Error{Part: "section " + s.Name, Err: fmt.Errorf("%w: %d bytes of entries", elf64.ErrFormat, len(data))}
	}
	names, err := namesOfEntries(e, s)
	if err != nil {
		return err
	}
	refs := &f.Refs
	for at := 0; at < len(data); at += entrySize {
		name := names[uint64(at+entryName)]
		switch entry := data[at:]; {
		case name == "" || binary.LittleEndian.Uint16(entry[entryModel:]) != modelCUDA:
		case binary.LittleEndian.Uint64(entry[entryVariable:]) == 0:
			refs.Kernels.External = append(refs.Kernels.External, name)
		default:
			refs.Devices.External = append(refs.Devices.External, name)
			refs.Constants.External = append(refs.Constants.External, name)
		}
	}
	return nil
}

// namesOfEntries returns the texts that relocations of a section point to, by their offset in
// it.
func namesOfEntries(e *elf64.File, s *elf64.Section) (map[uint64]string, error) {
	names := map[uint64]string{}
	for i := range e.Sections {
		r := &e.Sections[i]
		if r.Type != elf64.Rela || r.Info != uint32(s.Index) || uint64(r.Link) >= uint64(len(e.Sections)) {
			continue
		}
		rows, err := e.Data(r, maxEntries)
		if err != nil {
			return nil, err
		}
		symbols, err := e.Symbols(&e.Sections[r.Link], maxSymbols)
		if err != nil {
			return nil, err
		}
		texts := texts{file: e, read: map[uint32][]byte{}}
		for ; len(rows) >= relocationSize; rows = rows[relocationSize:] {
			le := binary.LittleEndian
			place, symbol, addend := le.Uint64(rows), le.Uint32(rows[12:]), le.Uint64(rows[16:])
			if place%entrySize != entryName || uint64(symbol) >= uint64(symbols.Len()) {
				continue
			}
			y := symbols.At(int(symbol))
			if names[place], err = texts.at(y.Section, y.Value+addend); err != nil {
				return nil, err
			}
		}
	}
	return names, nil
}

// texts are the contents of sections, each read once.
type texts struct {
	file *elf64.File
	read map[uint32][]byte
}

// at returns the string at an offset of a section, or "" if there is none.
func (t *texts) at(section uint32, offset uint64) (string, error) {
	data, known := t.read[section]
	if !known {
		if section == elf64.Undefined || uint64(section) >= uint64(len(t.file.Sections)) {
			return "", nil
		}
		var err error
		if data, err = t.file.Data(&t.file.Sections[section], maxRefs); err != nil {
			return "", err
		}
		t.read[section] = data
	}
	if offset >= uint64(len(data)) {
		return "", nil
	}
	rest := data[offset:min(uint64(len(data)), offset+maxNameText)]
	for end, c := range rest {
		if c == 0 {
			return string(rest[:end]), nil
		}
	}
	return "", nil
}
