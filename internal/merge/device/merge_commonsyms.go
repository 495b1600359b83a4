package device

import (
	"fmt"
	"slices"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// A common variable is one that several inputs may have, and that gets memory if
// none of them gives it a value. PTX has them as ".common .global".

// knownCommon reports whether a symbol is a common variable as the rules have them.
func knownCommon(y *elf64.Symbol) bool {
	return y.Section == elf64.Common && y.Type == cubin.STT_CUDA_OBJECT && y.Other == cubin.STO_CUDA_GLOBAL &&
		y.Binding == elf64.Global && isAlignment(y.Value) && y.Size <= maxSize
}

// mergeCommon resolves a common variable: of several the largest size counts, and a
// definition with a value wins. nvlink aligns it as the first input wants it, so a
// larger alignment is left to it.
func mergeCommon(rules *ruleSet, symbols *symbolTable, sections *sectionTable, report *linkReport, o *object,
	y *elf64.Symbol, old symbolID) (symbolID, error) {
	if rules.options.Relocatable || rules.mercury {
		return noSymbol, unsupported(o.name, "the common variable '%s' in this kind of link", y.Name)
	}
	id := old
	if id == noSymbol {
		id = symbols.newSymbol(symbol{name: y.Name, binding: y.Binding, kind: y.Type, other: y.Other, section: noSection,
			global: true, from: o.name})
		symbols.byName[y.Name] = id
	}
	switch was := &symbols.list[id]; {
	case was.common && y.Value > was.align:
		return noSymbol, unsupported(o.name, "the common variable '%s' with another alignment than in '%s'", y.Name,
			was.origin)
	case was.common:
		//rule: A common variable has the largest of its sizes.
		was.size = max(was.size, y.Size)
	case !was.defined():
		was.common, was.size, was.align, was.origin = true, y.Size, y.Value, o.name
		symbols.commons = append(symbols.commons, id)
	case was.weak || sections.list[was.section].kind != cubin.SHT_CUDA_GLOBAL_INIT:
		return noSymbol, unsupported(o.name, "the common variable '%s', which is weak or has no value in '%s'", y.Name,
			was.origin)
	case y.Size > was.size:
		report.largerCommon(o, y.Name, o.name, y.Size, was.size)
	}
	return id, nil
}

// initializeCommon makes a common variable one that a definition may be given to.
func initializeCommon(symbols *symbolTable, report *linkReport, o *object, y *elf64.Symbol, old symbolID) error {
	if old == noSymbol || !symbols.list[old].common {
		return nil
	}
	was := &symbols.list[old]
	if y.Binding == elf64.Weak || o.file.Sections[y.Section].Type != cubin.SHT_CUDA_GLOBAL_INIT {
		return unsupported(o.name, "the variable '%s' that is weak or has no value, and is common in '%s'", y.Name,
			was.origin)
	}
	//rule: A common variable must not be larger than its value.
	//mutate: false
	if y.Size < was.size {
		report.largerCommon(o, y.Name, was.origin, was.size, y.Size)
	}
	was.common, was.from = false, o.name
	return nil
}

// commonMayDiffer reports whether a variable may have another size than before,
// because one of both is common, and the other common or with a value.
func (sections *sectionTable) commonMayDiffer(o *object, y *elf64.Symbol, was *symbol) bool {
	switch {
	case y.Section == elf64.Common:
		return was.common || (was.defined() && sections.list[was.section].kind == cubin.SHT_CUDA_GLOBAL_INIT)
	case was.common && y.Section != elf64.Undefined:
		return o.file.Sections[y.Section].Type == cubin.SHT_CUDA_GLOBAL_INIT
	}
	return false
}

func (report *linkReport) largerCommon(o *object, name, file string, common, defined uint64) {
	notes := []string{fmt.Sprintf("the sizes are %d and %d bytes", common, defined)}
	report.clash("common-size", o, name, notes, "Common symbol '%s' in file '%s' has larger size than initialization",
		name, file)
}

// placeCommons gives memory to the common variables that no input defines, the
// newest first.
func placeCommons(symbols *symbolTable, sections *sectionTable) error {
	//rule: Common variables get memory the newest first.
	//mutate: forward
	for _, common := range slices.Backward(symbols.commons) {
		if !symbols.list[common].common {
			continue
		}
		id := sections.findOrNew(section{name: ".nv.global", kind: cubin.SHT_CUDA_GLOBAL, flags: elf64.Alloc | elf64.Write,
			align: 1, owner: noSection}, true)
		s, y := &sections.list[id], &symbols.list[common]
		y.section, y.value = id, alignUp(s.size, y.align)
		s.align, s.size = max(s.align, y.align), y.value+y.size
		if s.size > maxSize {
			return unsupported("", "the section '%s' of %d bytes", s.name, s.size)
		}
	}
	return nil
}
