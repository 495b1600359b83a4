package device

import (
	"bytes"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/object/elf64"
)

// From sm_100 on a cubin holds the program twice: as instructions, and as
// Mercury code for the driver's finalizer. Sections of the second program
// mirror those of the first one, have flagMirror, and are called .nv.merc and
// then as the section; those of code .nv.capmerc. They are merged by the same
// rules.
const (
	mercury        = 100 // first architecture
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

func (l *linker) mirrors() bool { return l.options.Arch.Number >= mercury }

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
func (o *object) readMirror(options *Options) error {
	if options.Arch.Number < mercury {
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
func (l *linker) placeMirror(o *object, index int, out *section) {
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
func (l *linker) placeReserved(o *object, s *elf64.Section) (placement, error) {
	twin := o.twin(s.Name)
	if s.Size != reservedSize || twin == nil || twin.Size != s.Size || s.Align != reservedAlign || twin.Align != s.Align {
		return placement{}, unsupported(o.name, "a section '%s' of %d bytes, or without a mirror", s.Name, s.Size)
	}
	id, known := l.byOwner[sectionKey{s.Name, noSection}]
	if !known {
		id = l.newSection(section{name: s.Name, kind: s.Type, flags: s.Flags, align: s.Align, owner: noSection, size: systemShared + s.Size}, true)
		l.sections[id].mirror = &mirror{kind: twin.Type, flags: twin.Flags, align: twin.Align, size: twin.Size}
	}
	return placement{section: id, done: true}, nil
}

// mirrorText brings in the Mercury code of a function.
func (l *linker) mirrorText(o *object, s *elf64.Section, text *section) error {
	twin := o.twin(s.Name)
	if twin == nil || twin.Type != typeCapsule || twin.Size < 4 {
		return unsupported(o.name, "the function in '%s' without code for Mercury", s.Name)
	}
	data := o.bytes(twin)
	text.mirror = &mirror{pieces: []piece{{data: data}}, size: uint64(len(data)), kind: typeCapsule, flags: flagMirror, align: capsuleAlign,
		waits: waitsForStack(o.bytes(s))}
	return nil
}

// waitsForStack reports whether code loads its stack pointer in a way that it has to
// wait for, by a load of R1 from constants with a barrier.
func waitsForStack(code []byte) bool {
	const (
		loadStack = 0xff017b82 // LDC R1, c[][]
		noBarrier = 7
	)
	for ; len(code) >= instruction; code = code[instruction:] {
		if le.Uint32(code) == loadStack && le.Uint64(code[8:])>>46&noBarrier != noBarrier {
			return true
		}
	}
	return false
}

// checkStacks leaves kernels to nvlink that wait for a stack pointer that they don't
// use: its finalizer finds that out, and gives all instructions other barriers.
func (l *linker) checkStacks() error {
	for i := range l.symbols {
		y := &l.symbols[i]
		if !l.mirrors() || y.function == nil || y.dead || !y.defined() {
			continue
		}
		f := y.function
		if m := l.sections[y.section].mirror; m != nil && m.waits && f.frame == 0 && len(f.calls)+len(f.indirect) == 0 {
			return unsupported("", "what the finalizer makes of a function that waits for a stack that it does not use")
		}
	}
	return nil
}

// mirrorOf gives the mirror of a section that has only rows.
func (s *section) mirrorOf() *mirror {
	if s.mirror == nil {
		s.mirror = &mirror{}
	}
	return s.mirror
}

// mergeMirrorRows brings in the relocations that mirror those of a section.
func (l *linker) mergeMirrorRows(o *object, s *elf64.Section, id sectionID) error {
	twin := o.twin(s.Name)
	if twin == nil {
		return nil
	}
	b := o.bytes(twin)
	if twin.Type != typeMirrorRela || twin.EntSize != relaSize || len(b)%relaSize != 0 {
		return damage(o.name, "section %s of %d bytes in rows of %d", twin.Name, len(b), twin.EntSize)
	}
	target := o.twin(o.file.Sections[s.Info].Name)
	if target == nil {
		return damage(o.name, "section %s is about nothing", twin.Name)
	}
	fields := newCapsuleRows(o, s, target)
	for first := true; len(b) > 0; b = b[relaSize:] {
		r := relocation{offset: le.Uint64(b), kind: relocationKind(le.Uint32(b[8:])), addend: int64(le.Uint64(b[16:]))}
		index := le.Uint32(b[12:])
		if err := l.resolveMirrorRow(o, s, target, &r, index); err != nil {
			return err
		}
		if l.leftOut(o, s, &r, index) {
			continue
		}
		if r.addend == 0 && !first {
			l.nameSecondKind(id)
		}
		first = false
		if y := &o.symbols[index]; target.Type == typeCapsule && isConstantSymbol(y) {
			found, known := fields.next(&r, index)
			if !known {
				return unsupported(o.name, "where '%s' holds the offset of '%s'", target.Name, y.Name)
			}
			if !found {
				continue
			}
		}
		r.offset += o.mirrored[s.Info]
		m := l.sections[id].mirrorOf()
		m.relocations = append(m.relocations, r)
	}
	if len(fields.rows) > 0 {
		return unsupported(o.name, "why '%s' does not hold the offsets of all constants", target.Name)
	}
	return nil
}

// resolveMirrorRow finds the symbol of a row of the second program and checks its
// place. Offsets in code count what its capsule expands to.
func (l *linker) resolveMirrorRow(o *object, s, target *elf64.Section, r *relocation, index uint32) error {
	if target.Type != typeCapsule && (r.offset > target.Size || target.Size-r.offset < 8) {
		return damage(o.name, "section %s: a relocation at %#x of %#x", target.Name, r.offset, target.Size)
	}
	if r.offset%4 != 0 && (target.Type == typeCapsule || !isDebug(o.file.Sections[s.Info].Name) || o.file.Sections[s.Info].Name == ".debug_frame") {
		return unsupported(o.name, "a relocation in '%s' at %#x", target.Name, r.offset)
	}
	if r.kind == capsuleField {
		return unsupported(o.name, "the relocation %#x of Mercury code", uint32(r.kind))
	}
	if err := l.resolveSymbol(o, s, r, index); err != nil {
		return err
	}
	if y := &o.symbols[index]; y.Type == elf64.SectionSymbol {
		r.base = o.mirrored[y.Section]
	}
	return nil
}

// decideMirror decides about the relocations of the second program, as
// decideRelocations does for the first one.
func (l *linker) decideMirror(s *section) error {
	if s.mirror == nil {
		return nil
	}
	target := &l.sections[s.owner]
	kept := make([]relocation, 0, len(s.mirror.relocations))
	for _, r := range slices.Backward(s.mirror.relocations) {
		keep, err := l.decideMirrorRow(target, &r)
		if err != nil {
			return err
		}
		if keep {
			kept = append(kept, r)
		}
	}
	s.mirror.relocations, s.mirror.size = kept, uint64(len(kept))*relaSize
	return nil
}

func (l *linker) decideMirrorRow(target *section, r *relocation) (keep bool, err error) {
	y, debug := &l.symbols[r.symbol], isDebug(target.name)
	switch {
	case r.kind == mirrorClear:
		if !r.lost && y.dead {
			target.mirror.patches = append(target.mirror.patches, patch{offset: r.offset, kind: relocClear})
		}
		return false, nil
	case debug && (y.dead || r.lost) || isUnifiedTable(y.name):
		return false, nil
	case debug && y.kind == elf64.SectionSymbol && l.sections[y.section].flags&flagExec == 0:
		kind := reloc64
		if r.kind == mirrorOffset3 {
			if kind = reloc32; r.base != 0 {
				return false, unsupported("", "the strings of the debug information of several inputs")
			}
		}
		target.mirror.patches = append(target.mirror.patches, patch{offset: r.offset, kind: kind, value: r.base, addend: r.addend})
		return false, nil
	case y.isShared() && (r.kind == mirrorOffset3 || r.kind == mirrorOffset4):
		return false, nil // known in the first program only
	case r.kind == capsuleField && y.defined():
		target.mirror.patches = append(target.mirror.patches, patch{offset: r.offset, kind: capsuleField, value: y.value, addend: r.addend})
		return false, nil
	}
	switch r.kind {
	case mirrorUnified:
		r.kind = mirror64
	case mirrorUniLow:
		r.kind = mirrorLow
	case mirrorUniHigh:
		r.kind = mirrorHigh
	case mirror64, mirrorLow, mirrorHigh, mirrorDescriptor, mirrorCall28, mirrorCall29, mirrorFrame, mirrorGlobal:
	case mirrorOffset3, mirrorOffset4:
		if strings.HasPrefix(y.name, ".nv.reservedSmem.") {
			break
		}
		fallthrough
	default:
		return false, unsupported("", "the relocation %#x of Mercury code in '%s' on '%s'", uint32(r.kind), target.name, y.name)
	}
	if y.dead && y.function != nil {
		return false, nil
	}
	if r.base != 0 || y.dead || y.hidden {
		return false, unsupported("", "the relocation %#x in '%s' on '%s', which is not in the output", uint32(r.kind), target.name, y.name)
	}
	return true, nil
}

// A lateBank is a kernel's bank 0, which belongs to the finalizer from sm_100
// on: its section comes last.
type lateBank struct {
	text    sectionID
	section elf64.Section
	data    []byte
}

func (l *linker) mergeLateBank(o *object, s *elf64.Section) error {
	if s.Flags&flagOwned == 0 || !isText(&o.file.Sections[s.Info]) {
		return unsupported(o.name, "the section '%s', which belongs to no function", s.Name)
	}
	if o.lost[s.Info] {
		return nil
	}
	text := o.placed[s.Info]
	if !text.done {
		return unsupported(o.name, "the section '%s', which belongs to no function", s.Name)
	}
	if slices.Max(append(o.bytes(s), 0)) != 0 {
		return unsupported(o.name, "parameters in '%s' that have a value", s.Name)
	}
	l.lateBanks = append(l.lateBanks, lateBank{text.section, *s, o.bytes(s)})
	return nil
}

// newLateBanks makes the sections of bank 0 in the order of the kernels, with
// symbols after all others, and makes the attributes of the kernels name them.
func (l *linker) newLateBanks() error {
	slices.SortStableFunc(l.lateBanks, func(a, b lateBank) int { return int(a.text - b.text) })
	for _, b := range l.lateBanks {
		text := &l.sections[b.text]
		if text.removed {
			continue
		}
		id := l.newSection(section{name: b.section.Name, kind: b.section.Type, flags: b.section.Flags, align: b.section.Align, owner: b.text, late: true}, false)
		out := &l.sections[id]
		out.setData(b.data)
		out.symbol = l.newSymbol(symbol{name: out.name, kind: elf64.SectionSymbol, section: id, late: true})
		info := l.symbols[out.function].function.info
		if info == noSection {
			continue
		}
		own := &l.sections[info].attributes
		for _, list := range [][]attribute{own.rows, own.tail} {
			for i := range list {
				if list[i].id == attrParamBank {
					list[i].symbols[0] = out.symbol
				}
			}
		}
	}
	return l.checkBanks()
}

// checkBanks sees to it that every attribute of a bank found its bank.
func (l *linker) checkBanks() error {
	for i := range l.sections {
		s := &l.sections[i]
		if s.kind != typeInfo || !s.live() || !l.mirrors() {
			continue
		}
		for _, list := range [][]attribute{s.attributes.rows, s.attributes.tail, s.mirrorOf().attributes.rows} {
			for j := range list {
				if list[j].id == attrParamBank && list[j].symbols[0] == noSymbol {
					return unsupported("", "parameters in '%s' without a bank of constants", s.name)
				}
			}
		}
	}
	return nil
}

// rewriteFrames makes .debug_frame anew, as the finalizer does: only of
// functions that are left, each description with a copy of its common part.
func (l *linker) rewriteFrames() error {
	id, ok := l.byOwner[sectionKey{".debug_frame", noSection}]
	if !ok {
		return nil
	}
	const (
		head  = 12 // 0xffffffff, u64 size
		start = 20 // of the code, after the u64 place of the common part
	)
	s := &l.sections[id]
	at := map[uint64]*relocation{}
	if rows, ok := l.byOwner[sectionKey{".rela.debug_frame", id}]; ok {
		list := l.sections[rows].relocations
		for i := range list {
			if list[i].addend != 0 {
				return unsupported("", "a .debug_frame of code that starts within '%s'", l.symbols[list[i].symbol].name)
			}
			at[list[i].offset] = &list[i]
		}
	}
	var common, frames []byte
	old := s.contents()
	for p := uint64(0); p < uint64(len(old)); {
		if uint64(len(old))-p < start {
			return unsupported("", "a .debug_frame that ends within an entry")
		}
		size := le.Uint64(old[p+4:])
		if le.Uint32(old[p:]) != 0xffffffff || size < 8 || size > uint64(len(old))-p-head {
			return unsupported("", "an entry of .debug_frame of %d bytes", size)
		}
		entry := slices.Clone(old[p : p+head+size])
		if le.Uint64(entry[head:]) == ^uint64(0) {
			common = entry
		} else if r := at[p+start]; r != nil {
			le.PutUint64(entry[head:], uint64(len(frames)))
			r.offset = uint64(len(frames)+len(common)) + start
			frames = append(append(frames, common...), entry...)
		}
		if len(frames) > 1<<20+4*len(old) {
			return unsupported("", "a .debug_frame whose common parts are that large")
		}
		p += head + size
	}
	s.patches = nil
	s.setData(frames)
	return nil
}

// contents joins the pieces of a section.
func (s *section) contents() []byte {
	b := make([]byte, s.size)
	for _, p := range s.pieces {
		copy(b[p.offset:], p.data)
	}
	return b
}
