package device

import (
	"slices"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/cubin/layout"
	"github.com/warpld/warpld/internal/object/elf64"
)

// classOf orders the sections in the file; those of a class stay in the order
// of their creation.
func classOf(s *section) int {
	switch {
	case isDebug(s.name):
		//rule: Debug information comes first.
		//mutate: 0 -> 14
		return 0
	case s.kind == elf64.Note:
		return 1
	case s.kind == cubin.SHT_CUDA_INFO && s.owner == noSection:
		return 2
	case s.kind == cubin.SHT_CUDA_COMPAT_INFO:
		return 3
	case s.kind == cubin.SHT_CUDA_INFO:
		//rule: Attributes of functions come before the call graph.
		//mutate: 4 -> 6
		return 4
	case s.kind == cubin.SHT_CUDA_CALLGRAPH:
		return 5
	case s.kind == cubin.SHT_CUDA_PROTOTYPE:
		return 6
	case s.kind == cubin.SHT_CUDA_RELOCINFO:
		return 7
	case s.kind == elf64.Rel || s.kind == elf64.Rela:
		//rule: Relocations come before constants.
		//mutate: 8 -> 10
		return 8
	case s.late:
		return 13
	case cubin.IsConstantBank(s.kind):
		//rule: Constants come before code.
		//mutate: 9 -> 11
		return 9
	case s.flags&elf64.Exec != 0:
		return 10
	case s.kind == cubin.SHT_CUDA_GLOBAL_INIT:
		//rule: Variables with values come after code.
		//mutate: 11 -> 9
		return 11
	}
	return 12 // without bytes
}

// A writer makes the file.
type writer struct {
	out         *output
	body        []*section // what follows the tables, in the order of the file
	locals      []symbolID
	globals     []symbolID
	lates       []symbolID      // after all others
	mercuryBody []*section      // whose mirrors follow the body
	names       *layout.Strings // of sections
	// firstNames is the size of the names without those of mirrors.
	firstNames uint64
	strings    *layout.Strings // of symbols and prototypes
	headers    []header        // the section table
	segments   []layout.Segment
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
		if s.symbol != noSymbol && (s.dropped || (s.empty() && !filledLater)) {
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
		s.place.index = uint32(layout.FirstIndex + i)
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
		case w.out.rules.options.Relocatable || (!isUnifiedTable(y.name) && (!y.isShared() || w.out.rules.options.Debug)):
			w.globals = append(w.globals, id)
		}
	})
	for i, id := range slices.Concat(w.locals, w.globals, w.lates) {
		w.out.symbols.list[id].index = uint32(1 + i)
	}
}

func (w *writer) nameSections() {
	w.names = layout.NewStrings()
	for _, n := range w.out.names.sections {
		if remains(w.out.symbols, w.out.sections, n) {
			w.names.AddWithRoom(n.name, n.room)
		}
	}
}

// nameSymbols makes .strtab: prototypes, names as they were met, names of the
// global symbols. The unified tables are named, though not written.
func (w *writer) nameSymbols() {
	w.strings = layout.NewStrings()
	//rule: Prototypes are the first names.
	for _, name := range w.out.calls.prototypes.names {
		w.strings.Add(name)
	}
	for _, n := range w.out.names.symbols {
		if remains(w.out.symbols, w.out.sections, n) {
			w.strings.Add(n.name)
		}
	}
	//rule: Names of global symbols come last.
	//mutate: w.out.symbols.list -> slices.Backward(w.out.symbols.list)
	for id := range w.out.symbols.list {
		if y := &w.out.symbols.list[id]; y.global && w.written(y) && (w.out.rules.options.Relocatable ||
			w.out.rules.options.Debug || !y.isShared()) {
			w.strings.Add(y.name)
		}
	}
	for _, id := range w.locals { // the names there of what has two
		if y := &w.out.symbols.list[id]; y.kind == elf64.SectionSymbol {
			w.strings.Add(y.name)
		}
	}
	for _, id := range w.lates {
		w.strings.Add(w.out.symbols.list[id].name)
	}
}
