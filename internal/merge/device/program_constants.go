package device

import (
	"fmt"
	"slices"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// keepsDiscarded reports whether constants of a function that lost stay: nvlink puts them
// after those of the one that won, where no code reads them.
func (rules *ruleSet) keepsDiscarded(s *elf64.Section) bool {
	return !rules.options.FixNvlinkBugs && !rules.options.Relocatable && !rules.mercury &&
		cubin.IsConstantBank(s.Type) && s.Type != cubin.SHT_CUDA_CONSTANT_B0
}

// winner is the code of the function that won over that in a section of an input.
func (symbols *symbolTable) winner(o *object, section uint32) sectionID {
	for i := range o.symbols {
		if y := &o.symbols[i]; y.Type == elf64.Function && y.Section == section {
			return symbols.list[o.symbolOf[i]].section
		}
	}
	return noSection
}

// moveConstants gives the constants of device functions to every kernel that
// reaches them, at one offset that is free in all of these kernels.
func moveConstants(symbols *symbolTable, sections *sectionTable, calls *callGraph, banks *constantTable) {
	var moving []sectionID
	for i := range sections.list {
		s := &sections.list[i]
		if s.live() && cubin.IsConstantBank(s.kind) && s.function != noSymbol && !symbols.list[s.function].isKernel() {
			moving = append(moving, sectionID(i))
		}
	}
	//rule: Constants of functions move in the reverse order.
	//mutate: forward
	for _, id := range slices.Backward(moving) {
		moveConstant(symbols, sections, calls, banks, id)
	}
}

func moveConstant(symbols *symbolTable, sections *sectionTable, calls *callGraph, banks *constantTable, id sectionID) {
	s := sections.list[id]
	var kernels []sectionID
	var at uint64
	// All banks get the largest alignment.
	align := s.align
	for _, k := range slices.Backward(slices.Sorted(slices.Values(calls.reached.by[s.function]))) { // the newest first
		bank := sections.findOrNew(section{name: bankName(s.kind) + "." + symbols.list[k].name, kind: s.kind, flags: s.flags,
			align: s.align, owner: symbols.list[k].section}, true)
		kernels = append(kernels, bank)
		//rule: They have one offset in all kernels.
		//mutate: max(at, sections.list[bank].size) -> sections.list[bank].size
		at, align = max(at, sections.list[bank].size), max(align, sections.list[bank].align)
	}
	at = alignUp(at, align)
	for _, bank := range kernels {
		out := &sections.list[bank]
		//rule: Banks get the largest alignment.
		out.align = align
		for _, p := range s.pieces {
			out.pieces = append(out.pieces, piece{at + p.offset, p.data})
		}
		//rule: Banks end aligned.
		//mutate: alignUp(at+s.size, align) -> at + s.size
		out.size = alignUp(at+s.size, align)
	}
	if n := len(s.bank.discardedAt); n > 0 && len(kernels) > 0 {
		banks.lastDiscarded = at + s.bank.discardedAt[n-1]
	}
	sections.list[id].bank.moved, sections.list[id].removed = at, true
	symbols.list[s.symbol].dead = true
}

// A packing is how nvlink lays out the constants of the program's variables if
// kernels may be removed. Of sections that have the size of a number or of a
// vector and hold the same bytes, it takes the first alone, and what follows moves
// up. The variables don't: they keep the addresses that they would have had, so
// that code reads other bytes, or past the end.
type packing struct {
	size    uint64
	vectors map[string]bool
	again   bool // there was one that was left out
	moves   []move
	last    uint64
}

// A move is the part of the constants that comes from one input: where its
// variables are, and where its bytes.
type move struct {
	offset, size uint64
	to           uint64
	leftOut      bool
}

// placeConstants gives the place of an input's constants, if they have one; it would
// be at offset.
func placeConstants(rules *ruleSet, banks *constantTable, filter *kernelFilter, s *elf64.Section, data []byte,
	offset uint64) (at uint64, place bool) {
	p := &banks.packing
	vector := isVector(s)
	if packs(rules, filter) {
		//rule: Equal constants of several inputs are laid out once if kernels may be removed.
		//mutate: false vector && p.vectors[string(data)]
		m := move{offset: offset, size: s.Size, to: alignUp(p.size, s.Align), leftOut: vector && p.vectors[string(data)]}
		p.moves = append(p.moves, m)
		if m.leftOut {
			p.again = true
			return 0, false
		}
		offset = m.to
		p.size = offset + s.Size
	}
	if vector {
		p.vectors[string(data)], p.last = true, offset
	}
	return offset, true
}

func packs(rules *ruleSet, filter *kernelFilter) bool { return filter != nil && rules.asNvlink }

// isVector reports whether a section of constants has the size of a number or of
// a vector. If kernels may be removed, nvlink leaves the place of the last one in
// the value of the null symbol.
func isVector(s *elf64.Section) bool {
	switch s.Size {
	case 4, 8:
		return s.Align == s.Size
	case 12, 16, 20, 24, 32, 48, 64:
		//rule: Sections of constants of a vector's size leave a trace in the null symbol.
		//mutate: false
		return true
	}
	return false
}

// packConstants shortens the section that placeConstants left parts out of.
func packConstants(out *output) error {
	id, found := out.sections.byOwner[sectionKey{".nv.constant3", noSection}]
	if !found || !packs(out.rules, out.filter) || !out.banks.packing.again {
		return nil
	}
	for _, kind := range []string{".rel", ".rela"} {
		if _, rows := out.sections.byOwner[sectionKey{kind + ".nv.constant3", id}]; rows {
			return unsupported("", "which of equal constants that hold addresses nvlink keeps")
		}
	}
	out.sections.list[id].size = out.banks.packing.size
	warnOfMoves(out.symbols, out.banks, out.report, id)
	return nil
}

// warnOfMoves names the variables whose values are elsewhere than code reads them.
func warnOfMoves(symbols *symbolTable, banks *constantTable, report *linkReport, constants sectionID) {
	var notes []string
	for i := range symbols.list {
		y := &symbols.list[i]
		if y.section != constants || y.dead || y.kind == elf64.SectionSymbol {
			continue
		}
		at, _ := slices.BinarySearchFunc(banks.packing.moves, y.value, func(m move, value uint64) int {
			if m.offset+m.size <= value {
				return -1
			}
			return 1
		})
		if at < len(banks.packing.moves) && (banks.packing.moves[at].leftOut ||
			banks.packing.moves[at].to != banks.packing.moves[at].offset) {
			notes = append(notes, fmt.Sprintf("code finds another value in '%s' of '%s'", y.name, y.origin))
		}
	}
	if len(notes) > 0 {
		report.warnOfNvlink("equal-constants",
			"Constants of several inputs are equal; nvlink leaves all but the first out without moving what refers to them",
			notes...)
	}
}

// maxBank is how many bytes a bank of constants may have.
const maxBank = 1 << 16

// checkConstants refuses what does not fit. nvlink then lays the constants of the program
// out in another way, each variable by itself, before it refuses them.
func (sections *sectionTable) checkConstants() error {
	for i := range sections.list {
		if s := &sections.list[i]; s.live() && cubin.IsConstantBank(s.kind) && s.size > maxBank {
			return unsupported("", "what nvlink makes of %d bytes of constants in '%s', which may have %d", s.size, s.name,
				maxBank)
		}
	}
	return nil
}
