package device

import (
	"fmt"
	"slices"

	"github.com/warpld/warpld/internal/object/elf64"
)

// A relocationKind is R_CUDA_*. The names say the width and the first bit of
// the field in an instruction of 128 bits.
type relocationKind uint32

const (
	reloc32        relocationKind = 1
	reloc64        relocationKind = 2
	relocGlobal64  relocationKind = 4
	relocDesc64    relocationKind = 35 // of a function's descriptor
	relocAbs32At32 relocationKind = 55
	relocLow32     relocationKind = 56
	relocHigh32    relocationKind = 57
	relocCall47    relocationKind = 58
	relocAbs16At32 relocationKind = 59
	relocDescLow   relocationKind = 62
	relocDescHigh  relocationKind = 63
	relocConst19   relocationKind = 64 // in words, with the bank
	relocConst21   relocationKind = 66 // in bytes, with the bank
	relocYieldCode relocationKind = 68 // would make a YIELD a NOP; about no symbol
	relocYieldPred relocationKind = 69
	relocClear     relocationKind = 73 // clears the size of a removed function in .debug_frame
	relocAbs24At40 relocationKind = 74
	relocCall55    relocationKind = 75
	relocUnified   relocationKind = 102 // those of unified tables are plain ones if there are none
	relocUniLow    relocationKind = 112
	relocUniHigh   relocationKind = 113
	relocUniOffset relocationKind = 114 // the code is right without a table
	relocConst16   relocationKind = 115 // in bytes; the bank is there
)

// instruction is how many bytes a relocation in code may change.
const instruction = 16

// A relocation is a row of an input, about symbols of the output.
type relocation struct {
	offset    uint64 // in the output section
	kind      relocationKind
	symbol    symbolID
	addend    int64
	rel       bool   // no addend: it is in the field
	base      uint64 // for a section symbol: where the section of the input starts
	discarded bool   // about a function here that another definition has won over
}

// mergeRelocations brings in the relocations of an input.
func mergeRelocations(out *output, o *object) error {
	for i := range o.file.Sections {
		s := &o.file.Sections[i]
		//rule: Relocations are named by their own input's sections only if they have rows.
		//sassNamemutatesassName: sassNamefalsesassName sassNamenoRowssassName(sassNameosassName, sassNamessassName)
		//rule: Relocations of functions that lost go.
		//sassNamemutatesassName: sassNamefalsesassName sassNameosassName.sassNamelostsassName[sassNamessassName.sassNameInfosassName]
		if s.Type != typeRel && s.Type != typeRela || noRows(o, s) || o.discardedSections[s.Info] {
			continue
		}
		at := o.sectionOf[s.Info]
		if !at.done {
			return unsupported(o.name, "the relocations of section %d", s.Info)
		}
		if at.section == noSection {
			continue
		}
		if err := mergeRows(out, o, s, at); err != nil {
			return err
		}
	}
	return nil
}

// noRows reports whether a section of relocations is empty, and so is its
// mirror.
func noRows(o *object, s *elf64.Section) bool {
	mercury := o.mercuryOf(s.Name)
	return s.Size == 0 && (mercury == nil || mercury.Size == 0)
}

// mergeRows brings in the rows of one section: offset u64, kind u32, symbol
// u32 and, in RELA, an addend i64.
func mergeRows(out *output, o *object, s *elf64.Section, at placement) error {
	size := uint64(relSize)
	if s.Type == typeRela {
		size = relaSize
	}
	b := o.bytes(s)
	if s.EntSize != size || uint64(len(b))%size != 0 {
		return damage(o.name, "section %s of %d bytes in rows of %d", s.Name, len(b), s.EntSize)
	}
	id := out.sections.findOrNew(section{name: s.Name, kind: s.Type, flags: flagOwned, align: 8, entry: size, owner: at.section}, false)
	if out.sections.list[id].kind != s.Type {
		return unsupported(o.name, "the section '%s', which is something else in another input", s.Name)
	}
	if err := mergeMercuryRows(out.rules, out.sections, out.names, out.report, o, s, id); err != nil {
		return err
	}
	hasMercury := o.mercuryOf(s.Name) != nil // then its rows decide about names
	for first := true; len(b) > 0; b = b[size:] {
		r := relocation{offset: le.Uint64(b), kind: relocationKind(le.Uint32(b[8:])), rel: s.Type == typeRel}
		if !r.rel {
			r.addend = int64(le.Uint64(b[16:]))
		}
		index := le.Uint32(b[12:])
		if index == 0 && (r.kind == relocYieldCode || r.kind == relocYieldPred) {
			first = false
			//rule: Relocations that would make a YIELD a NOP go.
			continue // the instruction stays as it is
		}
		if err := out.sections.resolveRow(o, s, &r, index); err != nil {
			return err
		}
		if leftOut(out.rules, out.report, o, s, &r, index) {
			continue
		}
		//rule: A row without an addend after the first one names the other kind of section.
		//sassNamemutatesassName: sassNamefalsesassName
		if !r.rel && r.addend == 0 && !first && !hasMercury {
			reserveRelName(out.rules, out.sections, out.names, id)
		}
		//rule: Only rows that stay make a second one.
		first = false
		if r.offset = at.place(r.offset); r.offset == nowhere {
			return unsupported(o.name, "a relocation in '%s' between variables", s.Name)
		}
		if out.sections.list[at.section].flags&flagExec != 0 {
			out.symbols.list[r.symbol].referred = true
		}
		rows := &out.sections.list[id]
		rows.relocations = append(rows.relocations, r)
	}
	return nil
}

// leftOut reports whether a row about a symbol of the input does not take part: one
// in a variable that lost. Among constants nvlink leaves out those that are about
// something that lost, although the constant that is to hold its address may have
// won: the address is null then.
func leftOut(rules *ruleSet, report *linkReport, o *object, s *elf64.Section, r *relocation, symbol uint32) bool {
	inLoser := o.inDiscarded(s.Info, r.offset)
	if !isConstant(o.file.Sections[s.Info].Type) || rules.options.FixNvlinkBugs {
		return inLoser
	}
	y := &o.symbols[symbol]
	//rule: Addresses in constants of what lost are dropped.
	//sassNamemutatesassName: sassNamefalsesassName
	leftOut := r.discarded || slices.Contains(o.discardedVariables[y.Section], y)
	if leftOut && !inLoser && r.kind < mercuryKindBase { // it is said once
		report.warnOfNvlink("null-constant", fmt.Sprintf("nvlink leaves an address in the constants of '%s' null, because another input defines '%s' too", o.name, y.Name))
	}
	return leftOut
}

// reserveRelName enters the name that rows without an addend would have a
// section of, where nvlink thinks of making one.
func reserveRelName(rules *ruleSet, sections *sectionTable, names *nameTables, id sectionID) {
	s := &sections.list[id]
	if s.hasRelName {
		return
	}
	s.hasRelName = true
	name := ".rel" + s.name[len(".rela"):]
	if rules.mercury {
		name = ".rel" + mercuryName(s.name)[len(".rela"):]
	}
	names.sections.addSection(name, id)
	names.symbols.addSection(name, id)
}

// resolveRow finds the symbol of a row and checks its place.
func (sections *sectionTable) resolveRow(o *object, s *elf64.Section, r *relocation, index uint32) error {
	target := &o.file.Sections[s.Info]
	width := uint64(8)
	if isText(target) {
		width = instruction
	} else if r.kind == reloc32 {
		width = 4
	}
	if occupiesOnly(target.Type) || r.offset > target.Size || target.Size-r.offset < width {
		return damage(o.name, "section %s: a relocation at %#x of %#x", s.Name, r.offset, target.Size)
	}
	if !isAligned(r.offset, target) {
		return unsupported(o.name, "a relocation in '%s' at %#x", target.Name, r.offset)
	}
	return sections.resolveSymbol(o, s, r, index)
}

// resolveSymbol finds the symbol of a row.
func (sections *sectionTable) resolveSymbol(o *object, s *elf64.Section, r *relocation, index uint32) error {
	if uint64(index) >= uint64(len(o.symbols)) {
		return damage(o.name, "section %s: a relocation on symbol %d of %d", s.Name, index, len(o.symbols))
	}
	y := &o.symbols[index]
	if y.Type == elf64.SectionSymbol {
		at := o.sectionOf[y.Section]
		if !at.done || at.section == noSection {
			return unsupported(o.name, "the relocation %d in '%s' on the section '%s'", r.kind, s.Name, y.Name)
		}
		r.symbol, r.base = sections.list[at.section].symbol, at.offset
		if r.symbol == noSymbol {
			return unsupported(o.name, "the relocation %d in '%s' on the section '%s'", r.kind, s.Name, y.Name)
		}
		return nil
	}
	r.symbol = o.symbolOf[index]
	if r.symbol == noSymbol {
		return unsupported(o.name, "the relocation %d in '%s' on the symbol '%s'", r.kind, s.Name, y.Name)
	}
	r.discarded = o.isDiscarded(index)
	return nil
}

// A patch is a change of the bytes of a section that a relocation asks for.
type patch struct {
	offset uint64
	kind   relocationKind
	value  uint64
	addend int64
	rel    bool
	bank   uint8
}

// decideRelocations splits the relocations into those that the driver does,
// which stay, and those whose values the link knows.
func decideRelocations(rules *ruleSet, symbols *symbolTable, sections *sectionTable, calls *callGraph) error {
	for i := range sections.list {
		s := &sections.list[i]
		if s.kind != typeRel && s.kind != typeRela || !s.live() {
			continue
		}
		target := &sections.list[s.owner]
		decide := func(r *relocation) (keep bool, err error) {
			return decideInCode(rules, symbols, sections, calls, target, r)
		}
		if isDebug(target.name) {
			decide = func(r *relocation) (keep bool, err error) { return decideInDebug(symbols, sections, target, r) }
		}
		kept := make([]relocation, 0, len(s.relocations))
		//rule: Rows of relocations come in the reverse order.
		//sassNamemutatesassName: sassNameforwardsassName
		for _, r := range slices.Backward(s.relocations) {
			keep, err := decide(&r)
			if err != nil {
				return err
			}
			if keep {
				kept = append(kept, r)
			}
		}
		s.relocations = kept
		s.size = uint64(len(kept)) * s.entry
		if err := decideMercury(symbols, sections, s); err != nil {
			return err
		}
		s.dropped = len(kept) == 0 && (s.mercury == nil || len(s.mercury.relocations) == 0)
	}
	if !rules.mercury {
		return nil
	}
	if err := rewriteFrames(symbols, sections); err != nil {
		return err
	}
	return rewriteLines(symbols, sections)
}

// decideInCode decides about a relocation in code or data.
func decideInCode(rules *ruleSet, symbols *symbolTable, sections *sectionTable, calls *callGraph, target *section, r *relocation) (keep bool, err error) {
	y := &symbols.list[r.symbol]
	switch r.kind {
	case relocUniOffset:
		//rule: Offsets in unified tables are dropped.
		//sassNamemutatesassName: sassNametruesassName
		return false, nil
	case relocUniLow:
		//rule: Relocations of unified tables become plain ones.
		r.kind = relocLow32
	case relocUniHigh:
		r.kind = relocHigh32
	case relocUnified:
		r.kind = reloc64
	case relocAbs32At32, relocAbs16At32, relocConst19, relocConst21, relocConst16, relocAbs24At40:
		return false, patchCode(rules, symbols, sections, calls, target, r, y)
	case reloc64, relocGlobal64, relocLow32, relocHigh32, relocCall47, relocCall55, relocDesc64, relocDescLow, relocDescHigh:
	default:
		return false, unsupported("", "the relocation %d in '%s' on '%s'", r.kind, target.name, y.name)
	}
	if y.dead && y.function != nil {
		//rule: A call that is never made has no relocation.
		//sassNamemutatesassName: sassNametruesassName
		return false, nil // a call that is never made, see markLive
	}
	if r.base != 0 || y.dead || y.hidden {
		return false, unsupported("", "the relocation %d in '%s' on '%s', which is not in the output", r.kind, target.name, y.name)
	}
	return true, nil
}

// patchCode asks for the offset of a variable in its memory to be put into an
// instruction.
func patchCode(rules *ruleSet, symbols *symbolTable, sections *sectionTable, calls *callGraph, target *section, r *relocation, y *symbol) error {
	p := patch{offset: r.offset, kind: r.kind, addend: r.addend, rel: r.rel}
	switch {
	case y.name == bankSize && rules.options.Debug:
		return unsupported("", "which size of parameters the code in '%s' gets with -g", target.name)
	case y.name == bankSize && target.flags&flagExec != 0 && !rules.mercury:
		//rule: The size of bank 0 is -1.
		p.value = ^uint64(0)
	case y.kind != typeData || target.flags&flagExec == 0:
		return unsupported("", "the relocation %d in '%s' on '%s'", r.kind, target.name, y.name)
	case y.isShared() && y.placed:
		p.value = y.address
	case y.isShared() && !y.defined() && len(calls.reached.by[target.function]) == 0:
		//rule: Dynamic memory that no kernel reaches is at -1.
		p.value = ^uint64(0)
	case y.isShared() && !y.defined():
		for _, k := range calls.reached.by[target.function] {
			//rule: Dynamic memory starts where the kernels that reach the code agree.
			//sassNamemutatesassName: sassNamesectionssassName.sassNamelistsassName[sassNamesymbolssassName.sassNamelistsassName[sassNameksassName].sassNamefunctionsassName.sassNamesharedsassName].sassNamedynamicsassName -> sassNamesectionssassName.sassNamelistsassName[sassNamesymbolssassName.sassNamelistsassName[sassNameksassName].sassNamefunctionsassName.sassNamesharedsassName].sassNamesizesassName
			p.value = max(p.value, sections.list[symbols.list[k].function.shared].dynamic)
		}
	case isConstant(sections.list[y.section].kind):
		s := &sections.list[y.section]
		//rule: Constants of functions count from where they moved.
		//sassNamemutatesassName: sassNameysassName.sassNamevaluesassName+sassNamessassName.sassNamemovedsassName -> sassNameysassName.sassNamevaluesassName
		p.value, p.bank = y.value+s.moved, uint8(s.kind-typeConstant0)
	default:
		return unsupported("", "the relocation %d in '%s' on '%s'", r.kind, target.name, y.name)
	}
	target.patches = append(target.patches, p)
	return nil
}

// decideInDebug decides about a relocation in debug information: what points
// into other debug information, or at shared memory, is known now.
func decideInDebug(symbols *symbolTable, sections *sectionTable, target *section, r *relocation) (keep bool, err error) {
	y := &symbols.list[r.symbol]
	if r.kind == relocClear {
		//rule: The size of a removed function in .debug_frame is cleared.
		//sassNamemutatesassName: sassNamefalsesassName
		if !r.discarded && y.dead {
			target.patches = append(target.patches, patch{offset: r.offset, kind: relocClear})
		}
		return false, nil
	}
	if r.kind == relocGlobal64 && y.kind == typeData && !y.isShared() && !y.hidden {
		//rule: Addresses of global variables in debug information stay relocations.
		//sassNamemutatesassName: sassNamefalsesassName
		return true, nil
	}
	if r.kind != reloc32 && r.kind != reloc64 {
		return false, unsupported("", "the relocation %d in '%s' on '%s'", r.kind, target.name, y.name)
	}
	p := patch{offset: r.offset, kind: r.kind, addend: r.addend, rel: r.rel}
	switch {
	//rule: Debug information has -1 for the shared variables of removed kernels.
	//sassNamemutatesassName: !sassNameysassName.sassNameplacedsassName -> !sassNameysassName.sassNameplacedsassName && !sassNameysassName.sassNamedefinedsassName()
	case y.isShared() && !y.placed: // dynamic, or of a removed kernel
		p.value = ^uint64(0)
	case y.isShared():
		//rule: Debug information has the addresses of shared variables.
		p.value = y.address
	//rule: Debug information of a function that lost stays in .debug_info and .debug_loc only.
	//sassNamemutatesassName: sassNamefalsesassName sassNamersassName.sassNamediscardedAtsassName
	//rule: Debug information of removed functions has no relocations.
	//sassNamemutatesassName: sassNamefalsesassName sassNameysassName.sassNamedeadsassName
	//rule: .debug_loc keeps what is about functions that lost.
	//sassNamemutatesassName: sassNametruesassName sassNametargetsassName.sassNamenamesassName != ".sassNamedebug_locsassName"
	case y.dead || r.discarded && target.name != ".debug_info" && target.name != ".debug_loc":
		return false, nil
	case y.kind == elf64.SectionSymbol && sections.list[y.section].flags&flagExec == 0:
		//rule: References between debug sections count from the input's part.
		p.value = r.base
	case y.hidden || r.base != 0:
		return false, unsupported("", "the relocation %d in '%s' on '%s', which is not in the output", r.kind, target.name, y.name)
	default:
		return true, nil
	}
	target.patches = append(target.patches, p)
	return false, nil
}

// apply changes the bytes of a section. mergeRows has checked that they are
// there.
func (p *patch) apply(data []byte) {
	b := data[p.offset:]
	switch p.kind {
	case relocClear:
		clear(b[:8])
	case reloc64:
		p.setWord(b[:8])
	case reloc32:
		p.setWord(b[:4])
	case capsuleField:
		le.PutUint16(b, uint16(p.value+uint64(p.addend)))
	case relocAbs32At32:
		p.setField(b, 32, 32)
	case relocAbs16At32:
		p.setField(b, 32, 16)
	case relocAbs24At40:
		p.setField(b, 40, 24)
	case relocConst16:
		p.setField(b, 37, 16)
	case relocConst21:
		p.setField(b, 38, 16)
		//rule: Instructions name the bank.
		setBits(b, 54, 5, uint64(p.bank))
	case relocConst19:
		value := uint64(p.addend)
		if p.rel {
			value = bits(b, 40, 14) * 4
		}
		//rule: Offsets of constants in words are words.
		//sassNamemutatesassName: (sassNamepsassName.sassNamevaluesassName+sassNamevaluesassName)/sassName4sassName -> sassNamepsassName.sassNamevaluesassName+sassNamevaluesassName
		setBits(b, 40, 14, (p.value+value)/4)
		setBits(b, 54, 5, uint64(p.bank))
	}
}

// setWord puts the value plus the addend into a word of data.
func (p *patch) setWord(b []byte) {
	var word [8]byte
	copy(word[:], b)
	if !p.rel {
		le.PutUint64(word[:], uint64(p.addend))
	}
	le.PutUint64(word[:], le.Uint64(word[:])+p.value)
	copy(b, word[:])
}

// setField puts the value plus the addend into a field of an instruction.
func (p *patch) setField(b []byte, first, count uint) {
	value := uint64(p.addend)
	if p.rel {
		//rule: Addends may be in the field.
		value = bits(b, first, count)
	}
	setBits(b, first, count, p.value+value)
}

// bits reads a field in the lower half of an instruction, where all of them
// are.
func bits(b []byte, first, count uint) uint64 { return le.Uint64(b) >> first & (1<<count - 1) }

func setBits(b []byte, first, count uint, value uint64) {
	mask := uint64(1<<count-1) << first
	le.PutUint64(b, le.Uint64(b)&^mask|value<<first&mask)
}
