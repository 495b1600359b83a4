package device

import (
	"bytes"
	"strings"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// The second program of a cubin (see cubin.MercuryPrefix) is merged by the same rules as
// the first one.
const (
	capsuleAlign  = 16
	systemShared  = 64 // where the shared memory of the system starts
	reservedSize  = 2 * elf64.SectionSize
	reservedAlign = 16

	reserved         = ".nv.shared.reserved.0"
	constants        = ".nv.constant3"
	mercuryConstants = ".nv.constant.user"
)

// Relocations of the second program.
const (
	mercury64         cubin.Relocation = cubin.MercuryRelocation + 2
	mercuryOffset3    cubin.Relocation = cubin.MercuryRelocation + 3 // of a variable in its memory
	mercuryOffset4    cubin.Relocation = cubin.MercuryRelocation + 4
	mercuryLow        cubin.Relocation = cubin.MercuryRelocation + 5
	mercuryHigh       cubin.Relocation = cubin.MercuryRelocation + 6
	mercuryClear      cubin.Relocation = cubin.MercuryRelocation + 14
	mercuryUnified    cubin.Relocation = cubin.MercuryRelocation + 0x32
	mercuryUniLow     cubin.Relocation = cubin.MercuryRelocation + 0x3e
	mercuryUniHigh    cubin.Relocation = cubin.MercuryRelocation + 0x3f
	mercuryDescriptor cubin.Relocation = cubin.MercuryRelocation + 8
	mercuryCall28     cubin.Relocation = cubin.MercuryRelocation + 0x28
	mercuryCall29     cubin.Relocation = cubin.MercuryRelocation + 0x29
	mercuryFrame      cubin.Relocation = cubin.MercuryRelocation + 0x3d
	mercuryGlobal     cubin.Relocation = cubin.MercuryRelocation + 1

	// capsuleField is ours: the offset of a constant in a capsule.
	capsuleField cubin.Relocation = 1 << 31
)

// A mirror is what mirrors a section.
type mercurySection struct {
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
// that are not known, or an empty string.
func leftToFinalizer(s *elf64.Section) string {
	switch {
	case cubin.IsConstantBank(s.Type) && s.Type != cubin.SHT_CUDA_CONSTANT_B0 && s.Name != constants:
		// Most of these are tables of branches. Knowing them the finalizer schedules
		// the instructions anew.
		return "what the finalizer makes of the constants of functions"
	case s.Type == elf64.Rel:
		return "what the finalizer makes of relocations without an addend"
	case isDebug(s.Name) && !isLines(s.Name):
		return "what the finalizer makes of debug information"
	}
	return ""
}

// knownMercury reports whether the rules cover a section of Mercury code.
func knownMercury(s *elf64.Section) bool {
	named, flags, want := false, s.Flags&^cubin.SHF_MERCURY, uint64(0)
	switch s.Type {
	case cubin.SHT_MERCURY_CAPSULE:
		named = strings.HasPrefix(s.Name, cubin.CapsulePrefix+".text.")
	case cubin.SHT_MERCURY_SYMTAB:
		named = s.Name == cubin.MercurySymbols
	case cubin.SHT_MERCURY_CALLGRAPH:
		named = s.Name == cubin.MercuryPrefix+".nv.callgraph"
	case cubin.SHT_MERCURY_PROTOTYPE:
		named = s.Name == cubin.MercuryPrefix+".nv.prototype"
	case cubin.SHT_MERCURY_INFO:
		named, flags = strings.HasPrefix(s.Name, cubin.MercuryPrefix+".nv.info"), flags&^elf64.InfoLink
	case cubin.SHT_MERCURY_RELA:
		named, want = strings.HasPrefix(s.Name, cubin.MercuryPrefix+".rela."), elf64.InfoLink
	case elf64.ProgBits:
		named = isLines(strings.TrimPrefix(s.Name, cubin.MercuryPrefix))
	case cubin.SHT_CUDA_GLOBAL_INIT:
		named, want = s.Name == cubin.MercuryPrefix+".nv.global.init", elf64.Alloc|elf64.Write
	case cubin.SHT_CUDA_RESERVED_SHARED:
		named, want = s.Name == cubin.MercuryPrefix+reserved, elf64.Alloc|elf64.Write
	case cubin.SHT_MERCURY_CONSTANT:
		named, want = s.Name == cubin.MercuryPrefix+mercuryConstants, elf64.Alloc
	}
	return named && flags == want
}

// readMercury finds the sections of the second program by the names of those
// that they mirror.
func (o *object) readMercury(rules *ruleSet) error {
	if !rules.mercury {
		return nil
	}
	o.mercurySections, o.mercuryStarts = map[string]int{}, make([]uint64, len(o.file.Sections))
	for i := range o.file.Sections {
		s := &o.file.Sections[i]
		if s.Flags&cubin.SHF_MERCURY == 0 {
			continue
		}
		name, found := strings.CutPrefix(s.Name, cubin.CapsulePrefix)
		if !found {
			name = cubin.SassName(strings.TrimPrefix(s.Name, cubin.MercuryPrefix))
		}
		if _, twice := o.mercurySections[name]; twice {
			return unsupported(o.name, "two sections '%s'", s.Name)
		}
		o.mercurySections[name] = i
	}
	if err := o.readMercurySymbols(); err != nil {
		return err
	}
	if err := o.checkMercuryAttributes(); err != nil {
		return err
	}
	return o.checkMercuryCalls()
}

// Attributes that only one of the programs has, and those that are about places in
// instructions, which differ.
var (
	attributesOfFirst = map[cubin.Attribute]bool{cubin.EIATTR_PARAM_CBANK: true, cubin.EIATTR_CBANK_PARAM_SIZE: true,
		cubin.EIATTR_SW_WAR: true, cubin.EIATTR_NVSAL_SW_WAR: true, cubin.EIATTR_PREEXIT_USED: true}
	attributesOfSecond = map[cubin.Attribute]bool{cubin.EIATTR_MERCURY_FINALIZER_OPTIONS: true}
	attributesOfPlaces = map[cubin.Attribute]bool{cubin.EIATTR_EXIT_INSTR_OFFSETS: true,
		cubin.EIATTR_COOP_GROUP_INSTR_OFFSETS: true, cubin.EIATTR_COOP_GROUP_MASK_REGIDS: true,
		cubin.EIATTR_INT_WARP_WIDE_INSTR_OFFSETS: true, cubin.EIATTR_INDIRECT_BRANCH_TARGETS: true,
		cubin.EIATTR_ANNOTATIONS: true}
)

// checkMercuryAttributes sees to it that all other attributes of the second program are
// those of the first one.
func (o *object) checkMercuryAttributes() error {
	for i := range o.file.Sections {
		s := &o.file.Sections[i]
		mercury := o.mercuryOf(s.Name)
		if s.Type != cubin.SHT_CUDA_INFO || mercury == nil {
			continue
		}
		first, err := o.comparedRows(s, attributesOfFirst)
		if err != nil {
			return err
		}
		second, err := o.comparedRows(mercury, attributesOfSecond)
		if err != nil {
			return err
		}
		if !bytes.Equal(first, second) {
			return unsupported(o.name, "a section '%s' that is not the same as '%s'", mercury.Name, s.Name)
		}
	}
	return nil
}

// comparedRows are the rows of a section that its twin has too.
func (o *object) comparedRows(s *elf64.Section, own map[cubin.Attribute]bool) (rows []byte, err error) {
	err = o.parseAttributes(s, func(x attribute) error {
		if !own[x.id] && !attributesOfPlaces[x.id] {
			rows = append(le.AppendUint16(append(rows, byte(x.form), byte(x.id)), x.value), x.data...)
		}
		return nil
	})
	return rows, err
}

// checkMercuryCalls sees to it that the call graph of the second program is that of
// the first one.
func (o *object) checkMercuryCalls() error {
	for i := range o.file.Sections {
		s := &o.file.Sections[i]
		if s.Type != cubin.SHT_CUDA_CALLGRAPH && s.Type != cubin.SHT_CUDA_PROTOTYPE {
			continue
		}
		if mercury := o.mercuryOf(s.Name); mercury != nil && !bytes.Equal(o.bytes(s), o.bytes(mercury)) {
			return unsupported(o.name, "a section '%s' that is not the same as '%s'", mercury.Name, s.Name)
		}
	}
	return nil
}

// readMercurySymbols reads the sizes of functions of the second program, whose
// table is the same as that of the first one but for the symbols of bank 0.
func (o *object) readMercurySymbols() error {
	at, ok := o.mercurySections[".symtab"]
	if !ok {
		return unsupported(o.name, "code for Mercury without '%s'", cubin.MercurySymbols)
	}
	b := o.bytes(&o.file.Sections[at])
	if len(b)%elf64.SymbolSize != 0 || len(b)/elf64.SymbolSize > len(o.symbols) {
		return damage(o.name, "section %s of %d bytes for %d symbols", cubin.MercurySymbols, len(b), len(o.symbols))
	}
	o.mercurySizes = make([]uint64, len(o.symbols))
	for i := range len(b) / elf64.SymbolSize {
		row := b[i*elf64.SymbolSize:]
		name, err := o.stringAt(le.Uint32(row))
		if err != nil || cubin.SassName(name) != o.symbols[i].Name {
			return unsupported(o.name, "a table '%s' with other symbols", cubin.MercurySymbols)
		}
		o.mercurySizes[i] = le.Uint64(row[16:])
		if y := &o.symbols[i]; row[4] != byte(y.Binding)<<4|byte(y.Type) || row[5] != y.Other ||
			(y.Type != elf64.Object && le.Uint64(row[8:]) != y.Value) ||
			(y.Type != elf64.Function && o.mercurySizes[i] != y.Size) {
			return unsupported(o.name, "a symbol '%s' that is another one in '%s'", y.Name, cubin.MercurySymbols)
		}
	}
	return nil
}

// twin gives the section that mirrors another one.
func (o *object) mercuryOf(name string) *elf64.Section {
	if at, ok := o.mercurySections[name]; ok {
		return &o.file.Sections[at]
	}
	return nil
}

// placeMercury brings in what mirrors a section that was placed.
func placeMercury(o *object, index int, out *section) {
	mercury := o.mercuryOf(o.file.Sections[index].Name)
	if mercury == nil {
		return
	}
	m := out.mercury
	if m == nil {
		m = &mercurySection{kind: mercury.Type, flags: mercury.Flags, align: mercury.Align}
		out.mercury = m
	}
	m.align = max(m.align, mercury.Align)
	at := alignUp(m.size, mercury.Align)
	data := o.bytes(mercury)
	m.pieces, m.size = append(m.pieces, piece{at, data}), at+uint64(len(data))
	o.mercuryStarts[index] = at
}

// isReserved reports whether a section is the shared memory of the system, which
// every input for sm_110 has a copy of.
func isReserved(s *elf64.Section) bool {
	return s.Type == cubin.SHT_CUDA_RESERVED_SHARED && s.Name == reserved && s.Flags == elf64.Alloc|elf64.Write
}

// placeReserved brings in the shared memory of the system, once.
func (sections *sectionTable) placeReserved(o *object, s *elf64.Section) (placement, error) {
	mercury := o.mercuryOf(s.Name)
	if s.Size != reservedSize || mercury == nil || mercury.Size != s.Size || s.Align != reservedAlign ||
		mercury.Align != s.Align {
		return placement{}, unsupported(o.name, "a section '%s' of %d bytes, or without a mirror", s.Name, s.Size)
	}
	id, known := sections.byOwner[sectionKey{s.Name, noSection}]
	if !known {
		//rule: What sm_110 reserves starts after what all reserve.
		//mutate: systemShared + s.Size -> s.Size
		id = sections.newSection(section{name: s.Name, kind: s.Type, flags: s.Flags, align: s.Align, owner: noSection,
			size: systemShared + s.Size}, true)
		sections.list[id].mercury = &mercurySection{kind: mercury.Type, flags: mercury.Flags, align: mercury.Align,
			size: mercury.Size}
	}
	return placement{section: id, done: true}, nil
}

// placeMercuryText brings in the Mercury code of a function.
func placeMercuryText(o *object, s *elf64.Section, text *section) error {
	mercury := o.mercuryOf(s.Name)
	if mercury == nil || mercury.Type != cubin.SHT_MERCURY_CAPSULE || mercury.Size < 4 {
		return unsupported(o.name, "the function in '%s' without code for Mercury", s.Name)
	}
	data := o.bytes(mercury)
	//rule: Kernels are scheduled anew that wait for a stack they don't use.
	//mutate: false waitsForStack(o.bytes(s))
	text.mercury = &mercurySection{pieces: []piece{{data: data}}, size: uint64(len(data)),
		kind: cubin.SHT_MERCURY_CAPSULE, flags: cubin.SHF_MERCURY, align: capsuleAlign,
		waits: waitsForStack(o.bytes(s))}
	return nil
}

// mercuryPart gives the mirror of a section that has only rows.
func (s *section) mercuryPart() *mercurySection {
	if s.mercury == nil {
		s.mercury = &mercurySection{}
	}
	return s.mercury
}
