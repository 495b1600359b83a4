package compose

import (
	"github.com/warpld/warpld/internal/object/cubin/layout"
	"github.com/warpld/warpld/internal/object/elf64"
)

// A writer gives every section its place in the file: tables, sections, section table,
// program headers.
type writer struct {
	composer *composer
	rows     []layout.Row
	contents [][]byte // of the rows
	size     uint64
}

// place puts a section after what is there; one without bytes takes none.
func (w *writer) place(r layout.Row, content []byte) {
	r.Offset = layout.AlignUp(w.size, r.Align)
	w.size = r.Offset
	if r.Type != elf64.NoBits {
		w.size += r.Size
	}
	w.rows, w.contents = append(w.rows, r), append(w.contents, content)
}

// placeTable puts one of the tables that come first.
func (w *writer) placeTable(name string, r layout.Row, content []byte) {
	r.Name, r.Size = w.composer.names.Offset[name], uint64(len(content))
	w.place(r, content)
}

// write makes the file.
func (c *composer) write() ([]byte, error) {
	w := &writer{composer: c, rows: make([]layout.Row, 1), contents: make([][]byte, 1), size: elf64.HeaderSize}
	w.placeTable(".shstrtab", layout.Row{Type: elf64.Strtab, Align: 1}, c.names.Data)
	w.size += c.afterNames()
	w.placeTable(".strtab", layout.Row{Type: elf64.Strtab, Align: 1}, c.strings.Data)
	w.size += c.afterStrings()
	w.placeTable(".symtab", layout.Row{Type: elf64.Symtab, Align: 8, Entry: elf64.SymbolSize, Link: layout.IndexStrtab,
		Info: c.firstGlobal()}, c.putSymbols())
	for _, s := range c.body {
		w.placeSection(s, c.names.Offset[s.elf.Name])
	}
	for i, s := range c.mirrors {
		w.placeSection(s, c.at.mirrorNames[i])
	}
	if c.failed != nil {
		return nil, c.failed
	}
	if w.size > maxFile {
		return nil, refuse(TooLarge, nil, "")
	}
	return w.bytes(), nil
}

// placeSection puts a section of a unit.
func (w *writer) placeSection(s *section, name uint32) {
	e := s.elf
	r := layout.Row{Name: name, Type: e.Type, Flags: e.Flags, Size: s.size(), Align: e.Align, Entry: e.EntSize}
	r.Link, r.Info = w.composer.linkAndInfo(s)
	if s.isMirror() && sharesFile(s) {
		first := w.composer.at.first(s)
		if first == nil || first.size() != s.size() {
			w.composer.fail(UnknownSection, s.unit, e.Name)
			return
		}
		r.Offset = first.offset
		w.rows, w.contents = append(w.rows, r), append(w.contents, nil)
		return
	}
	w.place(r, s.content)
	s.offset = w.rows[len(w.rows)-1].Offset
}

// first returns the section of the first program that a section of the module mirrors.
func (at *sectionIndex) first(s *section) *section {
	if s.owner != module {
		return s.unit.byName[firstName(s.elf.Name)]
	}
	return at.module[firstName(s.elf.Name)]
}

// afterNames is how many bytes are unused after .shstrtab.
func (c *composer) afterNames() uint64 {
	const base, each = 14, 4
	switch {
	case c.rules.Mercury:
		return layout.AfterNames
	case !c.rules.BanksLast:
		return 0
	}
	unused := uint64(base)
	for k := range c.program.Kernels {
		//rule: For sm_90 there is room after .shstrtab for the names of parameters.
		unused += uint64(len(bank0)+len(c.program.Kernels[k].Name)) + each
	}
	return unused
}

// bytes writes the file.
func (w *writer) bytes() []byte {
	c := w.composer
	table := layout.AlignUp(w.size, 8)
	programs := table + uint64(len(w.rows))*elf64.SectionSize
	segments := layout.Segments
	if c.rules.BanksLast {
		segments = layout.Runs
	}
	list := segments(w.rows, programs)
	file := make([]byte, programs+uint64(len(list))*elf64.SegmentSize)
	for i := range w.rows {
		r := &w.rows[i]
		copy(file[r.Offset:], w.contents[i])
		r.Put(file[table+uint64(i)*elf64.SectionSize:])
	}
	for i := range list {
		list[i].Put(file[programs+uint64(i)*elf64.SegmentSize:])
	}
	note := uint32(0)
	if s := c.at.module[".note.nv.cuinfo"]; s != nil {
		note = s.index
	}
	h := layout.Header{Type: elf64.Executable, Arch: c.arch.Number, Flags: c.first.elf.Flags & 0xff, Note: note,
		Table: table, Segments: programs, Sections: len(w.rows), Programs: len(list)}
	h.Put(file)
	return file
}
