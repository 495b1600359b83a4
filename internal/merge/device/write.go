package device

import (
	"slices"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// Sections that come first in every file.
const (
	indexShstrtab = 1
	indexStrtab   = 2
	indexSymtab   = 3
	firstIndex    = 4
)

// A writer makes the file.
type writer struct {
	out         *output
	body        []*section // what follows the tables, in the order of the file
	locals      []symbolID
	globals     []symbolID
	lates       []symbolID   // after all others
	mercuryBody []*section   // whose mirrors follow the body
	names       *stringTable // of sections
	// firstNames is the size of the names without those of mirrors.
	firstNames uint64
	strings    *stringTable // of symbols and prototypes
	headers    []header     // the section table
	segments   []segment
	size       uint64 // of the file
	table      uint64 // where the section table is
}

// A header is a row of the section table.
type header struct {
	name         uint32
	kind         elf64.SectionType
	flags        uint64
	offset, size uint64
	link, info   uint32
	align, entry uint64
	source       *section
	mercury      bool   // of source
	table        []byte // contents of the tables
}

// A segment is a row of the program header table.
type segment struct {
	kind, flags       uint32
	offset            uint64
	fileSize, memSize uint64
}

func write(out *output) ([]byte, error) {
	w := &writer{out: out}
	w.fillNotes()
	prototypes := w.listPrototypes()
	w.dropEmpty(len(prototypes))
	w.orderSections()
	w.orderMercury()
	w.orderSymbols()
	w.nameSections()
	w.nameSymbols()
	w.fillCallGraph()
	w.fillPrototypes(prototypes)
	w.fillAttributes()
	w.layOut()
	if err := w.check(); err != nil {
		return nil, err
	}
	return w.bytes(), nil
}

// dropEmpty leaves out sections that have nothing to say.
func (w *writer) dropEmpty(prototypes int) {
	for i := range w.out.sections.list {
		s := &w.out.sections.list[i]
		if !s.live() {
			continue
		}
		switch {
		case s.kind == cubin.SHT_CUDA_PROTOTYPE:
			//rule: Prototypes without rows are not written.
			//mutate: false
			s.dropped = prototypes == 0
		case s.kind == cubin.SHT_CUDA_INFO:
			//rule: Attributes without rows are not written.
			s.dropped = true
			s.attributes.inFileOrder(func(*attribute) { s.dropped = false })
		}
		filledLater := s.kind == cubin.SHT_CUDA_CALLGRAPH || s.kind == cubin.SHT_CUDA_PROTOTYPE
		//rule: Symbols of empty sections are not written.
		//mutate: false s.empty() && !filledLater
		if s.symbol != noSymbol && (s.dropped || s.empty() && !filledLater) {
			w.out.symbols.list[s.symbol].dead = true
		}
	}
}

// empty reports whether a section never had bytes. The finalizer may have
// taken all of them away, which is not the same.
func (s *section) empty() bool { return s.size == 0 && (s.mercury == nil || s.mercury.size == 0) }

func (w *writer) orderSections() {
	for i := range w.out.sections.list {
		if s := &w.out.sections.list[i]; s.live() {
			w.body = append(w.body, s)
		}
	}
	slices.SortStableFunc(w.body, func(a, b *section) int { return classOf(a) - classOf(b) })
	for i, s := range w.body {
		s.index = uint32(firstIndex + i)
	}
}

// written reports whether a symbol is in the table.
func (w *writer) written(y *symbol) bool {
	return !y.dead && !y.hidden && !(y.defined() && !w.out.sections.list[y.section].live())
}

func (w *writer) orderSymbols() {
	w.out.symbols.tableOrder(func(id symbolID, y *symbol) {
		switch {
		case !w.written(y):
		case y.late:
			w.lates = append(w.lates, id)
		case !y.global:
			w.locals = append(w.locals, id)
		//rule: Unified tables are named, but not written.
		//mutate: true !isUnifiedTable(y.name)
		//rule: With -r shared variables are written.
		//mutate: false w.out.rules.options.Relocatable
		case w.out.rules.options.Relocatable || !isUnifiedTable(y.name) && (!y.isShared() || w.out.rules.options.Debug):
			w.globals = append(w.globals, id)
		}
	})
	for i, id := range slices.Concat(w.locals, w.globals, w.lates) {
		w.out.symbols.list[id].index = uint32(1 + i)
	}
}

func (w *writer) nameSections() {
	w.names = newStringTable()
	for _, n := range w.out.names.sections {
		if remains(w.out.symbols, w.out.sections, n) {
			w.names.addWithRoom(n.name, n.room)
		}
	}
}

// nameSymbols makes .strtab: prototypes, names as they were met, names of the
// global symbols. The unified tables are named, though not written.
func (w *writer) nameSymbols() {
	w.strings = newStringTable()
	//rule: Prototypes are the first names.
	for _, name := range w.out.calls.prototypes.names {
		w.strings.add(name)
	}
	for _, n := range w.out.names.symbols {
		if remains(w.out.symbols, w.out.sections, n) {
			w.strings.add(n.name)
		}
	}
	//rule: Names of global symbols come last.
	//mutate: w.out.symbols.list -> slices.Backward(w.out.symbols.list)
	for id := range w.out.symbols.list {
		if y := &w.out.symbols.list[id]; y.global && w.written(y) && (w.out.rules.options.Relocatable || w.out.rules.options.Debug || !y.isShared()) {
			w.strings.add(y.name)
		}
	}
	for _, id := range w.locals { // the names there of what has two
		if y := &w.out.symbols.list[id]; y.kind == elf64.SectionSymbol {
			w.strings.add(y.name)
		}
	}
	for _, id := range w.lates {
		w.strings.add(w.out.symbols.list[id].name)
	}
}

// fillNotes makes the notes: the records of this link and of the tools before
// it, and what the output is for.
func (w *writer) fillNotes() {
	const (
		toolType = 2000
		archType = 1000
	)
	r := &w.out.rules.options.Record
	var desc, text []byte
	desc = le.AppendUint32(desc, 2) // version of the record
	for _, s := range []string{r.Output, r.Name, r.Version, r.Build, r.Options} {
		desc = le.AppendUint32(desc, uint32(len(text)))
		text = append(append(text, s...), 0)
	}
	desc = append(desc, text...)
	for len(desc)%4 != 0 {
		desc = append(desc, 0)
	}
	tools := &w.out.sections.list[w.out.sections.toolNote]
	tools.setData(noteRecord(toolType, desc))
	for _, record := range w.out.notes.records {
		tools.pieces = append(tools.pieces, piece{tools.size, record})
		tools.size += uint64(len(record))
	}
	desc = le.AppendUint16(nil, 2)
	desc = le.AppendUint16(desc, uint16(w.out.notes.virtual))
	desc = le.AppendUint32(desc, uint32(w.out.rules.options.Release.Number()))
	w.out.sections.list[w.out.sections.archNote].setData(noteRecord(archType, desc))
}

func noteRecord(kind uint32, desc []byte) []byte {
	const vendor = "NVIDIA Corp\x00"
	b := le.AppendUint32(nil, uint32(len(vendor)))
	b = le.AppendUint32(b, uint32(len(desc)))
	b = le.AppendUint32(b, kind)
	return append(append(b, vendor...), desc...)
}

// fillCallGraph writes the groups; rows by the age of the function, and those
// of a function the newest first.
func (w *writer) fillCallGraph() {
	var b []byte
	row := func(first, second uint32) { b = le.AppendUint32(le.AppendUint32(b, first), second) }
	group := func(number int32, rows func(y *symbol)) {
		row(0, uint32(number))
		for id := range w.out.symbols.list {
			if y := &w.out.symbols.list[id]; y.function != nil && !y.dead {
				rows(y)
			}
		}
	}
	group(groupCalls, func(y *symbol) {
		//rule: Rows of the call graph: the newest first.
		//mutate: forward
		for _, callee := range slices.Backward(y.function.calls) {
			//rule: Calls of removed functions are not in the call graph.
			//mutate: true
			if !w.out.symbols.list[callee].dead {
				row(y.index, w.out.symbols.list[callee].index)
			}
		}
	})
	group(groupTaken, func(y *symbol) {
		for _, p := range y.function.takenAs {
			row(y.index, w.strings.offset[w.out.calls.prototypes.names[p]])
		}
	})
	group(groupIndirect, func(y *symbol) {
		//rule: Indirect calls: the newest first.
		//mutate: forward
		for _, p := range slices.Backward(y.function.indirect) {
			row(y.index, w.strings.offset[w.out.calls.prototypes.names[p]])
		}
	})
	group(groupPotential, func(y *symbol) {
		//rule: Potential calls are kept.
		//mutate: slices.Backward(y.function.potential) -> y.function.potential[:0]
		for _, callee := range slices.Backward(y.function.potential) {
			if !w.out.symbols.list[callee].dead {
				row(y.index, w.out.symbols.list[callee].index)
			}
		}
	})
	w.out.sections.list[w.out.sections.callGraph].setData(b)
}

// listPrototypes are the functions with a row in .nv.prototype; those whose
// address is taken have one in the call graph instead.
func (w *writer) listPrototypes() []symbolID {
	var list []symbolID
	for id := range w.out.symbols.list {
		y := &w.out.symbols.list[id]
		//rule: Functions whose address is taken have no row of prototypes.
		//mutate: true len(f.takenAs) == 0
		if f := y.function; f != nil && !y.dead && f.prototype != noPrototype && len(f.takenAs) == 0 {
			list = append(list, symbolID(id))
		}
	}
	return list
}

func (w *writer) fillPrototypes(list []symbolID) {
	var b []byte
	for _, id := range list {
		y := &w.out.symbols.list[id]
		b = le.AppendUint32(b, y.index)
		b = le.AppendUint32(b, w.strings.offset[w.out.calls.prototypes.names[y.function.prototype]])
	}
	w.out.sections.list[w.out.sections.prototypes].setData(b)
}

func (w *writer) fillAttributes() {
	for _, s := range w.body {
		if s.kind != cubin.SHT_CUDA_INFO && s.kind != cubin.SHT_CUDA_COMPAT_INFO {
			continue
		}
		var b []byte
		s.attributes.inFileOrder(func(x *attribute) { b = x.appendTo(b, w.out.symbols.list) })
		s.setData(b)
	}
}
