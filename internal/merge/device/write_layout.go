package device

import (
	"bytes"
	"slices"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/cubin/layout"
	"github.com/warpld/warpld/internal/object/elf64"
)

// layOut gives every section its place in the file: tables, sections, section
// table, program headers.
func (w *writer) layOut() {
	w.size = elf64.HeaderSize
	w.headers = make([]header, 1, 1+layout.FirstIndex+len(w.body)+len(w.mercuryBody))
	mercuryNames := w.nameMercury()
	w.place(header{name: w.names.Offset[".shstrtab"], kind: elf64.Strtab, align: 1, table: w.names.Data})
	if w.out.rules.mercury {
		w.size += layout.AfterNames
	}
	w.place(header{name: w.names.Offset[".strtab"], kind: elf64.Strtab, align: 1, table: w.strings.Data})
	w.size += w.afterStrings()
	w.place(header{name: w.names.Offset[".symtab"], kind: elf64.Symtab, align: 8, entry: elf64.SymbolSize,
		link: layout.IndexStrtab,
		info: w.firstGlobal(), size: uint64(1+len(w.locals)+len(w.globals)+len(w.lates)) * elf64.SymbolSize})
	for _, s := range w.body {
		h := header{name: w.names.Offset[s.name], kind: w.out.rules.fileType(s.kind), flags: s.flags, align: s.align,
			entry: s.entry, size: s.size, source: s}
		h.link, h.info = w.linkAndInfo(s)
		w.place(h)
		s.place.offset = w.headers[len(w.headers)-1].offset
	}
	w.layOutMercury(mercuryNames)
	w.layOutSegments()
}

// firstGlobal is sh_info of the symbol table. With symbols after the global
// ones it is the number of all symbols.
func (w *writer) firstGlobal() uint32 {
	if len(w.lates) > 0 {
		return uint32(1 + len(w.locals) + len(w.globals) + len(w.lates))
	}
	return uint32(1 + len(w.locals))
}

// place puts a section after what is there; one without bytes takes none.
func (w *writer) place(h header) {
	if h.table != nil {
		h.size = uint64(len(h.table))
	}
	h.offset = alignUp(w.size, h.align)
	w.size = h.offset
	if h.hasBytes() {
		w.size += h.size
	}
	w.headers = append(w.headers, h)
}

func (h *header) hasBytes() bool {
	return h.kind != elf64.NoBits && (h.mercury || !occupiesOnly(h.kind))
}

func (w *writer) linkAndInfo(s *section) (link, info uint32) {
	switch {
	case s.kind == cubin.SHT_CUDA_INFO || s.kind == cubin.SHT_CUDA_CALLGRAPH || s.kind == cubin.SHT_CUDA_PROTOTYPE ||
		s.kind == elf64.Rel || s.kind == elf64.Rela:
		link = layout.IndexSymtab
	case s.flags&elf64.Exec != 0:
		//rule: Code counts its registers in the section header.
		//mutate: s.registers|w.out.symbols.list[s.function].index -> w.out.symbols.list[s.function].index
		link, info = layout.IndexSymtab, s.registers|w.out.symbols.list[s.function].index
	case s == &w.out.sections.list[w.out.sections.archNote]:
		//rule: The note about the architecture refers to that about the tools.
		link = w.out.sections.list[w.out.sections.toolNote].place.index
	}
	if s.owner != noSection {
		info = w.out.sections.list[s.owner].place.index
	}
	return link, info
}

// layOutSegments makes the program headers, which come last.
func (w *writer) layOutSegments() {
	w.size = alignUp(w.size, 8)
	w.table = w.size
	if w.out.rules.options.Relocatable {
		w.size = w.programHeaders() // there are none
		return
	}
	offset := w.programHeaders()
	if w.out.rules.mercury {
		w.segments = layout.Runs(w.rows(), offset)
	} else {
		w.segments = layout.Segments(w.rows(), offset)
	}
	w.size = offset + uint64(len(w.segments))*elf64.SegmentSize
}

// rows are those of the section table.
func (w *writer) rows() []layout.Row {
	rows := make([]layout.Row, len(w.headers))
	for i := range w.headers {
		rows[i] = w.headers[i].row()
	}
	return rows
}

// programHeaders is where the program headers are: after the section table.
func (w *writer) programHeaders() uint64 {
	return w.table + uint64(len(w.headers))*elf64.SectionSize
}

// check refuses what the fields of the file have no room for, and an output
// that is out of proportion to the inputs.
func (w *writer) check() error {
	const (
		maxSections = 0xff00
		proportion  = 16
		smallFile   = 1 << 26
	)
	var inputs uint64
	for i := range w.out.sections.list {
		for _, p := range w.out.sections.list[i].pieces {
			inputs += uint64(len(p.data))
		}
	}
	for _, s := range w.mercuryBody {
		if w.sharesFile(s) && !sharesBytes(s) {
			return unsupported("", "variables in '%s' that Mercury code has other values of", s.name)
		}
	}
	switch {
	case len(w.headers) >= maxSections:
		return unsupported("", "files of %d sections", len(w.headers))
	case w.size > smallFile+proportion*inputs:
		return unsupported("", "a file of %d bytes made of %d", w.size, inputs)
	}
	return nil
}

// sharesBytes reports whether a section and its mirror hold the same.
func sharesBytes(s *section) bool {
	return s.size == s.mercury.size && slices.EqualFunc(s.pieces, s.mercury.pieces, func(a, b piece) bool {
		return a.offset == b.offset && bytes.Equal(a.data, b.data)
	})
}

// bytes writes the file.
func (w *writer) bytes() []byte {
	file := make([]byte, w.size)
	w.putHeader(file)
	for i, h := range w.headers {
		w.putSection(file, &h)
		h.put(file[w.table+uint64(i)*elf64.SectionSize:])
	}
	w.putSymbols(file[w.headers[layout.IndexSymtab].offset:])
	w.putMercury(file)
	for i := range w.segments {
		w.segments[i].Put(file[w.programHeaders()+uint64(i)*elf64.SegmentSize:])
	}
	return file
}

func (w *writer) putHeader(b []byte) {
	h := layout.Header{Type: elf64.Executable, Arch: w.out.rules.options.Arch.Number, Flags: w.out.rules.headerFlags,
		Note: w.out.sections.list[w.out.sections.archNote].place.index, Table: w.table, Segments: w.programHeaders(),
		Sections: len(w.headers), Programs: len(w.segments)}
	if w.out.rules.options.Relocatable {
		h.Type, h.Segments = elf64.Relocatable, 0
	}
	h.Put(b)
}

// putSection writes the contents of a section.
func (w *writer) putSection(file []byte, h *header) {
	if !h.hasBytes() || h.offset == 0 || h.mercury {
		return
	}
	b := file[h.offset : h.offset+h.size]
	copy(b, h.table)
	if h.source == nil {
		return
	}
	for _, p := range h.source.pieces {
		if w.passesThrough(h.source, &p) {
			w.out.passThrough = append(w.out.passThrough, PassThrough{int64(h.offset + p.offset), p.data})
			continue
		}
		copy(b[p.offset:], p.data)
	}
	for i := range h.source.edits.patches {
		h.source.edits.patches[i].apply(b)
	}
	w.putRelocations(b, h.source.edits.relocations, h.entry)
}

// passesThrough reports whether a piece is as large as the options say, and its bytes are
// those of the input.
func (w *writer) passesThrough(s *section, p *piece) bool {
	return w.out.rules.options.PassThroughSize > 0 && len(p.data) >= w.out.rules.options.PassThroughSize &&
		s.flags&elf64.Alloc != 0 && len(s.edits.patches) == 0 && !w.out.rules.mercury
}

func (w *writer) putRelocations(b []byte, list []relocation, size uint64) {
	for i := range list {
		r := &list[i]
		row := b[uint64(i)*size:]
		le.PutUint64(row, r.offset)
		le.PutUint32(row[8:], uint32(r.kind))
		le.PutUint32(row[12:], w.out.symbols.list[r.symbol].index)
		if !r.rel {
			le.PutUint64(row[16:], uint64(r.addend))
		}
	}
}

// row is the header as the section table has it.
func (h *header) row() layout.Row {
	return layout.Row{Name: h.name, Type: h.kind, Flags: h.flags, Offset: h.offset, Size: h.size,
		Link: h.link, Info: h.info, Align: h.align, Entry: h.entry}
}

func (h *header) put(b []byte) {
	row := h.row()
	row.Put(b)
}

// nullValue is the value of the null symbol, which stands in for those of constants
// that nvlink forgot the symbols of.
func (w *writer) nullValue() uint64 {
	if w.out.filter != nil && len(w.out.banks.packing.vectors) > 0 {
		//rule: The null symbol has a value if kernels may be removed.
		//mutate: w.out.banks.packing.last -> 0
		return w.out.banks.packing.last
	}
	return w.out.banks.lastDiscarded
}

func (w *writer) putSymbols(b []byte) {
	le.PutUint64(b[8:], w.nullValue())
	for _, id := range slices.Concat(w.locals, w.globals, w.lates) {
		y := &w.out.symbols.list[id]
		kind, other := y.kind, y.other
		//rule: With -r symbols keep their kinds.
		//mutate: true !w.out.rules.options.Relocatable
		if kind == cubin.STT_CUDA_OBJECT && !w.out.rules.options.Relocatable {
			//rule: Kinds of variables are not in executables.
			//mutate: other&otherKept -> other
			kind, other = elf64.Object, other&otherKept
		} else if kind == elf64.Object && w.out.rules.mercury {
			kind = cubin.STT_CUDA_OBJECT // reserved shared memory
		}
		row := b[y.index*elf64.SymbolSize:]
		le.PutUint32(row, w.strings.Offset[y.name])
		row[4], row[5] = byte(y.binding)<<4|byte(kind), other
		if y.defined() {
			le.PutUint16(row[6:], uint16(w.out.sections.list[y.section].place.index))
		}
		le.PutUint64(row[8:], y.value)
		le.PutUint64(row[16:], y.size)
	}
}

// fileType is the type of a section in the file: in executables there are none
// for the kinds of variables.
func (rules *ruleSet) fileType(t elf64.SectionType) elf64.SectionType {
	switch {
	case rules.options.Relocatable:
		return t
	case occupiesOnly(t):
		//rule: Sections without bytes are of one type in executables.
		//mutate: elf64.NoBits -> t
		return elf64.NoBits
	case t == cubin.SHT_CUDA_GLOBAL_INIT || cubin.IsConstantBank(t):
		//rule: Kinds of sections of variables are not in executables.
		//mutate: elf64.ProgBits -> t
		return elf64.ProgBits
	}
	return t
}
