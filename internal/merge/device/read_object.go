package device

import (
	"fmt"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// Limits on what an input may ask for. A real one stays far below.
const (
	maxAlign  = 1 << 16
	maxSize   = 1 << 40
	maxString = 1 << 30
)

// A symbolID and a sectionID are places in the linker's lists.
type (
	symbolID  int32
	sectionID int32
)

const (
	noSymbol  symbolID  = -1
	noSection sectionID = -1
)

// An object is an input while it is brought in.
type object struct {
	name    string
	file    *cubin.File
	data    []byte
	symbols []elf64.Symbol
	strings string // names of symbols and prototypes
	records []byte // what the tools that made it recorded

	mercurySections map[string]int // sections of Mercury code, see readMercury
	mercuryStarts   []uint64       // where in the output's mirror those of a section start
	mercurySizes    []uint64       // of symbols in Mercury code
	featured        bool           // it said which features it relies on

	symbolOf          []symbolID  // what its symbols are in the output
	sectionOf         []placement // where its sections are in the output
	discardedSections []bool      // sections of functions that another definition has won over
	// losers are the variables that another definition has won over, by section.
	// Their bytes stay, but relocations in them go.
	discardedVariables map[uint32][]*elf64.Symbol
	// takes are the functions whose definition here lost, but whose address is taken,
	// with their prototypes. nvlink forgets that unless a kernel here may call them.
	discardedTaken  map[uint32]uint32
	dedupedSections map[int][]run // sections that lack variables, see dedupSections
}

// release lets go of what only the passes over the inputs need. Messages still
// need the name.
func (o *object) release() {
	o.file, o.symbols, o.symbolOf, o.sectionOf, o.discardedSections, o.discardedVariables, o.discardedTaken = nil, nil,
		nil, nil, nil, nil, nil
}

// readObject reads an input. Code that is linked already takes no part in a
// link: there is no object then.
func readObject(in *Input, rules *ruleSet) (*object, error) {
	data, err := in.load()
	if err != nil {
		return nil, err
	}
	f, err := cubin.Parse(data)
	if err != nil {
		return nil, damaged(in.Name, err)
	}
	//rule: Code that is linked already takes no part.
	//mutate: false
	if f.Type == elf64.Executable {
		return nil, nil
	}
	if !f.Relocatable() {
		return nil, unsupported(in.Name, "files of type %d", f.Type)
	}
	o := &object{name: in.Name, file: f, data: data}
	for _, check := range []func(*ruleSet) error{o.checkHeader, o.checkSections, o.readSymbols, o.checkSymbols,
		o.checkShape, o.readMercury} {
		if err := check(rules); err != nil {
			return nil, err
		}
	}
	o.symbolOf = make([]symbolID, len(o.symbols))
	for i := range o.symbolOf {
		o.symbolOf[i] = noSymbol
	}
	o.sectionOf = make([]placement, len(f.Sections))
	o.discardedSections = make([]bool, len(f.Sections))
	o.discardedVariables, o.discardedTaken = map[uint32][]*elf64.Symbol{}, map[uint32]uint32{}
	return o, nil
}

func (in *Input) load() ([]byte, error) {
	if in.Load == nil {
		return in.Cubin, nil
	}
	data, err := in.Load()
	if err != nil {
		return nil, &message.Message{Severity: message.Fatal, ID: "merge-input", Origin: message.Origin{File: in.Name},
			Text: fmt.Sprintf("could not read '%s'", in.Name), Notes: []string{err.Error()}, Cause: err}
	}
	return data, nil
}

func (o *object) checkHeader(rules *ruleSet) error {
	const abiVersion = 8
	f, target := o.file, &rules.options
	release := gpu.ReleaseNumbered(f.Toolkit)
	switch {
	//rule: Code of a newer toolkit is refused.
	//mutate: false
	case target.Release.Before(release):
		return &message.Message{Severity: message.Fatal, ID: "newer-input", Origin: message.Origin{File: o.name},
			Text: fmt.Sprintf("Input file '%s' newer than toolkit (%d vs %d)", o.name, release.Number(),
				target.Release.Number())}
	case release != target.Release:
		return unsupported(o.name, "code that was made with CUDA %s", release)
	case f.ABIVersion() != abiVersion:
		return unsupported(o.name, "version %d of the ABI", f.ABIVersion())
	case f.Flags&0xff != rules.headerFlags:
		return unsupported(o.name, "the flags %#x of the file", f.Flags)
	case !gpu.Arch(f.Arch).MergesInto(target.Arch):
		return unsupported(o.name, "how to link code for %s to code for %s", f.Arch, target.Arch)
	}
	return nil
}

// checkSections sees to it that every section is of a kind that the rules
// cover, lies in the file, and refers to sections that exist.
func (o *object) checkSections(rules *ruleSet) error {
	// Sections may share bytes, but not so often that a small file becomes a
	// large output.
	budget := 2 * uint64(len(o.data))
	for i := range o.file.Sections {
		s := &o.file.Sections[i]
		known := knownSection(s)
		if rules.mercury {
			known = known || isReserved(s) || (s.Flags&cubin.SHF_MERCURY != 0 && knownMercury(s))
			if what := leftToFinalizer(s); what != "" {
				return unsupported(o.name, "%s", what)
			}
		}
		if !known {
			return unsupported(o.name, "the section %q of type %#x with flags %#x", s.Name, uint32(s.Type), s.Flags)
		}
		if (s.Align != 0 && !isAlignment(s.Align)) || s.Size > maxSize {
			return unsupported(o.name, "the section %q of %d bytes aligned to %d", s.Name, s.Size, s.Align)
		}
		if s.Flags&elf64.InfoLink != 0 && int64(s.Info) >= int64(len(o.file.Sections)) {
			return damage(o.name, "section %s belongs to section %d of %d", s.Name, s.Info, len(o.file.Sections))
		}
		if occupiesOnly(s.Type) || s.Type == elf64.Null {
			continue
		}
		_, length, err := o.file.Bytes(s)
		if err != nil {
			return damaged(o.name, err)
		}
		if uint64(length) > budget {
			return damage(o.name, "section %s: overlaps others", s.Name)
		}
		budget -= uint64(length)
	}
	return nil
}

// knownSection reports whether the rules cover a section.
func knownSection(s *elf64.Section) bool {
	switch s.Type {
	case elf64.Null:
		return s.Index == 0
	case elf64.Strtab, elf64.Symtab, cubin.SHT_CUDA_CALLGRAPH, cubin.SHT_CUDA_PROTOTYPE, cubin.SHT_CUDA_COMPAT_INFO:
		return s.Flags == 0
	case elf64.Rel:
		return s.Flags == elf64.InfoLink && strings.HasPrefix(s.Name, ".rel.")
	case elf64.Rela:
		return s.Flags == elf64.InfoLink && strings.HasPrefix(s.Name, ".rela.")
	case cubin.SHT_CUDA_INFO:
		return s.Flags&^elf64.InfoLink == 0
	case elf64.Note:
		return (s.Name == ".note.nv.tkinfo" && s.Flags == cubin.SHF_NOTE_NV_TKINFO) ||
			(s.Name == ".note.nv.cuinfo" && s.Flags&^elf64.InfoLink == cubin.SHF_NOTE_NV_CUINFO)
	}
	return knownMemory(s)
}

// knownMemory reports whether the rules cover a section of code, variables or debug
// information.
func knownMemory(s *elf64.Section) bool {
	const data = elf64.Alloc | elf64.Write
	switch s.Type {
	case cubin.SHT_CUDA_GLOBAL:
		return s.Name == ".nv.global" && s.Flags == data
	case cubin.SHT_CUDA_GLOBAL_INIT:
		return s.Name == ".nv.global.init" && s.Flags == data
	case cubin.SHT_CUDA_SHARED:
		return (s.Name == commonName && s.Flags == data) ||
			(strings.HasPrefix(s.Name, ".nv.shared.") && s.Flags == data|elf64.InfoLink)
	case elf64.ProgBits:
		return (strings.HasPrefix(s.Name, ".text.") && s.Flags == elf64.Alloc|elf64.Exec) ||
			(isDebug(s.Name) && s.Flags == 0)
	}
	return cubin.IsConstantBank(s.Type) && strings.HasPrefix(s.Name, bankName(s.Type)) &&
		s.Flags&^elf64.InfoLink == elf64.Alloc
}

// bankName is how the names of sections of a constant bank begin.
func bankName(t elf64.SectionType) string {
	return fmt.Sprintf(".nv.constant%d", t-cubin.SHT_CUDA_CONSTANT_B0)
}

func isText(s *elf64.Section) bool { return s.Type == elf64.ProgBits && s.Flags&elf64.Exec != 0 }

func (o *object) readSymbols(*ruleSet) error {
	table := &elf64.SymbolTable{}
	for i := range o.file.Sections {
		s := &o.file.Sections[i]
		switch {
		case s.Name == ".note.nv.tkinfo":
			if o.records != nil || s.Size%4 != 0 {
				return unsupported(o.name, "a second section '%s', or one of %d bytes", s.Name, s.Size)
			}
			o.records = o.bytes(s)
		case s.Type != elf64.Symtab:
		case table.Len() > 0:
			return unsupported(o.name, "two symbol tables")
		default:
			var err error
			if table, err = o.file.File.Symbols(s, maxString); err != nil {
				return damaged(o.name, err)
			}
			o.strings = string(o.bytes(&o.file.Sections[s.Link]))
		}
	}
	o.symbols = make([]elf64.Symbol, table.Len())
	for i, y := range table.All() {
		o.symbols[i] = y
	}
	return nil
}

// checkSymbols sees to it that every symbol is of a kind that the rules cover.
func (o *object) checkSymbols(*ruleSet) error {
	if len(o.symbols) > 0 && o.symbols[0] != (elf64.Symbol{}) {
		return unsupported(o.name, "a first symbol that is not empty")
	}
	owners := make(map[uint32]bool)
	for i := 1; i < len(o.symbols); i++ {
		y := &o.symbols[i]
		if knownCommon(y) {
			continue
		}
		if int64(y.Section) >= int64(len(o.file.Sections)) {
			return unsupported(o.name, "the symbol '%s' in section %#x", y.Name, y.Section)
		}
		s := &o.file.Sections[y.Section]
		if !knownSymbol(y, s) {
			return unsupported(o.name, "the symbol '%s' (binding %d, type %d, other %#x, in section %q)", y.Name, y.Binding,
				y.Type, y.Other, s.Name)
		}
		if y.Value > maxSize || y.Size > maxSize {
			return unsupported(o.name, "the symbol '%s' of %d bytes at %#x", y.Name, y.Size, y.Value)
		}
		if y.Type == elf64.Function && y.Section != elf64.Undefined {
			if owners[y.Section] {
				return unsupported(o.name, "two functions in section %s", s.Name)
			}
			owners[y.Section] = true
		}
	}
	return nil
}

// knownSymbol reports whether the rules cover a symbol in a section.
func knownSymbol(y *elf64.Symbol, s *elf64.Section) bool {
	if y.Binding > elf64.Weak {
		return false
	}
	switch undefined := y.Section == elf64.Undefined; y.Type {
	case elf64.SectionSymbol:
		return !undefined
	case elf64.Function:
		return y.Other&^cubin.STO_CUDA_ENTRY == 0 && ((undefined && y.Binding != elf64.Local) || isText(s))
	case elf64.Object:
		return undefined && ((y.Binding == elf64.Weak && isReservedSymbol(y)) || (y.Binding == elf64.Local &&
			y.Name == bankSize))
	case cubin.STT_CUDA_OBJECT:
		return (y.Binding != elf64.Local && undefined && knownVariable(y.Other)) || (!undefined && holdsVariable(s, y.Other))
	}
	return isPlaceholder(y)
}

func knownVariable(other uint8) bool {
	return other == cubin.STO_CUDA_GLOBAL || other == otherManaged || other == cubin.STO_CUDA_SHARED ||
		other == cubin.STO_CUDA_CONSTANT
}

// holdsVariable reports whether a section is the place for a kind of variable.
func holdsVariable(s *elf64.Section, other uint8) bool {
	switch other {
	case cubin.STO_CUDA_GLOBAL, otherManaged:
		return s.Type == cubin.SHT_CUDA_GLOBAL || s.Type == cubin.SHT_CUDA_GLOBAL_INIT
	case cubin.STO_CUDA_SHARED:
		return s.Type == cubin.SHT_CUDA_SHARED
	case cubin.STO_CUDA_RESERVED_SHARED:
		return s.Type == cubin.SHT_CUDA_RESERVED_SHARED
	case cubin.STO_CUDA_CONSTANT, otherHidden:
		return cubin.IsConstantBank(s.Type)
	}
	return false
}

// isPlaceholder reports whether a symbol is one of those without a name that
// ptxas leaves, and which no output has.
func isPlaceholder(y *elf64.Symbol) bool {
	return y.Type == 0 && y.Name == "" && y.Section == elf64.Undefined && y.Binding == elf64.Local
}

// bankSize is a symbol by which code asks for the size of constant bank 0. It is
// local, defined nowhere, and -1.
const bankSize = ".nv.ptx.const0.size"

// isReservedSymbol reports whether a symbol is one of those that isReservedName knows, with
// the value that all of them have.
func isReservedSymbol(y *elf64.Symbol) bool {
	const (
		offset = 64   // from sm_100 on, also of memory at 0
		whole  = 1024 // all that is reserved
	)
	switch y.Value {
	case 0:
		return y.Other == 0 && isReservedName(y.Name)
	case offset:
		return y.Other == 0 && y.Name == ".nv.reservedSmem.offset0"
	case whole:
		return y.Other == 0 && y.Name == ".nv.reservedSmem.cap"
	}
	return false
}

// isReservedName reports whether a name is one of those that the tools
// reserve, and refer to without a definition.
func isReservedName(name string) bool {
	return isUnifiedTable(name) || name == ".nv.reservedSmem.offset0" || name == ".nv.reservedSmem.cap"
}

// isUnifiedTable reports whether a symbol is of the tables of functions and
// data for programs of several architectures. Programs of one have none.
func isUnifiedTable(name string) bool {
	switch name {
	case "__UDT_OFFSET", "__UFT_OFFSET", "__UFT_CANONICAL", "__UDT_CANONICAL", "__UFT", "__UDT", "__UFT_END", "__UDT_END":
		return true
	}
	return false
}

// bytes gives the contents of a section, which lie in the file: checkSections
// has seen to that.
func (o *object) bytes(s *elf64.Section) []byte {
	if occupiesOnly(s.Type) {
		return nil
	}
	offset, length, err := o.file.Bytes(s)
	if err != nil {
		return nil
	}
	return o.data[offset : offset+length : offset+length]
}

// symbolAt gives what a symbol of the input is in the output.
func (o *object) symbolAt(index uint32) (symbolID, error) {
	if uint64(index) >= uint64(len(o.symbolOf)) || o.symbolOf[index] == noSymbol {
		return noSymbol, damage(o.name, "reference to symbol %d of %d, which nothing is known of", index, len(o.symbolOf))
	}
	return o.symbolOf[index], nil
}

// isDiscarded reports whether a symbol is a function here whose definition
// another one has won over.
func (o *object) isDiscarded(index uint32) bool {
	y := &o.symbols[index]
	return y.Type == elf64.Function && o.discardedSections[y.Section]
}

// inDiscarded reports whether a place in a section is in a variable that another
// definition has won over.
func (o *object) inDiscarded(section uint32, offset uint64) bool {
	//rule: Relocations in a variable that lost are dropped.
	//mutate: false
	return slices.ContainsFunc(o.discardedVariables[section], func(y *elf64.Symbol) bool {
		return offset >= y.Value &&
			offset-y.Value < y.Size
	})
}

// stringAt gives the string at an offset of the table of names.
func (o *object) stringAt(offset uint32) (string, error) {
	if uint64(offset) >= uint64(len(o.strings)) {
		return "", damage(o.name, "string at %#x of %#x", offset, len(o.strings))
	}
	rest := o.strings[offset:]
	text, _, ended := strings.Cut(rest[:min(len(rest), maxPrototype)], "\x00")
	if !ended {
		return "", damage(o.name, "string at %#x does not end", offset)
	}
	return text, nil
}

// maxPrototype bounds the strings that prototypes are, because rows of a few
// bytes name them.
const maxPrototype = 1 << 16
