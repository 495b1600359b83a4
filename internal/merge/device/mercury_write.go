package device

import (
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/cubin/layout"
	"github.com/warpld/warpld/internal/object/elf64"
)

// orderMercury finds the sections whose mirrors are written, in their order:
// code, debug information, attributes, relocations, variables.
func (w *writer) orderMercury() {
	if !w.out.rules.mercury {
		return
	}
	for _, class := range []func(*section) bool{
		func(s *section) bool { return s.flags&elf64.Exec != 0 },
		func(s *section) bool { return isDebug(s.name) },
		func(s *section) bool {
			return s.kind == cubin.SHT_CUDA_INFO && (s.owner == noSection ||
				len(s.mercuryPart().attributes.rows)+len(s.mercuryPart().attributes.added) > 0)
		},
		w.hasMercuryCalls,
		func(s *section) bool { return s.kind == elf64.Rela && len(s.mercuryPart().relocations) > 0 },
		func(s *section) bool { return cubin.IsConstantBank(s.kind) },
		func(s *section) bool { return s.kind == cubin.SHT_CUDA_GLOBAL_INIT },
		func(s *section) bool { return s.kind == cubin.SHT_CUDA_RESERVED_SHARED },
	} {
		for _, s := range w.body {
			if class(s) && (s.mercury != nil || s.kind == cubin.SHT_CUDA_INFO || w.hasMercuryCalls(s)) {
				s.mercuryPart().index = uint32(layout.FirstIndex + len(w.body) + len(w.mercuryBody))
				w.mercuryBody = append(w.mercuryBody, s)
			}
		}
	}
}

// hasMercuryCalls reports whether a section is one of the call graph, which have
// mirrors since 13.4.
func (w *writer) hasMercuryCalls(s *section) bool {
	return w.out.rules.merge.MercuryCallGraph && (s.kind == cubin.SHT_CUDA_CALLGRAPH ||
		s.kind == cubin.SHT_CUDA_PROTOTYPE)
}

// nameMercury adds the names of the mirrors to .shstrtab, where they are not
// shared, and gives their places; the last one is that of the symbols.
func (w *writer) nameMercury() []uint32 {
	if !w.out.rules.mercury {
		return nil
	}
	w.firstNames = uint64(len(w.names.Data))
	var at []uint32
	add := func(name string) { at = append(at, w.names.AddUnshared(name)) }
	for _, s := range w.mercuryBody {
		if s.flags&elf64.Exec != 0 {
			add(cubin.CapsulePrefix + s.name)
		} else {
			add(cubin.MercuryPrefix + cubin.MercuryName(s.name))
		}
	}
	add(cubin.MercurySymbols)
	return at
}

// sharesFile reports whether a mirror has no bytes of its own in the file: the
// values of variables are the same in both programs.
func (w *writer) sharesFile(s *section) bool {
	//rule: The values of constants are in the file once.
	//mutate: false s.kind == cubin.SHT_CUDA_CONSTANT_B0+3
	return s.kind == cubin.SHT_CUDA_GLOBAL_INIT || s.kind == cubin.SHT_CUDA_CONSTANT_B0+3 || s.name == ".debug_str" ||
		strings.HasPrefix(s.name, sourceText)
}

// afterStrings is how many bytes nvlink leaves unused after .strtab: where a
// section has another name in Mercury code, it has room for that one again, and
// not for the zero after it.
func (w *writer) afterStrings() (unused uint64) {
	if !w.out.rules.mercury {
		return 0
	}
	for _, s := range w.body {
		name := cubin.MercuryName(s.name)
		if name == s.name {
			continue
		}
		//rule: There is room after .strtab for what has another name in Mercury code.
		//mutate: name -> s.name
		unused += uint64(len(name))
		if s.symbol != noSymbol {
			unused -= uint64(len(s.name) + 1)
		}
	}
	return unused
}

// layOutMercury places the mirrors after the sections.
func (w *writer) layOutMercury(names []uint32) {
	if !w.out.rules.mercury {
		return
	}
	table := uint32(layout.FirstIndex + len(w.body) + len(w.mercuryBody))
	for i, s := range w.mercuryBody {
		m := s.mercury
		h := header{name: names[i], kind: m.kind, flags: m.flags, align: m.align, size: m.size, source: s, mercury: true}
		owner := uint32(0)
		if s.owner != noSection && w.out.sections.list[s.owner].mercury != nil {
			owner = w.out.sections.list[s.owner].mercury.index
		}
		switch {
		case s.flags&elf64.Exec != 0:
			h.link, h.info = table, w.out.symbols.list[s.function].index
		case s.kind == cubin.SHT_CUDA_INFO:
			m.attributes.inFileOrder(func(x *attribute) { h.size += x.length() })
			h.kind, h.flags, h.align, h.link, h.info = cubin.SHT_MERCURY_INFO, s.flags|cubin.SHF_MERCURY, 4, table, owner
		case s.kind == cubin.SHT_CUDA_CALLGRAPH || s.kind == cubin.SHT_CUDA_PROTOTYPE:
			h.kind, h.flags, h.align, h.entry, h.link, h.size = s.kind-cubin.SHT_CUDA_CALLGRAPH+cubin.SHT_MERCURY_CALLGRAPH,
				cubin.SHF_MERCURY, 4, 8, table, s.size
		case s.kind == elf64.Rela:
			h.kind, h.flags, h.align, h.entry, h.link, h.info = cubin.SHT_MERCURY_RELA, s.flags|cubin.SHF_MERCURY, 8,
				elf64.RelaSize, table, owner
		case w.sharesFile(s) || m.size == 0:
			h.offset = s.place.offset
			w.headers = append(w.headers, h)
			continue
		}
		w.place(h)
	}
	w.place(header{name: names[len(names)-1], kind: cubin.SHT_MERCURY_SYMTAB, flags: cubin.SHF_MERCURY, align: 8,
		entry: elf64.SymbolSize, link: layout.IndexStrtab, info: uint32(1 + len(w.locals)),
		size: uint64(1+len(w.locals)+len(w.globals)) * elf64.SymbolSize, mercury: true})
}

// putMercury writes the contents of the mirrors.
func (w *writer) putMercury(file []byte) {
	for _, h := range w.headers {
		if !h.mercury {
			continue
		}
		b := file[h.offset : h.offset+h.size]
		if h.source == nil {
			w.putMercurySymbols(b)
			continue
		}
		s, m := h.source, h.source.mercury
		for _, p := range m.pieces {
			copy(b[p.offset:], p.data)
		}
		for i := range m.patches {
			m.patches[i].apply(b)
		}
		switch {
		case s.flags&elf64.Exec != 0:
			le.PutUint32(b, s.place.index) // the first word of a capsule is the section of the instructions
		case s.kind == cubin.SHT_CUDA_INFO:
			rows := b[:0]
			m.attributes.inFileOrder(func(x *attribute) { rows = x.appendTo(rows, w.out.symbols.list) })
		case w.hasMercuryCalls(s):
			copy(b, s.contents())
		case s.kind == cubin.SHT_CUDA_RESERVED_SHARED:
			w.putReserved(b)
		case s.kind == elf64.Rela:
			w.putRelocations(b, m.relocations, elf64.RelaSize)
		}
	}
}

// putReserved writes what nvlink puts into the shared memory of the system, which
// means nothing: the first two rows of the section table before the finalizer.
func (w *writer) putReserved(b []byte) {
	h := w.headers[layout.IndexShstrtab]
	h.size = w.firstNames
	for _, n := range w.out.names.sections {
		if n.section != noSection && w.out.sections.list[n.section].late {
			h.size = uint64(w.names.Offset[n.name])
			break
		}
	}
	h.put(b[elf64.SectionSize:])
}

// putMercurySymbols writes the symbols as they were in relocatable code, with
// the sections of the second program.
func (w *writer) putMercurySymbols(b []byte) {
	le.PutUint64(b[8:], w.nullValue())
	for _, id := range slices.Concat(w.locals, w.globals) {
		y := &w.out.symbols.list[id]
		kind, value, size := y.kind, y.value, y.size
		if isReservedName(y.name) {
			kind, value = cubin.STT_CUDA_OBJECT, 0
		}
		if y.other == cubin.STO_CUDA_RESERVED_SHARED {
			value = 0
		}
		if y.function != nil && y.defined() {
			size = y.function.mercurySize
		}
		row := b[y.index*elf64.SymbolSize:]
		name := y.name
		if kind == elf64.SectionSymbol {
			name = cubin.MercuryName(name)
		}
		le.PutUint32(row, w.strings.Offset[name])
		row[4], row[5] = byte(y.binding)<<4|byte(kind), y.other
		if y.defined() {
			s := &w.out.sections.list[y.section]
			index := s.place.index
			if s.mercury != nil && s.mercury.index != 0 {
				index = s.mercury.index
			}
			le.PutUint16(row[6:], uint16(index))
		}
		le.PutUint64(row[8:], value)
		le.PutUint64(row[16:], size)
	}
}
