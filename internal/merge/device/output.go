package device

import (
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// contents joins the pieces of a section.
func (s *section) contents() []byte {
	b := make([]byte, s.size)
	for _, p := range s.pieces {
		copy(b[p.offset:], p.data)
	}
	return b
}

// An output is the cubin being built. Its parts are tables that the passes work on; a
// pass takes those that it needs.
type output struct {
	rules      *ruleSet
	filter     *kernelFilter // which kernels are live, or nil for all
	symbols    *symbolTable
	sections   *sectionTable
	names      *nameTables
	calls      *callGraph
	attributes *attributeTable
	banks      *constantTable
	mercury    *mercuryTable
	notes      *noteTable
	report     *linkReport

	passThrough []PassThrough // of the file
}

// A symbolTable holds symbols in the order of their creation, which decides most other
// orders. A symbolID is an index.
type symbolTable struct {
	list     []symbol
	byName   map[string]symbolID // global and weak symbols
	shared   []symbolID          // shared variables, in the order in which they were met
	commons  []symbolID          // common variables, in the order in which they became that
	referred map[symbolID]bool   // shared variables that code refers to which is still there
	replaced int                 // weak functions that strong ones replaced
}

// A sectionTable holds sections in the order of their creation. A sectionID is an index.
// A section is created with its symbol and its names.
type sectionTable struct {
	list    []section
	byOwner map[sectionKey]sectionID
	symbols *symbolTable
	names   *nameTables

	info, compat, toolNote, archNote sectionID
	callGraph, prototypes            sectionID

	dedupedBytes uint64 // bytes of variables, see dedupSections
}

// nameTables are the names of sections and symbols, in the order of their creation.
type nameTables struct {
	rules             *ruleSet
	sections, symbols nameList
	// leavesShared: the names of sections of shared memory outlive their kernels.
	leavesShared bool
}

// A callGraph is who calls whom, and what follows from that.
type callGraph struct {
	prototypes prototypeTable
	graph      graph
	reached    reachability
	stacks     []depth // by node of the graph
}

// An attributeTable is what the attributes of inputs left to decide.
type attributeTable struct {
	arrivals int          // of lists of attributes
	features []featureSet // of the inputs
}

// A constantTable is where constants went.
type constantTable struct {
	packing       packing
	lastDiscarded uint64 // where the last constants went of a function that lost
}

// A mercuryTable is what the finalizer adds to the program.
type mercuryTable struct{ lateBanks []lateBank }

// A noteTable is what the notes of the output say.
type noteTable struct {
	records [][]byte // of the tools that made the inputs
	virtual int      // the lowest architecture that the sources of inputs were for
}

// A linkReport is what a link says beside the output.
type linkReport struct {
	messages message.List // warnings and errors
	removed  []Removal
}

// A sectionKey identifies a section: local functions of several inputs may
// have the same name, so that of the owner belongs to it.
type sectionKey struct {
	name  string
	owner sectionID
}

// A symbol is one of the output, or one that takes part in the link only.
type symbol struct {
	name    string
	binding elf64.Binding
	kind    elf64.SymbolType
	other   uint8
	section sectionID // noSection: undefined
	value   uint64
	size    uint64
	align   uint64 // of a shared or common variable
	global  bool   // stands among the global symbols, after the local and weak ones
	weak    bool   // the definition may be replaced
	late    bool   // stands after all others
	common  bool   // gets memory if no input defines it
	hidden  bool   // takes part in the link, but is in no table
	dead    bool
	// listedOwn: an input lists the function among its externals although it
	// defines it itself; such an entry outlives the link.
	listedOwn bool
	from      string // the input that messages name
	origin    string // the input that defines it
	function  *function
	shared    sharedPlace
	index     uint32 // in the output
}

// A sharedPlace is where a shared variable is.
type sharedPlace struct {
	placed  bool // it has its address
	address uint64
	// referred: code has a relocation on it, or had one before it was replaced.
	referred bool
}

// A function holds what is known of a symbol that is one.
type function struct {
	calls     []symbolID
	indirect  []prototypeID
	potential []symbolID
	takenAs   []prototypeID // prototypes under which its address is taken
	prototype prototypeID
	registers uint32
	frame     uint32
	info      sectionID // attributes
	shared    sectionID // of a kernel
	// mercurySize is the size of its Mercury code.
	mercurySize uint64
}

func (y *symbol) defined() bool { return y.section != noSection }

func (y *symbol) isKernel() bool {
	return y.kind == elf64.Function && y.other&cubin.STO_CUDA_ENTRY != 0 && y.defined() && !y.dead
}

func (y *symbol) isShared() bool {
	return y.kind == cubin.STT_CUDA_OBJECT && y.other&cubin.STO_CUDA_SHARED != 0
}

// A section of the output.
type section struct {
	name      string
	kind      elf64.SectionType
	flags     uint64
	align     uint64
	entry     uint64
	owner     sectionID // the text it belongs to, or what relocations are about
	function  symbolID  // whose it is
	symbol    symbolID
	registers uint32 // upper byte of a text's sh_info
	pieces    []piece
	size      uint64

	edits      sectionEdits
	attributes attributeList
	mercury    *mercurySection // of Mercury code

	removed bool   // with its function: even the name is gone
	dropped bool   // not written, but its name is
	dynamic uint64 // where dynamic shared memory starts
	late    bool   // comes last in the file
	bank    bankPlace
	place   filePlace
}

// sectionEdits are relocations, of a section of these, and changes of bytes.
type sectionEdits struct {
	relocations []relocation // in the order of the inputs; decideRelocations reverses them
	patches     []patch
	hasRelName  bool // the name for the other kind of relocations exists too
}

// A bankPlace is where constants of functions are.
type bankPlace struct {
	moved       uint64   // where those of a device function start in those of its kernels
	discardedAt []uint64 // where those of discarded functions are
}

// A filePlace is where a section is in the file.
type filePlace struct {
	index  uint32
	offset uint64
}

// A piece is a part of a section that comes from one place.
type piece struct {
	offset uint64
	data   []byte
}

func (s *section) live() bool { return !s.removed && !s.dropped }

// newOutput returns an output with the sections that every file has.
func newOutput(rules *ruleSet, filter *kernelFilter) *output {
	symbols := &symbolTable{byName: map[string]symbolID{}}
	names := &nameTables{rules: rules, leavesShared: filter != nil && filter.fromHost}
	sections := &sectionTable{byOwner: map[sectionKey]sectionID{}, symbols: symbols, names: names}
	for _, name := range []string{".shstrtab", ".strtab", ".symtab", ".symtab_shndx"} {
		names.sections.add(name)
		names.symbols.add(name)
	}
	sections.addNotes(rules)
	return &output{
		rules: rules, filter: filter, symbols: symbols, sections: sections, names: names,
		calls: &callGraph{}, attributes: &attributeTable{},
		banks:   &constantTable{packing: packing{vectors: map[string]bool{}}},
		mercury: &mercuryTable{},
		notes:   &noteTable{virtual: rules.options.Arch.Number},
		report:  &linkReport{},
	}
}

// addNotes adds the notes and the sections of attributes.
func (sections *sectionTable) addNotes(rules *ruleSet) {
	sections.toolNote = sections.newSection(section{name: ".note.nv.tkinfo", kind: elf64.Note,
		flags: cubin.SHF_NOTE_NV_TKINFO, align: 4, owner: noSection}, true)
	sections.archNote = sections.newSection(section{name: ".note.nv.cuinfo", kind: elf64.Note,
		flags: cubin.SHF_NOTE_NV_CUINFO, align: 4, owner: noSection}, true)
	sections.info = sections.newSection(section{name: ".nv.info", kind: cubin.SHT_CUDA_INFO, align: 4, owner: noSection},
		false)
	sections.compat = noSection
	if rules.compat {
		sections.compat = sections.newSection(section{name: ".nv.compat", kind: cubin.SHT_CUDA_COMPAT_INFO, align: 4,
			owner: noSection}, false)
		//rule: Every program for sm_90 records whether it is for that alone.
		//mutate: []attribute{{form: cubin.EIFMT_BVAL, id: compatSpecific}} -> nil
		sections.list[sections.compat].attributes.added = []attribute{{form: cubin.EIFMT_BVAL, id: compatSpecific}}
		if rules.accelerated {
			sections.list[sections.compat].attributes.added[0].value = 1
		}
		note := &sections.list[sections.archNote]
		note.flags |= elf64.InfoLink
		//rule: The program for sm_90 knows the note about its architecture by what it demands.
		note.owner = sections.compat
	}
}

// newSection adds a section and, if it is to have one, the symbol of the
// section.
func (sections *sectionTable) newSection(s section, withSymbol bool) sectionID {
	id := sectionID(len(sections.list))
	s.function, s.symbol = noSymbol, noSymbol
	if s.owner != noSection {
		s.function = sections.list[s.owner].function
	}
	sections.names.nameSection(&s, id)
	if withSymbol {
		s.symbol = sections.symbols.newSymbol(symbol{name: s.name, kind: elf64.SectionSymbol, section: id})
	}
	sections.list = append(sections.list, s)
	sections.byOwner[sectionKey{s.name, s.owner}] = id
	return id
}

func (symbols *symbolTable) newSymbol(y symbol) symbolID {
	symbols.list = append(symbols.list, y)
	return symbolID(len(symbols.list) - 1)
}

// nameSection enters the names that come with a section.
func (names *nameTables) nameSection(s *section, id sectionID) {
	//rule: Host references leave the names of shared memory behind.
	//mutate: false
	if names.leavesShared && s.kind == cubin.SHT_CUDA_SHARED && s.owner != noSection {
		// Removal by host references leaves this name behind.
		names.sections.add(s.name)
		names.symbols.add(s.name)
	}
	names.sections.addSection(s.name, id)
	if s.kind == cubin.SHT_CUDA_CONSTANT_B0 && names.rules.mercury {
		return // the finalizer names it last
	}
	if names.rules.mercury {
		name := cubin.MercuryName(s.name)
		names.sections[len(names.sections)-1].room = len(name)
		names.symbols.addSection(name, id)
		return
	}
	//rule: With -r there are no names for relocations of bank 0.
	//mutate: true !names.rules.options.Relocatable
	if s.kind == cubin.SHT_CUDA_CONSTANT_B0 && s.owner != noSection && !names.rules.options.Relocatable {
		// Bank 0 of a kernel comes with a name for relocations that it never has.
		//rule: Bank 0 comes with a name for relocations.
		names.sections.addSection(".rel"+s.name, id)
		names.symbols.addSection(".rel"+s.name, id)
	}
	names.symbols.addSection(s.name, id)
}

// newLocal adds a symbol that is local or weak; its name comes at this place.
func newLocal(symbols *symbolTable, names *nameTables, y symbol) symbolID {
	id := symbols.newSymbol(y)
	names.symbols.addSymbol(y.name, id)
	return id
}

// findOrNew gives the section of the same name and owner, and makes it if it
// does not exist.
func (sections *sectionTable) findOrNew(s section, withSymbol bool) sectionID {
	if id, ok := sections.byOwner[sectionKey{s.name, s.owner}]; ok {
		return id
	}
	return sections.newSection(s, withSymbol)
}

// tableOrder calls do with the symbols as the output orders them: local and
// weak ones, then the global ones.
func (symbols *symbolTable) tableOrder(do func(id symbolID, y *symbol)) {
	for _, global := range []bool{false, true} {
		for id := range symbols.list {
			if y := &symbols.list[id]; y.global == global {
				do(symbolID(id), y)
			}
		}
	}
}

func (s *section) setData(data []byte) {
	s.pieces, s.size = []piece{{data: data}}, uint64(len(data))
}
