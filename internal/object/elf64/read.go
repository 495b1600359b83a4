package elf64

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// holds reports whether the file has length bytes at offset.
func (f *File) holds(offset, length uint64) bool {
	size := uint64(f.size)
	return offset <= size && length <= size-offset
}

// readAt fills b, whose length must already be known to be sound.
func (f *File) readAt(b []byte, offset uint64) error {
	if !f.holds(offset, uint64(len(b))) {
		return ErrTruncated
	}
	return readFull(f.r, b, int64(offset))
}

func readFull(r io.ReaderAt, b []byte, offset int64) error {
	n, err := r.ReadAt(b, offset)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return ErrTruncated // the file is shorter than the given size
	}
	return err
}

// nameSections sets the names of all sections.
func (f *File) nameSections() error {
	const part = "section names"
	if f.nameSection == 0 {
		return nil
	}
	if uint64(f.nameSection) >= uint64(len(f.Sections)) {
		return wrong(part, ErrFormat, "in section %d of %d", f.nameSection, len(f.Sections))
	}
	names, err := f.Strings(&f.Sections[f.nameSection], maxNames)
	if err != nil {
		return wrong(part, err, "")
	}
	budget := names.budget()
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Name, err = names.at(s.name, &budget); err != nil {
			return wrong(part, err, "section %d", i)
		}
	}
	return nil
}

// Section returns the first section of a name, or nil.
func (f *File) Section(name string) *Section {
	for i := range f.Sections {
		if f.Sections[i].Name == name {
			return &f.Sections[i]
		}
	}
	return nil
}

// Bytes returns where in the file the contents of a section are. A section without contents in
// the file has length 0.
func (f *File) Bytes(s *Section) (offset, length int64, err error) {
	if s.Type == NoBits {
		return 0, 0, nil
	}
	if !f.holds(s.Offset, s.Size) {
		return 0, 0, wrong(s.describe(), ErrTruncated, "%d bytes at %#x of %d", s.Size, s.Offset, f.size)
	}
	return int64(s.Offset), int64(s.Size), nil
}

// Data reads the contents of a section that has no more than limit bytes.
func (f *File) Data(s *Section, limit int64) ([]byte, error) {
	offset, length, err := f.Bytes(s)
	if err != nil {
		return nil, err
	}
	if length > limit {
		return nil, wrong(s.describe(), ErrTooLarge, "%d bytes", length)
	}
	data := make([]byte, length)
	if err := readFull(f.r, data, offset); err != nil {
		return nil, wrong(s.describe(), err, "")
	}
	return data, nil
}

func (s *Section) describe() string { return "section " + s.Name }

// Strings are the contents of a string table, with a NUL at the end unless
// they are empty.
type Strings string

// Strings reads a string table.
func (f *File) Strings(s *Section, limit int64) (Strings, error) {
	data, err := f.Data(s, limit)
	if err != nil {
		return "", err
	}
	if n := len(data); n > 0 && data[n-1] != 0 {
		return "", wrong(s.describe(), ErrFormat, "the last string does not end")
	}
	return Strings(data), nil
}

// budget is how many bytes of names may be looked at in all. Names may share
// bytes, so a small file could otherwise ask for a very long search.
func (s Strings) budget() int { return 1<<26 + 64*len(s) }

// at returns the string at an offset. Offset 0 is the empty name, also of an empty table.
func (s Strings) at(offset uint32, budget *int) (string, error) {
	if uint64(offset) >= uint64(len(s)) {
		if offset == 0 {
			return "", nil
		}
		return "", fmt.Errorf("%w: name at %#x of %#x", ErrFormat, offset, len(s))
	}
	rest := string(s[offset:])
	name := rest[:strings.IndexByte(rest, 0)]
	if *budget -= len(name); *budget < 0 {
		return "", fmt.Errorf("%w: names overlap", ErrTooLarge)
	}
	return name, nil
}
