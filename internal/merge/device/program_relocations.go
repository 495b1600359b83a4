package device

import (
	"slices"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// relAction says how the driver treats relocations; it is the same in all
// programs up to sm_90.
var relAction = []byte{0x73, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x25, 0, 0x05, 0x36}

func newRelAction(rules *ruleSet, sections *sectionTable) {
	if rules.mercury {
		return
	}
	id := sections.newSection(section{name: ".nv.rel.action", kind: cubin.SHT_CUDA_RELOCINFO, align: 8, entry: 8,
		owner: noSection}, true)
	//rule: Every program says how the driver treats relocations.
	sections.list[id].setData(relAction)
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
		if (s.kind != elf64.Rel && s.kind != elf64.Rela) || !s.live() {
			continue
		}
		target := &sections.list[s.owner]
		decide := func(r *relocation) (keep bool, err error) {
			return decideInCode(rules, symbols, sections, calls, target, r)
		}
		if isDebug(target.name) {
			decide = func(r *relocation) (keep bool, err error) { return decideInDebug(symbols, sections, target, r) }
		}
		kept := make([]relocation, 0, len(s.edits.relocations))
		//rule: Rows of relocations come in the reverse order.
		//mutate: forward
		for _, r := range slices.Backward(s.edits.relocations) {
			keep, err := decide(&r)
			if err != nil {
				return err
			}
			if keep {
				kept = append(kept, r)
			}
		}
		s.edits.relocations = kept
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
func decideInCode(rules *ruleSet, symbols *symbolTable, sections *sectionTable, calls *callGraph, target *section,
	r *relocation) (keep bool, err error) {
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
	case cubin.R_CUDA_ABS32_32, cubin.R_CUDA_ABS16_32, cubin.R_CUDA_CONST_FIELD19_40, cubin.R_CUDA_CONST_FIELD21_38,
		cubin.R_CUDA_CONST_FIELD22_37, cubin.R_CUDA_ABS24_40, cubin.R_CUDA_ABS20_44:
		return false, patchCode(rules, symbols, sections, calls, target, r, y)
	case cubin.R_CUDA_64, cubin.R_CUDA_G64, cubin.R_CUDA_ABS32_LO_32, cubin.R_CUDA_ABS32_HI_32, cubin.R_CUDA_ABS47_34,
		cubin.R_CUDA_ABS55_16_34, cubin.R_CUDA_FUNC_DESC_64, cubin.R_CUDA_FUNC_DESC32_LO_32, cubin.R_CUDA_FUNC_DESC32_HI_32:
	default:
		return false, unsupported("", "the relocation %d in '%s' on '%s'", uint32(r.kind), target.name, y.name)
	}
	if y.dead && y.function != nil {
		//rule: A call that is never made has no relocation.
		//mutate: true
		return false, nil // a call that is never made, see markLive
	}
	if r.base != 0 || y.dead || y.hidden {
		return false, unsupported("", "the relocation %d in '%s' on '%s', which is not in the output", uint32(r.kind),
			target.name, y.name)
	}
	return true, nil
}

// patchCode asks for the offset of a variable in its memory to be put into an
// instruction.
func patchCode(rules *ruleSet, symbols *symbolTable, sections *sectionTable, calls *callGraph, target *section,
	r *relocation, y *symbol) error {
	p := patch{offset: r.offset, kind: r.kind, addend: r.addend, rel: r.rel}
	switch {
	case y.name == bankSize && rules.options.Debug:
		return unsupported("", "which size of parameters the code in '%s' gets with -g", target.name)
	case y.name == bankSize && target.flags&elf64.Exec != 0 && !rules.mercury:
		//rule: The size of bank 0 is -1.
		p.value = ^uint64(0)
	case y.kind != cubin.STT_CUDA_OBJECT || target.flags&elf64.Exec == 0:
		return unsupported("", "the relocation %d in '%s' on '%s'", uint32(r.kind), target.name, y.name)
	case y.isShared() && y.shared.placed:
		p.value = y.shared.address
	case y.isShared() && !y.defined() && len(calls.reached.by[target.function]) == 0:
		//rule: Dynamic memory that no kernel reaches is at -1.
		p.value = ^uint64(0)
	case y.isShared() && !y.defined():
		for _, k := range calls.reached.by[target.function] {
			//rule: Dynamic memory starts where the kernels that reach the code agree.
			//mutate: dynamic -> size
			p.value = max(p.value, sections.sharedOf(symbols.list[k].function).dynamic)
		}
	case cubin.IsConstantBank(sections.list[y.section].kind):
		s := &sections.list[y.section]
		//rule: Constants of functions count from where they moved.
		//mutate: y.value+s.bank.moved -> y.value
		p.value, p.bank = y.value+s.bank.moved, uint8(s.kind-cubin.SHT_CUDA_CONSTANT_B0)
	default:
		return unsupported("", "the relocation %d in '%s' on '%s'", uint32(r.kind), target.name, y.name)
	}
	target.edits.patches = append(target.edits.patches, p)
	return nil
}

// isWrittenVariable reports whether a symbol is a variable of the output that is not in
// shared memory.
func (y *symbol) isWrittenVariable() bool {
	return y.kind == cubin.STT_CUDA_OBJECT && !y.isShared() && !y.hidden
}

// decideInDebug decides about a relocation in debug information: what points
// into other debug information, or at shared memory, is known now.
func decideInDebug(symbols *symbolTable, sections *sectionTable, target *section, r *relocation) (keep bool,
	err error) {
	y := &symbols.list[r.symbol]
	if r.kind == cubin.R_CUDA_UNUSED_CLEAR64 {
		//rule: The size of a removed function in .debug_frame is cleared.
		//mutate: false
		if !r.discarded && y.dead {
			target.edits.patches = append(target.edits.patches, patch{offset: r.offset, kind: cubin.R_CUDA_UNUSED_CLEAR64})
		}
		return false, nil
	}
	if r.kind == cubin.R_CUDA_G64 && y.isWrittenVariable() {
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
	//mutate: !y.shared.placed -> !y.shared.placed && !y.defined()
	case y.isShared() && !y.shared.placed: // dynamic, or of a removed kernel
		p.value = ^uint64(0)
	case y.isShared():
		//rule: Debug information has the addresses of shared variables.
		p.value = y.shared.address
	//rule: Debug information of a function that lost stays in .debug_info and .debug_loc only.
	//mutate: false r.discarded
	//rule: Debug information of removed functions has no relocations.
	//mutate: false y.dead
	//rule: .debug_loc keeps what is about functions that lost.
	//mutate: true target.name != ".debug_loc"
	case y.dead || (r.discarded && target.name != ".debug_info" && target.name != ".debug_loc"):
		return false, nil
	case y.kind == elf64.SectionSymbol && sections.list[y.section].flags&elf64.Exec == 0:
		//rule: References between debug sections count from the input's part.
		p.value = r.base
	case y.hidden || r.base != 0:
		return false, unsupported("", "the relocation %d in '%s' on '%s', which is not in the output", uint32(r.kind),
			target.name, y.name)
	default:
		return true, nil
	}
	target.edits.patches = append(target.edits.patches, p)
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
	case cubin.R_CUDA_ABS20_44:
		//rule: Copies to shared memory have its offset in 20 bits, after that in global memory.
		p.setField(b, 44, 20)
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
