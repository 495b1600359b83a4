package device

import (
	"bytes"
	"strings"

	"github.com/warpld/warpld/internal/object/elf64"
)

// From sm_100 on a cubin holds the program twice: as instructions, and as
// Mercury code for the driver's finalizer. Sections of the second program
// mirror those of the first one, have flagMirror, and are called .nv.merc and
// then as the section; those of code .nv.capmerc. They are merged by the same
// rules.
const (
	flagMirror     = 0x10000000
	mirrorPrefix   = ".nv.merc"
	capsulePrefix  = ".nv.capmerc"
	mirrorSymbols  = ".nv.merc.symtab"
	capsuleAlign   = 16
	afterNames     = 36 // bytes that nvlink leaves unused after .shstrtab
	systemShared   = 64 // where the shared memory of the system starts
	reservedSize   = 2 * sectionSize
	reservedAlign  = 16
	mirrorKindBase = 0x10000

	reserved        = ".nv.shared.reserved.0"
	constants       = ".nv.constant3"
	mirrorConstants = ".nv.constant.user"
)

const (
	typeCapsule      elf64.SectionType = 0x70000016
	typeMirrorBank3  elf64.SectionType = 0x7000007c
	typeMirrorRela   elf64.SectionType = 0x70000082
	typeMirrorInfo   elf64.SectionType = 0x70000083
	typeMirrorSymtab elf64.SectionType = 0x70000085
	typeMirrorCalls  elf64.SectionType = 0x7000008a // since 13.4
	typeMirrorProtos elf64.SectionType = 0x7000008b // since 13.4
)

// Relocations of the second program.
const (
	mirror64         relocationKind = mirrorKindBase + 2
	mirrorOffset3    relocationKind = mirrorKindBase + 3 // of a variable in its memory
	mirrorOffset4    relocationKind = mirrorKindBase + 4
	mirrorLow        relocationKind = mirrorKindBase + 5
	mirrorHigh       relocationKind = mirrorKindBase + 6
	mirrorClear      relocationKind = mirrorKindBase + 14
	mirrorUnified    relocationKind = mirrorKindBase + 0x32
	mirrorUniLow     relocationKind = mirrorKindBase + 0x3e
	mirrorUniHigh    relocationKind = mirrorKindBase + 0x3f
	mirrorDescriptor relocationKind = mirrorKindBase + 8
	mirrorCall28     relocationKind = mirrorKindBase + 0x28
	mirrorCall29     relocationKind = mirrorKindBase + 0x29
	mirrorFrame      relocationKind = mirrorKindBase + 0x3d
	mirrorGlobal     relocationKind = mirrorKindBase + 1

	// capsuleField is ours: the offset of a constant in a capsule.
	capsuleField relocationKind = 1 << 31
)

// A mirror is what mirrors a section.
type mirror struct {
	pieces      []piece
	size        uint64
	align       uint64
	kind        elf64.SectionType
	flags       uint64
	relocations []relocation
	patches     []patch
	attributes  attributeList
	index       uint32
	waits       bool // code waits for the stack pointer
}

// leftToFinalizer says what of a section nvlink's finalizer makes anew in ways
// that are not known; empty: nothing.
func leftToFinalizer(s *elf64.Section) string {
	switch {
	case isConstant(s.Type) && s.Type != typeConstant0 && s.Name != constants:
		// Most of these are tables of branches. Knowing them the finalizer schedules
		// the instructions anew.
		return "what the finalizer makes of the constants of functions"
	case s.Type == typeRel:
		return "what the finalizer makes of relocations without an addend"
	case isDebug(s.Name) && !isLines(s.Name):
		return "what the finalizer makes of debug information"
	}
	return ""
}

// mirrorName is the name of a section in the second program, without the prefix
// of all names there.
func mirrorName(name string) string {
	switch name {
	case constants:
		return mirrorConstants
	case ".rela" + constants:
		return ".rela" + mirrorConstants
	}
	return name
}

// firstName is the name in the first program of a section of the second one.
func firstName(name string) string {
	switch name {
	case mirrorConstants:
		return constants
	case ".rela" + mirrorConstants:
		return ".rela" + constants
	}
	return name
}

// knownMirror reports whether the rules cover a section of the second program.
func knownMirror(s *elf64.Section) bool {
	flags := s.Flags &^ flagMirror
	switch s.Type {
	case typeCapsule:
		return strings.HasPrefix(s.Name, capsulePrefix+".text.") && flags == 0
	case typeMirrorSymtab:
		return s.Name == mirrorSymbols && flags == 0
	case typeMirrorCalls:
		return s.Name == mirrorPrefix+".nv.callgraph" && flags == 0
	case typeMirrorProtos:
		return s.Name == mirrorPrefix+".nv.prototype" && flags == 0
	case typeMirrorInfo:
		return strings.HasPrefix(s.Name, mirrorPrefix+".nv.info") && flags&^flagOwned == 0
	case typeMirrorRela:
		return strings.HasPrefix(s.Name, mirrorPrefix+".rela.") && flags == flagOwned
	case typeProgBits:
		return isLines(strings.TrimPrefix(s.Name, mirrorPrefix)) && flags == 0
	case typeInit:
		return s.Name == mirrorPrefix+".nv.global.init" && flags == flagAlloc|flagWrite
	case typeReserved:
		return s.Name == mirrorPrefix+reserved && flags == flagAlloc|flagWrite
	case typeMirrorBank3:
		return s.Name == mirrorPrefix+mirrorConstants && flags == flagAlloc
	}
	return false
}

// readMirror finds the sections of the second program by the names of those
// that they mirror.
func (o *object) readMirror(rules *ruleSet) error {
	if !rules.mercury {
		return nil
	}
	o.twins, o.mirrored = map[string]int{}, make([]uint64, len(o.file.Sections))
	for i := range o.file.Sections {
		s := &o.file.Sections[i]
		if s.Flags&flagMirror == 0 {
			continue
		}
		name, found := strings.CutPrefix(s.Name, capsulePrefix)
		if !found {
			name = firstName(strings.TrimPrefix(s.Name, mirrorPrefix))
		}
		if _, twice := o.twins[name]; twice {
			return unsupported(o.name, "two sections '%s'", s.Name)
		}
		o.twins[name] = i
	}
	if err := o.readMirrorSymbols(); err != nil {
		return err
	}
	if err := o.checkMirrorAttributes(); err != nil {
		return err
	}
	return o.checkMirrorCalls()
}

// Attributes that only one of the programs has, and those that are about places in
// instructions, which differ.
var (
	attributesOfFirst  = map[byte]bool{attrParamBank: true, 0x19: true, 0x36: true, 0x6b: true, 0x6d: true}
	attributesOfSecond = map[byte]bool{0x5a: true}
	attributesOfPlaces = map[byte]bool{0x1c: true, 0x28: true, 0x29: true, 0x31: true, 0x34: true, 0x55: true}
)

// checkMirrorAttributes sees to it that all other attributes of the second program are
// those of the first one.
func (o *object) checkMirrorAttributes() error {
	for i := range o.file.Sections {
		s := &o.file.Sections[i]
		twin := o.twin(s.Name)
		if s.Type != typeInfo || twin == nil {
			continue
		}
		first, err := o.comparedRows(s, attributesOfFirst)
		if err != nil {
			return err
		}
		second, err := o.comparedRows(twin, attributesOfSecond)
		if err != nil {
			return err
		}
		if !bytes.Equal(first, second) {
			return unsupported(o.name, "a section '%s' that is not the same as '%s'", twin.Name, s.Name)
		}
	}
	return nil
}

// comparedRows are the rows of a section that its twin has too.
func (o *object) comparedRows(s *elf64.Section, own map[byte]bool) (rows []byte, err error) {
	err = o.parseAttributes(s, func(x attribute) error {
		if !own[x.id] && !attributesOfPlaces[x.id] {
			rows = append(le.AppendUint16(append(rows, x.form, x.id), x.value), x.data...)
		}
		return nil
	})
	return rows, err
}

// checkMirrorCalls sees to it that the call graph of the second program is that of
// the first one.
func (o *object) checkMirrorCalls() error {
	for i := range o.file.Sections {
		s := &o.file.Sections[i]
		if s.Type != typeCallGraph && s.Type != typePrototype {
			continue
		}
		if twin := o.twin(s.Name); twin != nil && !bytes.Equal(o.bytes(s), o.bytes(twin)) {
			return unsupported(o.name, "a section '%s' that is not the same as '%s'", twin.Name, s.Name)
		}
	}
	return nil
}

// readMirrorSymbols reads the sizes of functions of the second program, whose
// table is the same as that of the first one but for the symbols of bank 0.
func (o *object) readMirrorSymbols() error {
	at, ok := o.twins[".symtab"]
	if !ok {
		return unsupported(o.name, "code for Mercury without '%s'", mirrorSymbols)
	}
	b := o.bytes(&o.file.Sections[at])
	if len(b)%symbolSize != 0 || len(b)/symbolSize > len(o.symbols) {
		return damage(o.name, "section %s of %d bytes for %d symbols", mirrorSymbols, len(b), len(o.symbols))
	}
	o.mirrorSizes = make([]uint64, len(o.symbols))
	for i := range len(b) / symbolSize {
		row := b[i*symbolSize:]
		name, err := o.stringAt(le.Uint32(row))
		if err != nil || firstName(name) != o.symbols[i].Name {
			return unsupported(o.name, "a table '%s' with other symbols", mirrorSymbols)
		}
		o.mirrorSizes[i] = le.Uint64(row[16:])
		if y := &o.symbols[i]; row[4] != byte(y.Binding)<<4|byte(y.Type) || row[5] != y.Other ||
			y.Type != elf64.Object && le.Uint64(row[8:]) != y.Value || y.Type != elf64.Function && o.mirrorSizes[i] != y.Size {
			return unsupported(o.name, "a symbol '%s' that is another one in '%s'", y.Name, mirrorSymbols)
		}
	}
	return nil
}

// twin gives the section that mirrors another one.
func (o *object) twin(name string) *elf64.Section {
	if at, ok := o.twins[name]; ok {
		return &o.file.Sections[at]
	}
	return nil
}

// placeMirror brings in what mirrors a section that was placed.
func placeMirror(o *object, index int, out *section) {
	twin := o.twin(o.file.Sections[index].Name)
	if twin == nil {
		return
	}
	m := out.mirror
	if m == nil {
		m = &mirror{kind: twin.Type, flags: twin.Flags, align: twin.Align}
		out.mirror = m
	}
	m.align = max(m.align, twin.Align)
	at := alignUp(m.size, twin.Align)
	data := o.bytes(twin)
	m.pieces, m.size = append(m.pieces, piece{at, data}), at+uint64(len(data))
	o.mirrored[index] = at
}

// isReserved reports whether a section is the shared memory of the system, which
// every input for sm_110 has a copy of.
func isReserved(s *elf64.Section) bool {
	return s.Type == typeReserved && s.Name == reserved && s.Flags == flagAlloc|flagWrite
}

// placeReserved brings in the shared memory of the system, once.
func (sections *sectionTable) placeReserved(o *object, s *elf64.Section) (placement, error) {
	twin := o.twin(s.Name)
	if s.Size != reservedSize || twin == nil || twin.Size != s.Size || s.Align != reservedAlign || twin.Align != s.Align {
		return placement{}, unsupported(o.name, "a section '%s' of %d bytes, or without a mirror", s.Name, s.Size)
	}
	id, known := sections.byOwner[sectionKey{s.Name, noSection}]
	if !known {
		//rule: What sm_110 reserves starts after what all reserve.
		//mutate: systemShared + s.Size -> s.Size
		id = sections.newSection(section{name: s.Name, kind: s.Type, flags: s.Flags, align: s.Align, owner: noSection, size: systemShared + s.Size}, true)
		sections.list[id].mirror = &mirror{kind: twin.Type, flags: twin.Flags, align: twin.Align, size: twin.Size}
	}
	return placement{section: id, done: true}, nil
}

// mirrorText brings in the Mercury code of a function.
func mirrorText(o *object, s *elf64.Section, text *section) error {
	twin := o.twin(s.Name)
	if twin == nil || twin.Type != typeCapsule || twin.Size < 4 {
		return unsupported(o.name, "the function in '%s' without code for Mercury", s.Name)
	}
	data := o.bytes(twin)
	//rule: Kernels are scheduled anew that wait for a stack they don't use.
	//mutate: false waitsForStack(o.bytes(s))
	text.mirror = &mirror{pieces: []piece{{data: data}}, size: uint64(len(data)), kind: typeCapsule, flags: flagMirror, align: capsuleAlign,
		waits: waitsForStack(o.bytes(s))}
	return nil
}

// mirrorOf gives the mirror of a section that has only rows.
func (s *section) mirrorOf() *mirror {
	if s.mirror == nil {
		s.mirror = &mirror{}
	}
	return s.mirror
}
