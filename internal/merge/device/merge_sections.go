package device

import (
	"cmp"
	"slices"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// A placement says where in the output a section of an input went.
type placement struct {
	section sectionID // noSection: nowhere
	offset  uint64
	cut     bool  // it is not there as a whole
	runs    []run // what is there of it then
	done    bool
}

// place gives the offset in the output of one in the section of the input.
func (p *placement) place(offset uint64) uint64 {
	if !p.cut {
		return p.offset + offset
	}
	at, _ := slices.BinarySearchFunc(p.runs, offset+1, func(r run, end uint64) int { return cmp.Compare(r.to, end) })
	if at == len(p.runs) || offset < p.runs[at].from {
		return nowhere
	}
	return p.runs[at].at + offset - p.runs[at].from
}

// nowhere is the place of what does not come in.
const nowhere = ^uint64(0)

// placeSection brings a section of an input into the output section of the
// same name and owner, after what is there already.
func placeSection(out *output, o *object, index int) (placement, error) {
	at := &o.sectionOf[index]
	if at.done {
		return *at, nil
	}
	s := &o.file.Sections[index]
	if s.Type == cubin.SHT_CUDA_RESERVED_SHARED {
		var err error
		*at, err = out.sections.placeReserved(o, s)
		return *at, err
	}
	isDiscarded := s.Flags&elf64.InfoLink != 0 && o.discardedSections[s.Info]
	if isDiscarded && !out.rules.keepsDiscarded(s) {
		*at = placement{section: noSection, done: true}
		return *at, nil
	}
	owner, err := ownerOf(out.symbols, o, s, isDiscarded)
	if err != nil {
		return *at, err
	}
	id := out.sections.findOrNew(section{name: s.Name, kind: s.Type, flags: s.Flags, align: s.Align, owner: owner}, true)
	into := &out.sections.list[id]
	noteShared(out.symbols, into, id)
	if into.kind != s.Type || into.flags != s.Flags {
		return *at, unsupported(o.name, "the section '%s', which is something else in another input", s.Name)
	}
	//rule: A kernel's shared memory is aligned as its variables are.
	//mutate: true
	if s.Type != cubin.SHT_CUDA_SHARED || owner == noSection || out.rules.options.Relocatable {
		into.align = max(into.align, s.Align)
	}
	if runs, ok := o.dedupedSections[index]; ok {
		out.sections.placeRuns(o, s, into, runs)
		*at = placement{section: id, cut: true, runs: runs, done: true}
		return *at, nil
	}
	//rule: Sections of inputs follow each other, aligned.
	//mutate: alignUp(into.size, s.Align) -> into.size
	*at = placement{section: id, offset: alignUp(into.size, s.Align), done: true}
	into.size = at.offset + s.Size
	if into.size > maxSize {
		return *at, unsupported(o.name, "the section '%s' of %d bytes", s.Name, into.size)
	}
	offset, place := at.offset, true
	if s.Type == cubin.SHT_CUDA_CONSTANT_B0+3 {
		offset, place = placeConstants(out.rules, out.banks, out.filter, s, o.bytes(s), at.offset)
	}
	if data := o.bytes(s); len(data) > 0 && place {
		into.pieces = append(into.pieces, piece{offset, data})
	}
	if isDiscarded {
		into.bank.discardedAt = append(into.bank.discardedAt, at.offset)
	}
	placeMercury(o, index, into)
	return *at, nil
}

// noteShared notes the memory of a kernel. One that is not launched has none before its input
// brings it.
func noteShared(symbols *symbolTable, s *section, id sectionID) {
	if s.kind == cubin.SHT_CUDA_SHARED && s.owner != noSection {
		symbols.list[s.function].function.shared = id
	}
}

// ownerOf returns the code that a section of an input belongs to in the output. That of a
// discarded function belongs to the one that replaced it.
func ownerOf(symbols *symbolTable, o *object, s *elf64.Section, isDiscarded bool) (sectionID, error) {
	if s.Flags&elf64.InfoLink == 0 {
		return noSection, nil
	}
	text := o.sectionOf[s.Info]
	if isDiscarded {
		text = placement{section: symbols.winner(o, s.Info), done: true}
	}
	if !text.done || !isText(&o.file.Sections[s.Info]) {
		return noSection, unsupported(o.name, "the section '%s', which belongs to no function", s.Name)
	}
	return text.section, nil
}

// mergeSections brings in the sections that no variable brought in: debug
// information, constants without names, tables.
func mergeSections(out *output, o *object) error {
	for i := range o.file.Sections {
		s := &o.file.Sections[i]
		if s.Flags&cubin.SHF_MERCURY != 0 || (s.Type == cubin.SHT_CUDA_CONSTANT_B0 && out.rules.mercury) {
			continue
		}
		switch s.Type {
		case elf64.Null, elf64.Symtab, elf64.Strtab, elf64.Note, cubin.SHT_CUDA_INFO, cubin.SHT_CUDA_CALLGRAPH,
			cubin.SHT_CUDA_PROTOTYPE, elf64.Rel, elf64.Rela:
			continue
		case cubin.SHT_CUDA_COMPAT_INFO:
			if err := mergeCompat(out.rules, out.sections, out.attributes, o, s); err != nil {
				return err
			}
			continue
		}
		//rule: Variables without a value that all lost have no place.
		//mutate: false s.Type == cubin.SHT_CUDA_GLOBAL
		if o.discardedSections[i] || s.Type == cubin.SHT_CUDA_GLOBAL {
			continue // variables without a value come with the first that wins
		}
		if isText(s) && !o.sectionOf[i].done {
			return unsupported(o.name, "the section '%s', which holds no function", s.Name)
		}
		if _, err := placeSection(out, o, i); err != nil {
			return err
		}
	}
	return nil
}

// mergeInfoSections makes sure that every function with attributes has a
// section for them. Kernels have one already.
func mergeInfoSections(symbols *symbolTable, sections *sectionTable, o *object) error {
	for i := range o.file.Sections {
		s := &o.file.Sections[i]
		if s.Type != cubin.SHT_CUDA_INFO || s.Flags&elf64.InfoLink == 0 || o.discardedSections[s.Info] {
			continue
		}
		text := o.sectionOf[s.Info]
		if !text.done || !isText(&o.file.Sections[s.Info]) {
			return unsupported(o.name, "the section '%s', which belongs to no function", s.Name)
		}
		id := infoSection(symbols, sections, s.Name, text.section)
		if symbols.list[sections.list[id].function].function.info != id {
			return unsupported(o.name, "the section '%s' beside another one for the same function", s.Name)
		}
		o.sectionOf[i] = placement{section: id, done: true}
	}
	return nil
}

func infoSection(symbols *symbolTable, sections *sectionTable, name string, text sectionID) sectionID {
	id := sections.findOrNew(section{name: name, kind: cubin.SHT_CUDA_INFO, flags: elf64.InfoLink, align: 4,
		owner: text}, false)
	f := symbols.list[sections.list[text].function].function
	if f.info == noSection {
		f.info = id
	}
	return id
}

// newGeneratedSections adds the sections that the linker fills itself.
func (sections *sectionTable) newGeneratedSections() {
	sections.callGraph = sections.newSection(section{name: ".nv.callgraph", kind: cubin.SHT_CUDA_CALLGRAPH, align: 4,
		entry: 8, owner: noSection}, true)
	sections.prototypes = sections.newSection(section{name: ".nv.prototype", kind: cubin.SHT_CUDA_PROTOTYPE, align: 4,
		entry: 8, owner: noSection}, true)
}
