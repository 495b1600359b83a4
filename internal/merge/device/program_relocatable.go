package device

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// The result of -r is an input of a later link, which has to come to what a link
// of our inputs would have come to. So nothing is removed or placed, every
// relocation stays, and rows keep the order of the inputs: the later link
// reverses them. nvlink is no model here: it applies relocations on shared
// memory and constants before their addresses are known.

// finishRelocatable turns what was brought in into an input of a later link.
func finishRelocatable(out *output) error {
	out.sections.newGeneratedSections()
	for i := range out.sections.list {
		s := &out.sections.list[i]
		//rule: With -r rows keep their order.
		slices.Reverse(s.attributes.rows) // the file reverses them again
		if s.kind == cubin.SHT_CUDA_SHARED && s.size == 0 {
			s.dropped = true
			out.symbols.list[s.symbol].dead = true
		}
	}
	for id := range out.symbols.list {
		y := &out.symbols.list[id]
		if f := y.function; f != nil {
			//rule: With -r calls keep their order.
			slices.Reverse(f.calls)
			slices.Reverse(f.indirect)
			slices.Reverse(f.potential)
		}
		if y.isShared() && y.defined() {
			//rule: With -r a shared variable has its alignment.
			y.value = y.align // until it is placed
		}
	}
	//rule: With -r externals that are defined now are dropped.
	newAttributeSet(out).dropResolvedExternals()
	if err := keepRelocations(out.symbols, out.sections); err != nil {
		return err
	}
	return out.attributes.agreeOnFeatures()
}

// keepRelocations leaves the relocations to the later link.
func keepRelocations(symbols *symbolTable, sections *sectionTable) error {
	for i := range sections.list {
		id := sectionID(i)
		if kind := sections.list[id].kind; kind != elf64.Rel && kind != elf64.Rela {
			continue
		}
		rows, owner := sections.list[id].edits.relocations, sections.list[id].owner
		sections.setRelocations(id, nil)
		for _, r := range rows {
			target, y := &sections.list[owner], &symbols.list[r.symbol]
			debug := isDebug(target.name)
			switch {
			case y.hidden || (!debug && r.base != 0):
				return unsupported("", "the relocation %d in '%s' on '%s' with -r", uint32(r.kind), target.name, y.name)
			//rule: With -r relocations of debug information on functions that lost go.
			//mutate: false
			case debug && r.discarded && target.name != ".debug_info":
			case r.rel && r.base != 0:
				sections.addAddend(owner, r)
			default:
				r.addend += int64(r.base)
				//rule: With -r relocations stay.
				sections.setRelocations(id, append(sections.list[id].edits.relocations, r))
			}
		}
	}
	return nil
}

func (sections *sectionTable) setRelocations(id sectionID, rows []relocation) {
	s := &sections.list[id]
	s.edits.relocations, s.size, s.dropped = rows, uint64(len(rows))*s.entry, len(rows) == 0
}

// addAddend makes a row that has its addend in the field one that has it in the
// row: what is in the field, nvlink does not see in debug information.
func (sections *sectionTable) addAddend(target sectionID, r relocation) {
	field := sections.list[target].wordAt(r.offset, r.kind)
	//rule: With -r references between debug sections keep their base.
	//mutate: r.base+field -> field
	r.addend, r.base, r.rel = int64(r.base+field), 0, false
	id := sections.findOrNew(section{name: ".rela" + sections.list[target].name, kind: elf64.Rela, flags: elf64.InfoLink,
		align: 8, entry: elf64.RelaSize, owner: target}, false)
	sections.setRelocations(id, append(sections.list[id].edits.relocations, r))
}

// wordAt reads the field of a relocation in data. mergeRows has checked that it
// is there, in one of the pieces.
func (s *section) wordAt(offset uint64, kind cubin.Relocation) uint64 {
	at, found := slices.BinarySearchFunc(s.pieces, offset,
		func(p piece, offset uint64) int { return cmp.Compare(p.offset, offset) })
	if !found {
		at--
	}
	b := s.pieces[at].data[offset-s.pieces[at].offset:]
	if kind == cubin.R_CUDA_32 {
		return uint64(le.Uint32(b))
	}
	return le.Uint64(b)
}

// agreeOnFeatures refuses inputs with different features: a later link has to know
// which of them are of code that remains.
func (attributes *attributeTable) agreeOnFeatures() error {
	for _, f := range attributes.features {
		if !bytes.Equal(f.bits, attributes.features[0].bits) {
			return unsupported("", "with -r, how to join code with different features")
		}
	}
	return nil
}
