package device

import (
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// mergeMercuryRows brings in the relocations that mirror those of a section.
func mergeMercuryRows(rules *ruleSet, sections *sectionTable, names *nameTables, report *linkReport, o *object,
	s *elf64.Section, id sectionID) error {
	mercury := o.mercuryOf(s.Name)
	if mercury == nil {
		return nil
	}
	b := o.bytes(mercury)
	if mercury.Type != cubin.SHT_MERCURY_RELA || mercury.EntSize != elf64.RelaSize || len(b)%elf64.RelaSize != 0 {
		return damage(o.name, "section %s of %d bytes in rows of %d", mercury.Name, len(b), mercury.EntSize)
	}
	target := o.mercuryOf(o.file.Sections[s.Info].Name)
	if target == nil {
		return damage(o.name, "section %s is about nothing", mercury.Name)
	}
	fields := newCapsuleRows(o, s, target)
	for first := true; len(b) > 0; b = b[elf64.RelaSize:] {
		r := relocation{offset: le.Uint64(b), kind: cubin.Relocation(le.Uint32(b[8:])), addend: int64(le.Uint64(b[16:]))}
		index := le.Uint32(b[12:])
		if err := sections.resolveMercuryRow(o, s, target, &r, index); err != nil {
			return err
		}
		if leftOut(rules, report, o, s, &r, index) {
			continue
		}
		if r.addend == 0 && !first {
			reserveRelName(rules, sections, names, id)
		}
		first = false
		if y := &o.symbols[index]; target.Type == cubin.SHT_MERCURY_CAPSULE && isConstantSymbol(y) {
			found, known := fields.next(&r, index)
			if !known {
				return unsupported(o.name, "where '%s' holds the offset of '%s'", target.Name, y.Name)
			}
			if !found {
				continue
			}
		}
		r.offset += o.mercuryStarts[s.Info]
		m := sections.list[id].mercuryPart()
		m.relocations = append(m.relocations, r)
	}
	if len(fields.rows) > 0 {
		return unsupported(o.name, "why '%s' does not hold the offsets of all constants", target.Name)
	}
	return nil
}

// resolveMercuryRow finds the symbol of a row of the second program and checks its
// place. Offsets in code count what its capsule expands to.
func (sections *sectionTable) resolveMercuryRow(o *object, s, target *elf64.Section, r *relocation,
	index uint32) error {
	if target.Type != cubin.SHT_MERCURY_CAPSULE && (r.offset > target.Size || target.Size-r.offset < 8) {
		return damage(o.name, "section %s: a relocation at %#x of %#x", target.Name, r.offset, target.Size)
	}
	if r.offset%4 != 0 && (target.Type == cubin.SHT_MERCURY_CAPSULE || !isDebug(o.file.Sections[s.Info].Name) ||
		o.file.Sections[s.Info].Name == ".debug_frame") {
		return unsupported(o.name, "a relocation in '%s' at %#x", target.Name, r.offset)
	}
	if r.kind == capsuleField {
		return unsupported(o.name, "the relocation %#x of Mercury code", uint32(r.kind))
	}
	if err := sections.resolveSymbol(o, s, r, index); err != nil {
		return err
	}
	if y := &o.symbols[index]; y.Type == elf64.SectionSymbol {
		r.base = o.mercuryStarts[y.Section]
	}
	return nil
}

// decideMercury decides about the relocations of the second program, as
// decideRelocations does for the first one.
func decideMercury(symbols *symbolTable, sections *sectionTable, s *section) error {
	if s.mercury == nil {
		return nil
	}
	target := &sections.list[s.owner]
	kept := make([]relocation, 0, len(s.mercury.relocations))
	for _, r := range slices.Backward(s.mercury.relocations) {
		keep, err := decideMercuryRow(symbols, sections, target, &r)
		if err != nil {
			return err
		}
		if keep {
			kept = append(kept, r)
		}
	}
	s.mercury.relocations, s.mercury.size = kept, uint64(len(kept))*elf64.RelaSize
	return nil
}

// decideMercuryRow decides about one relocation.
func decideMercuryRow(symbols *symbolTable, sections *sectionTable, target *section, r *relocation) (keep bool,
	err error) {
	y := &symbols.list[r.symbol]
	if done, err := applyMercuryRow(sections, target, r, y); done || err != nil {
		return false, err
	}
	switch r.kind {
	case mercuryUnified:
		r.kind = mercury64
	case mercuryUniLow:
		r.kind = mercuryLow
	case mercuryUniHigh:
		r.kind = mercuryHigh
	case mercury64, mercuryLow, mercuryHigh, mercuryDescriptor, mercuryCall28, mercuryCall29, mercuryFrame, mercuryGlobal:
	case mercuryOffset3, mercuryOffset4:
		if strings.HasPrefix(y.name, ".nv.reservedSmem.") {
			break
		}
		fallthrough
	default:
		return false, unsupported("", "the relocation %#x of Mercury code in '%s' on '%s'", uint32(r.kind), target.name,
			y.name)
	}
	if y.dead && y.function != nil {
		return false, nil
	}
	if r.base != 0 || y.dead || y.hidden {
		return false, unsupported("", "the relocation %#x in '%s' on '%s', which is not in the output", uint32(r.kind),
			target.name, y.name)
	}
	return true, nil
}

// applyMercuryRow does what a relocation asks for if the link can, or if it asks for
// nothing in this program.
func applyMercuryRow(sections *sectionTable, target *section, r *relocation, y *symbol) (done bool, err error) {
	p := patch{offset: r.offset, addend: r.addend}
	debug := isDebug(target.name)
	switch {
	case r.kind == mercuryClear:
		if r.discarded || !y.dead {
			return true, nil
		}
		p = patch{offset: r.offset, kind: cubin.R_CUDA_UNUSED_CLEAR64}
	case (debug && (y.dead || r.discarded)) || isUnifiedTable(y.name):
		return true, nil
	case debug && y.kind == elf64.SectionSymbol && sections.list[y.section].flags&elf64.Exec == 0:
		p.kind, p.value = cubin.R_CUDA_64, r.base
		if r.kind == mercuryOffset3 {
			if p.kind = cubin.R_CUDA_32; r.base != 0 {
				return false, unsupported("", "the strings of the debug information of several inputs")
			}
		}
	case y.isShared() && (r.kind == mercuryOffset3 || r.kind == mercuryOffset4):
		return true, nil // known in the first program only
	case r.kind == capsuleField && y.defined():
		p.kind, p.value = capsuleField, y.value
	default:
		return false, nil
	}
	target.mercury.patches = append(target.mercury.patches, p)
	return true, nil
}
