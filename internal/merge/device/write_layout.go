package device

import (
	"bytes"
	"slices"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

const (
	segmentLoad    = 1
	segmentHeaders = 6
	segmentRead    = 4
	segmentExec    = 5
	segmentWrite   = 6
)

// layOut gives every section its place in the file: tables, sections, section
// table, program headers.
func (w *writer) layOut() {
	w.size = elf64.HeaderSize
	w.headers = make([]header, 1, 1+firstIndex+len(w.body)+len(w.mercuryBody))
	mercuryNames := w.nameMercury()
	w.place(header{name: w.names.offset[".shstrtab"], kind: elf64.Strtab, align: 1, table: w.names.data})
	if w.out.rules.mercury {
		w.size += afterNames
	}
	w.place(header{name: w.names.offset[".strtab"], kind: elf64.Strtab, align: 1, table: w.strings.data})
	w.size += w.afterStrings()
	w.place(header{name: w.names.offset[".symtab"], kind: elf64.Symtab, align: 8, entry: elf64.SymbolSize,
		link: indexStrtab,
		info: w.firstGlobal(), size: uint64(1+len(w.locals)+len(w.globals)+len(w.lates)) * elf64.SymbolSize})
	for _, s := range w.body {
		h := header{name: w.names.offset[s.name], kind: w.out.rules.fileType(s.kind), flags: s.flags, align: s.align,
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
		link = indexSymtab
	case s.flags&elf64.Exec != 0:
		//rule: Code counts its registers in the section header.
		//mutate: s.registers|w.out.symbols.list[s.function].index -> w.out.symbols.list[s.function].index
		link, info = indexSymtab, s.registers|w.out.symbols.list[s.function].index
	case s == &w.out.sections.list[w.out.sections.archNote]:
		//rule: The note about the architecture refers to that about the tools.
		link = w.out.sections.list[w.out.sections.toolNote].place.index
	}
	if s.owner != noSection {
		info = w.out.sections.list[s.owner].place.index
	}
	return link, info
}

// layOutSegments makes the program headers, which come last: one segment for
// constants and code, one for variables, and one for the headers themselves.
func (w *writer) layOutSegments() {
	w.size = alignUp(w.size, 8)
	w.table = w.size
	switch {
	case w.out.rules.options.Relocatable:
		w.size = w.programHeaders() // there are none
		return
	case w.out.rules.mercury:
		w.layOutRuns()
		return
	}
	var code, data []header
	for _, h := range w.headers {
		switch {
		//rule: Code comes with one segment, variables with another.
		//mutate: false
		case h.flags&elf64.Write != 0 && h.source != nil:
			data = append(data, h)
		case h.flags&elf64.Alloc != 0:
			code = append(code, h)
		}
	}
	if len(code) > 0 {
		w.segments = append(w.segments, segmentOf(code, segmentExec))
	}
	if len(data) > 0 {
		w.segments = append(w.segments, segmentOf(data, segmentWrite))
	}
	offset := w.programHeaders()
	size := uint64(len(w.segments)+2) * elf64.SegmentSize
	w.segments = slices.Insert(w.segments, 0, segment{segmentHeaders, segmentExec, offset, size, size})
	w.segments = append(w.segments, segment{segmentLoad, segmentExec, offset, size, size})
	w.size = offset + size
}

// programHeaders is where the program headers are: after the section table.
func (w *writer) programHeaders() uint64 {
	return w.table + uint64(len(w.headers))*elf64.SectionSize
}

// segmentOf covers sections that follow each other. In the file it ends where
// the last section without bytes is, in memory those come after.
func segmentOf(list []header, flags uint32) segment {
	last := &list[len(list)-1]
	end := last.offset + last.size
	if last.kind == elf64.NoBits {
		//rule: The segment of variables ends in the file at the last section without bytes.
		//mutate: last.offset -> last.offset + last.size
		end = last.offset
	}
	memory := end
	for i := range list {
		if h := &list[i]; h.kind == elf64.NoBits {
			//rule: Memory of sections without bytes comes after those with.
			//mutate: alignUp(memory, h.align) -> memory
			memory = alignUp(memory, h.align) + h.size
		}
	}
	start := list[0].offset
	return segment{segmentLoad, flags, start, end - start, memory - start}
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
	w.putSymbols(file[w.headers[indexSymtab].offset:])
	w.putMercury(file)
	for i := range w.segments {
		w.segments[i].put(file[w.programHeaders()+uint64(i)*elf64.SegmentSize:])
	}
	return file
}

func (w *writer) putHeader(b []byte) {
	const (
		abi        = 0x41
		abiVersion = 8
	)
	copy(b, []byte{0x7f, 'E', 'L', 'F', 2, 1, 1, abi, abiVersion})
	kind, segments := elf64.Executable, w.programHeaders()
	if w.out.rules.options.Relocatable {
		kind, segments = elf64.Relocatable, 0
	}
	le.PutUint16(b[16:], uint16(kind))
	le.PutUint16(b[18:], uint16(elf64.CUDA))
	le.PutUint32(b[20:], 1)
	le.PutUint64(b[32:], segments)
	le.PutUint64(b[40:], w.table)
	//rule: The flags of the file have the index of the note about the architecture.
	//mutate: 0xff -> 0
	// with more sections before it, readers have to search
	note := min(w.out.sections.list[w.out.sections.archNote].place.index, 0xff)
	le.PutUint32(b[48:], note<<24|uint32(w.out.rules.options.Arch.Number)<<8|w.out.rules.headerFlags)
	le.PutUint16(b[52:], elf64.HeaderSize)
	le.PutUint16(b[54:], elf64.SegmentSize)
	le.PutUint16(b[56:], uint16(len(w.segments)))
	le.PutUint16(b[58:], elf64.SectionSize)
	le.PutUint16(b[60:], uint16(len(w.headers)))
	le.PutUint16(b[62:], indexShstrtab)
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

func (h *header) put(b []byte) {
	le.PutUint32(b, h.name)
	le.PutUint32(b[4:], uint32(h.kind))
	le.PutUint64(b[8:], h.flags)
	le.PutUint64(b[24:], h.offset)
	le.PutUint64(b[32:], h.size)
	le.PutUint32(b[40:], h.link)
	le.PutUint32(b[44:], h.info)
	le.PutUint64(b[48:], h.align)
	le.PutUint64(b[56:], h.entry)
}

func (s *segment) put(b []byte) {
	le.PutUint32(b, s.kind)
	le.PutUint32(b[4:], s.flags)
	le.PutUint64(b[8:], s.offset)
	le.PutUint64(b[32:], s.fileSize)
	le.PutUint64(b[40:], s.memSize)
	le.PutUint64(b[48:], 8)
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
		le.PutUint32(row, w.strings.offset[y.name])
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
