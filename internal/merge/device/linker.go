package device

import (
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/elf64"
)

// A linker is the growing output.
type linker struct {
	rules *ruleSet
	// keep decides which kernels are live; nil: all.
	keep *kernelFilter

	// Symbols and sections in the order of their creation, which decides most
	// other orders. A symbolID or sectionID is an index.
	symbols  []symbol
	sections []section
	byName   map[string]symbolID // global and weak symbols
	byOwner  map[sectionKey]sectionID

	shstrtab, strtab nameList
	prototypes       prototypeTable
	shared           []symbolID        // shared variables, in the order in which they were met
	commons          []symbolID        // common variables, in the order in which they became that
	referred         map[symbolID]bool // shared variables that code refers to which is still there
	replaced         int               // weak functions that strong ones replaced
	arrivals         int               // of lists of attributes
	packing          packing           // of constants
	lastLost         uint64            // where the last constants went of a function that lost
	records          [][]byte          // of the tools that made the inputs
	virtual          int               // the lowest architecture that the sources of inputs were for

	info, compat, toolNote, archNote sectionID
	callGraph, prototypeSection      sectionID
	graph                            graph
	reached                          reachability
	features                         []featureSet // of the inputs
	lateBanks                        []lateBank
	stacks                           []depth // by node of the graph

	apart    []Span       // of the output
	saved    uint64       // bytes of variables, see cutDuplicates
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
	placed  bool   // a shared variable has its address
	address uint64
	global  bool // stands among the global symbols, after the local and weak ones
	weak    bool // the definition may be replaced
	late    bool // stands after all others
	common  bool // gets memory if no input defines it
	hidden  bool // takes part in the link, but is in no table
	dead    bool
	// referred: code has a relocation on it, or had one before it was replaced.
	referred bool
	// listedOwn: an input lists the function among its externals although it
	// defines it itself; such an entry outlives the link.
	listedOwn bool
	from      string // the input that messages name
	origin    string // the input that defines it
	function  *function
	index     uint32 // in the output
	// mirrorSize is that of a function's Mercury code.
	mirrorSize uint64
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
}

func (y *symbol) defined() bool { return y.section != noSection }

func (y *symbol) isKernel() bool {
	return y.kind == elf64.Function && y.other&otherKernel != 0 && y.defined() && !y.dead
}

func (y *symbol) isShared() bool { return y.kind == typeData && y.other&otherShared != 0 }

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

	relocations []relocation // in the order of the inputs; decideRelocations reverses them
	patches     []patch
	second      bool // the name for the other kind of relocations exists too
	attributes  attributeList

	mirror *mirror // of Mercury code

	removed bool     // with its function: even the name is gone
	dropped bool     // not written, but its name is
	dynamic uint64   // where dynamic shared memory starts
	late    bool     // comes last in the file
	moved   uint64   // where the constants of a device function start in those of its kernels
	lost    []uint64 // where constants of functions that lost are

	index  uint32
	offset uint64 // in the file
}

// A piece is a part of a section that comes from one place.
type piece struct {
	offset uint64
	data   []byte
}

func (s *section) live() bool { return !s.removed && !s.dropped }

func newLinker(rules *ruleSet) *linker {
	l := &linker{rules: rules, virtual: rules.options.Arch.Number, byName: map[string]symbolID{}, byOwner: map[sectionKey]sectionID{},
		packing: packing{vectors: map[string]bool{}}}
	for _, name := range []string{".shstrtab", ".strtab", ".symtab", ".symtab_shndx"} {
		l.shstrtab.add(name)
		l.strtab.add(name)
	}
	l.toolNote = l.newSection(section{name: ".note.nv.tkinfo", kind: typeNote, flags: 0x2000000, align: 4, owner: noSection}, true)
	l.archNote = l.newSection(section{name: ".note.nv.cuinfo", kind: typeNote, flags: 0x1000000, align: 4, owner: noSection}, true)
	l.info = l.newSection(section{name: ".nv.info", kind: typeInfo, align: 4, owner: noSection}, false)
	l.compat = noSection
	if rules.compat {
		l.compat = l.newSection(section{name: ".nv.compat", kind: typeCompat, align: 4, owner: noSection}, false)
		//rule: Every program for sm_90 says whether it is for that alone.
		//mutate: []attribute{{form: 2, id: compatSpecific}} -> nil
		l.sections[l.compat].attributes.added = []attribute{{form: 2, id: compatSpecific}}
		if rules.accelerated {
			l.sections[l.compat].attributes.added[0].value = 1
		}
		note := &l.sections[l.archNote]
		note.flags |= flagOwned
		//rule: The program for sm_90 knows the note about its architecture by what it demands.
		note.owner = l.compat
	}
	return l
}

// newSection adds a section and, if it is to have one, the symbol of the
// section.
func (l *linker) newSection(s section, withSymbol bool) sectionID {
	id := sectionID(len(l.sections))
	s.function, s.symbol = noSymbol, noSymbol
	if s.owner != noSection {
		s.function = l.sections[s.owner].function
	}
	l.nameSection(&s, id)
	if withSymbol {
		s.symbol = l.newSymbol(symbol{name: s.name, kind: elf64.SectionSymbol, section: id})
	}
	l.sections = append(l.sections, s)
	l.byOwner[sectionKey{s.name, s.owner}] = id
	return id
}

func (l *linker) newSymbol(y symbol) symbolID {
	l.symbols = append(l.symbols, y)
	return symbolID(len(l.symbols) - 1)
}

// nameSection enters the names that come with a section.
func (l *linker) nameSection(s *section, id sectionID) {
	//rule: Host references leave the names of shared memory behind.
	//mutate: false
	if l.keep != nil && l.keep.fromHost && s.kind == typeShared && s.owner != noSection {
		// Removal by host references leaves this name behind.
		l.shstrtab.add(s.name)
		l.strtab.add(s.name)
	}
	l.shstrtab.addSection(s.name, id)
	if s.kind == typeConstant0 && l.rules.mercury {
		return // the finalizer names it last
	}
	if l.rules.mercury {
		name := mirrorName(s.name)
		l.shstrtab[len(l.shstrtab)-1].room = len(name)
		l.strtab.addSection(name, id)
		return
	}
	//rule: With -r there are no names for relocations of bank 0.
	//mutate: true !l.rules.options.Relocatable
	if s.kind == typeConstant0 && s.owner != noSection && !l.rules.options.Relocatable {
		// Bank 0 of a kernel comes with a name for relocations that it never has.
		//rule: Bank 0 comes with a name for relocations.
		l.shstrtab.addSection(".rel"+s.name, id)
		l.strtab.addSection(".rel"+s.name, id)
	}
	l.strtab.addSection(s.name, id)
}

// newLocal adds a symbol that is local or weak; its name comes at this place.
func (l *linker) newLocal(y symbol) symbolID {
	id := l.newSymbol(y)
	l.strtab.addSymbol(y.name, id)
	return id
}

// findOrNew gives the section of the same name and owner, and makes it if it
// does not exist.
func (l *linker) findOrNew(s section, withSymbol bool) sectionID {
	if id, ok := l.byOwner[sectionKey{s.name, s.owner}]; ok {
		return id
	}
	return l.newSection(s, withSymbol)
}
