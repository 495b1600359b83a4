package device

import (
	"slices"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// nvlink runs a finalizer over Mercury code, which makes the first program anew. What
// it leaves as ptxas made it is done here; what it changes is not covered.

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
func checkStacks(rules *ruleSet, symbols *symbolTable, sections *sectionTable) error {
	for i := range symbols.list {
		y := &symbols.list[i]
		if !rules.mercury || y.function == nil || y.dead || !y.defined() {
			continue
		}
		f := y.function
		if m := sections.list[y.section].mercury; m != nil && m.waits && f.frame == 0 && len(f.calls)+len(f.indirect) == 0 {
			return unsupported("", "what the finalizer makes of a function that waits for a stack that it does not use")
		}
	}
	return nil
}

// A lateBank is a kernel's bank 0, which belongs to the finalizer from sm_100
// on: its section comes last.
type lateBank struct {
	text    sectionID
	section elf64.Section
	data    []byte
}

func (mercury *mercuryTable) mergeLateBank(o *object, s *elf64.Section) error {
	if s.Flags&elf64.InfoLink == 0 || !isText(&o.file.Sections[s.Info]) {
		return unsupported(o.name, "the section '%s', which belongs to no function", s.Name)
	}
	if o.discardedSections[s.Info] {
		return nil
	}
	text := o.sectionOf[s.Info]
	if !text.done {
		return unsupported(o.name, "the section '%s', which belongs to no function", s.Name)
	}
	if slices.Max(append(o.bytes(s), 0)) != 0 {
		return unsupported(o.name, "parameters in '%s' that have a value", s.Name)
	}
	mercury.lateBanks = append(mercury.lateBanks, lateBank{text.section, *s, o.bytes(s)})
	return nil
}

// newLateBanks makes the sections of bank 0 in the order of the kernels, with
// symbols after all others, and makes the attributes of the kernels name them.
func newLateBanks(rules *ruleSet, symbols *symbolTable, sections *sectionTable, mercury *mercuryTable) error {
	//rule: Bank 0 of Mercury code comes in the order of the kernels.
	slices.SortStableFunc(mercury.lateBanks, func(a, b lateBank) int { return int(a.text - b.text) })
	for _, b := range mercury.lateBanks {
		text := &sections.list[b.text]
		if text.removed {
			continue
		}
		id := sections.newSection(section{name: b.section.Name, kind: b.section.Type, flags: b.section.Flags,
			align: b.section.Align, owner: b.text, late: true}, false)
		out := &sections.list[id]
		out.setData(b.data)
		out.symbol = symbols.newSymbol(symbol{name: out.name, kind: elf64.SectionSymbol, section: id, late: true})
		info := symbols.list[out.function].function.info
		if info == noSection {
			continue
		}
		own := &sections.list[info].attributes
		for _, list := range [][]attribute{own.rows, own.tail} {
			for i := range list {
				if list[i].id == cubin.EIATTR_PARAM_CBANK {
					list[i].symbols[0] = out.symbol
				}
			}
		}
	}
	return checkBanks(rules, sections)
}

// checkBanks sees to it that every attribute of a bank found its bank.
func checkBanks(rules *ruleSet, sections *sectionTable) error {
	for i := range sections.list {
		s := &sections.list[i]
		if s.kind != cubin.SHT_CUDA_INFO || !s.live() || !rules.mercury {
			continue
		}
		for _, list := range [][]attribute{s.attributes.rows, s.attributes.tail, s.mercuryPart().attributes.rows} {
			for j := range list {
				if list[j].id == cubin.EIATTR_PARAM_CBANK && list[j].symbols[0] == noSymbol {
					return unsupported("", "parameters in '%s' without a bank of constants", s.name)
				}
			}
		}
	}
	return nil
}

// rewriteFrames makes .debug_frame anew, as the finalizer does: only of
// functions that are left, each description with a copy of its common part.
func rewriteFrames(symbols *symbolTable, sections *sectionTable) error {
	id, ok := sections.byOwner[sectionKey{".debug_frame", noSection}]
	if !ok {
		return nil
	}
	const (
		head  = 12 // 0xffffffff, u64 size
		start = 20 // of the code, after the u64 place of the common part
	)
	s := &sections.list[id]
	at := map[uint64]*relocation{}
	if rows, ok := sections.byOwner[sectionKey{".rela.debug_frame", id}]; ok {
		list := sections.list[rows].edits.relocations
		for i := range list {
			if list[i].addend != 0 {
				return unsupported("", "a .debug_frame of code that starts within '%s'", symbols.list[list[i].symbol].name)
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
	s.edits.patches = nil
	s.setData(frames)
	return nil
}

// mergeLateBanks puts the banks aside that come last.
func mergeLateBanks(rules *ruleSet, mercury *mercuryTable, o *object) error {
	if !rules.mercury {
		return nil
	}
	for i := range o.file.Sections {
		if s := &o.file.Sections[i]; s.Type == cubin.SHT_CUDA_CONSTANT_B0 {
			if err := mercury.mergeLateBank(o, s); err != nil {
				return err
			}
		}
	}
	return nil
}
