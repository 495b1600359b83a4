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
		if (s.Type != elf64.Rel && s.Type != elf64.Rela) || noRows(o, s) || o.discardedSections[s.Info] {
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
	id := out.sections.findOrNew(section{name: s.Name, kind: s.Type, flags: elf64.InfoLink, align: 8, entry: size,
		owner: at.section}, false)
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
		named := r.countsInNames(o.file.Sections[s.Info].Name, hasMercury)
		//rule: A row without an addend after the first one names the other kind of section.
		//mutate: false
		if named && !first && r.lacksAddend() {
			reserveRelName(out.rules, out.sections, out.names, id)
		}
		//rule: Only rows that stay make a second one.
		first = first && !named
		if r.offset = at.place(r.offset); r.offset == nowhere {
			return unsupported(o.name, "a relocation in '%s' between variables", s.Name)
		}
		if out.sections.list[at.section].flags&elf64.Exec != 0 {
			out.symbols.list[r.symbol].shared.referred = true
		}
		rows := &out.sections.list[id]
		rows.edits.relocations = append(rows.edits.relocations, r)
	}
	return nil
}

// lacksAddend reports whether a row could be in a section without addends, but is not.
func (r *relocation) lacksAddend() bool { return !r.rel && r.addend == 0 }

// countsInNames reports whether a row is one of those that decide about names of sections.
// Where there are rows of Mercury code, these do.
func (r *relocation) countsInNames(target string, hasMercury bool) bool {
	if hasMercury {
		return false
	}
	//rule: Lines of a function that lost do not name the other kind of section.
	//mutate: !r.discarded -> true
	return !r.discarded || !isDebugLine(target)
}

// isDebugLine reports whether rows of a section about a function that lost are dropped: those of
// lines are, and those of variables and ranges stay.
func isDebugLine(name string) bool { return name == ".debug_line" || name == ".nv_debug_line_sass" }

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
		report.warnOfNvlink("null-constant", fmt.Sprintf(
			"nvlink leaves an address in the constants of '%s' null, because another input defines '%s' too", o.name, y.Name))
	}
	return leftOut
}

// reserveRelName enters the name that rows without an addend would have a
// section of, where nvlink thinks of making one.
func reserveRelName(rules *ruleSet, sections *sectionTable, names *nameTables, id sectionID) {
	s := &sections.list[id]
	if s.edits.hasRelName {
		return
	}
	s.edits.hasRelName = true
	name := ".rel" + s.name[len(".rela"):]
	if rules.mercury {
		name = ".rel" + cubin.MercuryName(s.name)[len(".rela"):]
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
