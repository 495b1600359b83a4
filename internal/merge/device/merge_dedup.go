package device

import (
	"cmp"
	"slices"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// A run is a part of an input's section that comes into the output in one piece.
type run struct {
	from, to uint64 // in the input
	at       uint64 // in the output
}

// dedupSections finds the sections of an input that come in without the variables that
// another definition has won over, if that is what the options say. It is done where
// all that refers to a section does so by the name of a variable, and within that.
func dedupSections(rules *ruleSet, symbols *symbolTable, o *object) error {
	if !rules.options.DedupWeakData || rules.options.Relocatable || rules.mercury {
		return nil
	}
	o.dedupedSections = map[int][]run{}
	for i := range o.file.Sections {
		s := &o.file.Sections[i]
		if s.Flags&elf64.InfoLink != 0 || (s.Type != cubin.SHT_CUDA_GLOBAL && s.Type != cubin.SHT_CUDA_GLOBAL_INIT &&
			!cubin.IsConstantBank(s.Type)) {
			continue
		}
		if runs, lost := symbols.runsOf(o, i); lost > 0 {
			o.dedupedSections[i] = runs
		}
	}
	if len(o.dedupedSections) > 0 {
		o.forgetReferred()
	}
	return nil
}

// runsOf are the parts of a section that stay, and how many variables do not. If there
// is more in it than variables side by side, all of them stay.
func (symbols *symbolTable) runsOf(o *object, index int) (runs []run, lost int) {
	s := &o.file.Sections[index]
	var variables []*elf64.Symbol
	for i := range o.symbols {
		if y := &o.symbols[i]; int(y.Section) == index && y.Type != elf64.SectionSymbol {
			variables = append(variables, y)
		}
	}
	slices.SortStableFunc(variables, func(a, b *elf64.Symbol) int { return cmp.Compare(a.Value, b.Value) })
	data, end, joined := o.bytes(s), uint64(0), false
	for _, y := range variables {
		if y.Type != cubin.STT_CUDA_OBJECT || y.Size == 0 || y.Value > s.Size || y.Size > s.Size-y.Value ||
			!isPadding(s, data, end, y.Value) {
			return nil, 0
		}
		end = y.Value + y.Size
		old := symbols.find(y)
		switch {
		case y.Binding == elf64.Weak && old != noSymbol && symbols.list[old].defined():
			lost++
			joined = false
		case joined:
			runs[len(runs)-1].to = end
		default:
			runs, joined = append(runs, run{from: y.Value, to: end}), true
		}
	}
	if !isPadding(s, data, end, s.Size) {
		return nil, 0
	}
	return runs, lost
}

// isPadding reports whether a part of a section is there for alignment only.
func isPadding(s *elf64.Section, data []byte, from, to uint64) bool {
	if from > to || to-from >= max(s.Align, 1) {
		return false
	}
	return len(data) == 0 || !slices.ContainsFunc(data[from:to], func(b byte) bool { return b != 0 })
}

// forgetReferred lets those sections come in whole that something refers to other than
// by a variable, or beyond one.
func (o *object) forgetReferred() {
	for i := range o.file.Sections {
		s := &o.file.Sections[i]
		if (s.Type != elf64.Rel && s.Type != elf64.Rela) || uint64(s.Info) >= uint64(len(o.file.Sections)) {
			continue
		}
		size := elf64.RelSize
		if s.Type == elf64.Rela {
			size = elf64.RelaSize
		}
		target := o.bytes(&o.file.Sections[s.Info])
		for b := o.bytes(s); len(b) >= size; b = b[size:] {
			index := le.Uint32(b[12:])
			if uint64(index) >= uint64(len(o.symbols)) {
				continue // mergeRows refuses it
			}
			y := &o.symbols[index]
			if y.Type == elf64.SectionSymbol || !within(y, b, target, s.Type == elf64.Rel) {
				delete(o.dedupedSections, int(y.Section))
			}
		}
	}
}

// within reports whether a row of relocations is about a place in the variable that it
// names, or the end of that.
func within(y *elf64.Symbol, row, target []byte, rel bool) bool {
	if !rel {
		return le.Uint64(row[16:]) <= y.Size
	}
	offset := le.Uint64(row)
	if offset > uint64(len(target)) || uint64(len(target))-offset < 8 {
		return false
	}
	b := target[offset:]
	switch cubin.Relocation(le.Uint32(row[8:])) {
	case cubin.R_CUDA_ABS32_32, cubin.R_CUDA_ABS32_LO_32:
		return bits(b, 32, 32) <= y.Size
	case cubin.R_CUDA_ABS32_HI_32:
		return bits(b, 32, 32) == 0
	case cubin.R_CUDA_ABS16_32:
		return bits(b, 32, 16) <= y.Size
	case cubin.R_CUDA_ABS24_40:
		return bits(b, 40, 24) <= y.Size
	case cubin.R_CUDA_CONST_FIELD21_38:
		return bits(b, 38, 16) <= y.Size
	case cubin.R_CUDA_CONST_FIELD19_40:
		return bits(b, 40, 14)*4 <= y.Size
	case cubin.R_CUDA_64, cubin.R_CUDA_G64:
		return le.Uint64(b) <= y.Size
	}
	return false
}

// placeRuns brings the parts of a section in that stay. Each is aligned as in the input,
// so that all its variables are.
func (sections *sectionTable) placeRuns(o *object, s *elf64.Section, out *section, runs []run) {
	data, align := o.bytes(s), max(s.Align, 1)
	before := out.size
	for i := range runs {
		r := &runs[i]
		r.at = out.size + (r.from-out.size)&(align-1)
		if len(data) > 0 {
			out.pieces = append(out.pieces, piece{r.at, data[r.from:r.to]})
		}
		out.size = r.at + r.to - r.from
	}
	if whole := alignUp(before, align) + s.Size; whole > out.size {
		sections.dedupedBytes += whole - out.size
	}
}
