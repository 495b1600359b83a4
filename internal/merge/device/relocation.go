package device

import (
	"fmt"
	"slices"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// instruction is how many bytes a relocation in code may change.
const instruction = 16

// A relocation is a row of an input, about symbols of the output.
type relocation struct {
	offset    uint64 // in the output section
	kind      cubin.Relocation
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
		//mutate: false noRows(o, s)
		//rule: Relocations of functions that lost go.
		//mutate: false o.discardedSections[s.Info]
		if s.Type != elf64.Rel && s.Type != elf64.Rela || noRows(o, s) || o.discardedSections[s.Info] {
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
	size := uint64(elf64.RelSize)
	if s.Type == elf64.Rela {
		size = elf64.RelaSize
	}
	b := o.bytes(s)
	if s.EntSize != size || uint64(len(b))%size != 0 {
		return damage(o.name, "section %s of %d bytes in rows of %d", s.Name, len(b), s.EntSize)
	}
	id := out.sections.findOrNew(section{name: s.Name, kind: s.Type, flags: elf64.InfoLink, align: 8, entry: size, owner: at.section}, false)
	if out.sections.list[id].kind != s.Type {
		return unsupported(o.name, "the section '%s', which is something else in another input", s.Name)
	}
	if err := mergeMercuryRows(out.rules, out.sections, out.names, out.report, o, s, id); err != nil {
		return err
	}
	hasMercury := o.mercuryOf(s.Name) != nil // then its rows decide about names
	for first := true; len(b) > 0; b = b[size:] {
		r := relocation{offset: le.Uint64(b), kind: cubin.Relocation(le.Uint32(b[8:])), rel: s.Type == elf64.Rel}
		if !r.rel {
			r.addend = int64(le.Uint64(b[16:]))
		}
		index := le.Uint32(b[12:])
		if index == 0 && (r.kind == cubin.R_CUDA_YIELD_OPCODE9_0 || r.kind == cubin.R_CUDA_YIELD_CLEAR_PRED4_87) {
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
		//mutate: false
		if !r.rel && r.addend == 0 && !first && !hasMercury {
			reserveRelName(out.rules, out.sections, out.names, id)
		}
		//rule: Only rows that stay make a second one.
		first = false
		if r.offset = at.place(r.offset); r.offset == nowhere {
			return unsupported(o.name, "a relocation in '%s' between variables", s.Name)
		}
		if out.sections.list[at.section].flags&elf64.Exec != 0 {
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
	if !cubin.IsConstantBank(o.file.Sections[s.Info].Type) || rules.options.FixNvlinkBugs {
		return inLoser
	}
	y := &o.symbols[symbol]
	//rule: Addresses in constants of what lost are dropped.
	//mutate: false
	leftOut := r.discarded || slices.Contains(o.discardedVariables[y.Section], y)
	if leftOut && !inLoser && r.kind < cubin.MercuryRelocation { // it is said once
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
	} else if r.kind == cubin.R_CUDA_32 {
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
			return unsupported(o.name, "the relocation %d in '%s' on the section '%s'", uint32(r.kind), s.Name, y.Name)
		}
		r.symbol, r.base = sections.list[at.section].symbol, at.offset
		if r.symbol == noSymbol {
			return unsupported(o.name, "the relocation %d in '%s' on the section '%s'", uint32(r.kind), s.Name, y.Name)
		}
		return nil
	}
	r.symbol = o.symbolOf[index]
	if r.symbol == noSymbol {
		return unsupported(o.name, "the relocation %d in '%s' on the symbol '%s'", uint32(r.kind), s.Name, y.Name)
	}
	r.discarded = o.isDiscarded(index)
	return nil
}

// A patch is a change of the bytes of a section that a relocation asks for.
type patch struct {
	offset uint64
	kind   cubin.Relocation
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
		if s.kind != elf64.Rel && s.kind != elf64.Rela || !s.live() {
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
		//mutate: forward
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
	case cubin.R_CUDA_ABS56_16_34:
		//rule: Offsets in unified tables are dropped.
		//mutate: true
		return false, nil
	case cubin.R_CUDA_UNIFIED32_LO_32:
		//rule: Relocations of unified tables become plain ones.
		r.kind = cubin.R_CUDA_ABS32_LO_32
	case cubin.R_CUDA_UNIFIED32_HI_32:
		r.kind = cubin.R_CUDA_ABS32_HI_32
	case cubin.R_CUDA_UNIFIED:
		r.kind = cubin.R_CUDA_64
	case cubin.R_CUDA_ABS32_32, cubin.R_CUDA_ABS16_32, cubin.R_CUDA_CONST_FIELD19_40, cubin.R_CUDA_CONST_FIELD21_38, cubin.R_CUDA_CONST_FIELD22_37, cubin.R_CUDA_ABS24_40:
		return false, patchCode(rules, symbols, sections, calls, target, r, y)
	case cubin.R_CUDA_64, cubin.R_CUDA_G64, cubin.R_CUDA_ABS32_LO_32, cubin.R_CUDA_ABS32_HI_32, cubin.R_CUDA_ABS47_34, cubin.R_CUDA_ABS55_16_34, cubin.R_CUDA_FUNC_DESC_64, cubin.R_CUDA_FUNC_DESC32_LO_32, cubin.R_CUDA_FUNC_DESC32_HI_32:
	default:
		return false, unsupported("", "the relocation %d in '%s' on '%s'", uint32(r.kind), target.name, y.name)
	}
	if y.dead && y.function != nil {
		//rule: A call that is never made has no relocation.
		//mutate: true
		return false, nil // a call that is never made, see markLive
	}
	if r.base != 0 || y.dead || y.hidden {
		return false, unsupported("", "the relocation %d in '%s' on '%s', which is not in the output", uint32(r.kind), target.name, y.name)
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
	case y.name == bankSize && target.flags&elf64.Exec != 0 && !rules.mercury:
		//rule: The size of bank 0 is -1.
		p.value = ^uint64(0)
	case y.kind != cubin.STT_CUDA_OBJECT || target.flags&elf64.Exec == 0:
		return unsupported("", "the relocation %d in '%s' on '%s'", uint32(r.kind), target.name, y.name)
	case y.isShared() && y.placed:
		p.value = y.address
	case y.isShared() && !y.defined() && len(calls.reached.by[target.function]) == 0:
		//rule: Dynamic memory that no kernel reaches is at -1.
		p.value = ^uint64(0)
	case y.isShared() && !y.defined():
		for _, k := range calls.reached.by[target.function] {
			//rule: Dynamic memory starts where the kernels that reach the code agree.
			//mutate: sections.list[symbols.list[k].function.shared].dynamic -> sections.list[symbols.list[k].function.shared].size
			p.value = max(p.value, sections.list[symbols.list[k].function.shared].dynamic)
		}
	case cubin.IsConstantBank(sections.list[y.section].kind):
		s := &sections.list[y.section]
		//rule: Constants of functions count from where they moved.
		//mutate: y.value+s.moved -> y.value
		p.value, p.bank = y.value+s.moved, uint8(s.kind-cubin.SHT_CUDA_CONSTANT_B0)
	default:
		return unsupported("", "the relocation %d in '%s' on '%s'", uint32(r.kind), target.name, y.name)
	}
	target.patches = append(target.patches, p)
	return nil
}

// decideInDebug decides about a relocation in debug information: what points
// into other debug information, or at shared memory, is known now.
func decideInDebug(symbols *symbolTable, sections *sectionTable, target *section, r *relocation) (keep bool, err error) {
	y := &symbols.list[r.symbol]
	if r.kind == cubin.R_CUDA_UNUSED_CLEAR64 {
		//rule: The size of a removed function in .debug_frame is cleared.
		//mutate: false
		if !r.discarded && y.dead {
			target.patches = append(target.patches, patch{offset: r.offset, kind: cubin.R_CUDA_UNUSED_CLEAR64})
		}
		return false, nil
	}
	if r.kind == cubin.R_CUDA_G64 && y.kind == cubin.STT_CUDA_OBJECT && !y.isShared() && !y.hidden {
		//rule: Addresses of global variables in debug information stay relocations.
		//mutate: false
		return true, nil
	}
	if r.kind != cubin.R_CUDA_32 && r.kind != cubin.R_CUDA_64 {
		return false, unsupported("", "the relocation %d in '%s' on '%s'", uint32(r.kind), target.name, y.name)
	}
	p := patch{offset: r.offset, kind: r.kind, addend: r.addend, rel: r.rel}
	switch {
	//rule: Debug information has -1 for the shared variables of removed kernels.
	//mutate: !y.placed -> !y.placed && !y.defined()
	case y.isShared() && !y.placed: // dynamic, or of a removed kernel
		p.value = ^uint64(0)
	case y.isShared():
		//rule: Debug information has the addresses of shared variables.
		p.value = y.address
	//rule: Debug information of a function that lost stays in .debug_info and .debug_loc only.
	//mutate: false r.discarded
	//rule: Debug information of removed functions has no relocations.
	//mutate: false y.dead
	//rule: .debug_loc keeps what is about functions that lost.
	//mutate: true target.name != ".debug_loc"
	case y.dead || r.discarded && target.name != ".debug_info" && target.name != ".debug_loc":
		return false, nil
	case y.kind == elf64.SectionSymbol && sections.list[y.section].flags&elf64.Exec == 0:
		//rule: References between debug sections count from the input's part.
		p.value = r.base
	case y.hidden || r.base != 0:
		return false, unsupported("", "the relocation %d in '%s' on '%s', which is not in the output", uint32(r.kind), target.name, y.name)
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
	case cubin.R_CUDA_UNUSED_CLEAR64:
		clear(b[:8])
	case cubin.R_CUDA_64:
		p.setWord(b[:8])
	case cubin.R_CUDA_32:
		p.setWord(b[:4])
	case capsuleField:
		le.PutUint16(b, uint16(p.value+uint64(p.addend)))
	case cubin.R_CUDA_ABS32_32:
		p.setField(b, 32, 32)
	case cubin.R_CUDA_ABS16_32:
		p.setField(b, 32, 16)
	case cubin.R_CUDA_ABS24_40:
		p.setField(b, 40, 24)
	case cubin.R_CUDA_CONST_FIELD22_37:
		p.setField(b, 37, 16)
	case cubin.R_CUDA_CONST_FIELD21_38:
		p.setField(b, 38, 16)
		//rule: Instructions name the bank.
		setBits(b, 54, 5, uint64(p.bank))
	case cubin.R_CUDA_CONST_FIELD19_40:
		value := uint64(p.addend)
		if p.rel {
			value = bits(b, 40, 14) * 4
		}
		//rule: Offsets of constants in words are words.
		//mutate: (p.value+value)/4 -> p.value+value
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
