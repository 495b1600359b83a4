package device

import (
	"fmt"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// find gives the symbol that a name of an input stands for, if it exists
// already. Local names stand for nothing but themselves.
func (symbols *symbolTable) find(y *elf64.Symbol) symbolID {
	if y.Binding == elf64.Local {
		return noSymbol
	}
	if id, ok := symbols.byName[y.Name]; ok {
		return id
	}
	return noSymbol
}

// mergeFunctions resolves the functions of an input. The first weak
// definition stays, a strong one replaces a weak one, two strong ones clash.
func mergeFunctions(out *output, o *object) error {
	for i := range o.symbols {
		y := &o.symbols[i]
		if y.Type != elf64.Function {
			continue
		}
		old := out.symbols.find(y)
		if err := checkKind(out.symbols, out.report, o, y, old); err != nil {
			return err
		}
		switch {
		case y.Section == elf64.Undefined:
			o.symbolOf[i] = out.symbols.referToFunction(o, y, old)
		case old == noSymbol || !out.symbols.list[old].defined():
			o.symbolOf[i] = defineFunction(out, o, y, old)
			if out.rules.mercury {
				f := &out.symbols.list[o.symbolOf[i]]
				f.function.mercurySize = o.mercurySizes[i]
				if err := placeMercuryText(o, &o.file.Sections[y.Section], &out.sections.list[f.section]); err != nil {
					return err
				}
			}
		//rule: The first weak function stays; later ones are dropped.
		//mutate: false
		case y.Binding == elf64.Weak:
			o.symbolOf[i] = old
			o.discardedSections[y.Section] = true
		case out.symbols.list[old].weak:
			if out.rules.mercury {
				return unsupported(o.name, "how to replace the weak function '%s' of '%s'", y.Name, out.symbols.list[old].from)
			}
			if out.symbols.replaced++; out.symbols.replaced > maxReplaced {
				return unsupported(o.name, "%d weak functions that are replaced", out.symbols.replaced)
			}
			//rule: A strong function replaces a weak one.
			replaceFunction(out.symbols, out.sections, o, y, old)
			o.symbolOf[i] = old
		default:
			o.symbolOf[i] = old
			o.discardedSections[y.Section] = true
			duplicate(out.symbols, out.report, o, y, old)
		}
	}
	return nil
}

// maxReplaced bounds the replaced functions, each of which costs a search.
const maxReplaced = 1 << 12

// checkKind refuses one name for two kinds of variable. No rule covers one name
// for a function and a variable, or for shared memory and another.
func checkKind(symbols *symbolTable, report *linkReport, o *object, y *elf64.Symbol, old symbolID) error {
	if old == noSymbol {
		return nil
	}
	was := &symbols.list[old]
	switch {
	case was.kind == y.Type && (y.Type != cubin.STT_CUDA_OBJECT || was.other == y.Other):
	case was.kind != y.Type || was.other == cubin.STO_CUDA_SHARED || y.Other == cubin.STO_CUDA_SHARED:
		return unsupported(o.name, "the symbol '%s', which is something else in '%s'", y.Name, was.from)
	//rule: A variable is in one kind of memory.
	default:
		report.spaceClash(o, y, was)
	}
	return nil
}

// checkSize compares the size of a variable with the first one that an input
// specified; an array of unknown size has none.
func checkSize(symbols *symbolTable, sections *sectionTable, report *linkReport, o *object, y *elf64.Symbol,
	old symbolID) {
	if old == noSymbol {
		return
	}
	was := &symbols.list[old]
	//rule: A variable has one size in all inputs.
	//mutate: true was.size == y.Size
	//rule: An array of unknown size fits any size.
	//mutate: false was.size == 0 || y.Size == 0
	if was.size == 0 || y.Size == 0 || was.size == y.Size || sections.commonMayDiffer(o, y, was) {
		return
	}
	notes := []string{fmt.Sprintf("the sizes are %d and %d bytes", was.size, y.Size)}
	report.clash("size-mismatch", o, y.Name, notes, "Size doesn't match for '%s' in '%s', first specified in '%s'",
		y.Name, o.name, was.from)
}

// referToFunction gives the symbol for a function that is defined elsewhere.
// It keeps its place among the global ones when a definition comes.
func (symbols *symbolTable) referToFunction(o *object, y *elf64.Symbol, old symbolID) symbolID {
	if old != noSymbol {
		return old
	}
	//rule: A function that was referred to first stands among the global symbols.
	//mutate: global: true -> global: false
	id := symbols.newSymbol(symbol{name: y.Name, binding: y.Binding, kind: y.Type, other: y.Other, section: noSection,
		global: true, from: o.name, function: newFunction()})
	symbols.byName[y.Name] = id
	return id
}

func newFunction() *function {
	return &function{prototype: noPrototype, info: noSection, shared: noSection}
}

// defineFunction adds a function, its text and, for a kernel, the sections
// that every kernel has.
func defineFunction(out *output, o *object, y *elf64.Symbol, old symbolID) symbolID {
	symbols, sections := out.symbols, out.sections
	id := old
	if id == noSymbol {
		id = newDefined(out.rules, symbols, out.names, symbol{name: y.Name, binding: y.Binding, kind: y.Type,
			section: noSection, function: newFunction()})
	}
	s := &o.file.Sections[y.Section]
	text := sections.newSection(section{name: s.Name, kind: s.Type, flags: s.Flags, align: s.Align, owner: noSection},
		true)
	sections.list[text].function = id
	f := &symbols.list[id]
	//rule: A function has the binding of its definition.
	//mutate: y.Binding -> f.binding
	f.other, f.value, f.section, f.binding = y.Other, y.Value, text, y.Binding
	sections.setText(o, y, f)
	//rule: A kernel that is not launched, as far as that is known, has the sections that its input has.
	//mutate: true out.filter.expects(f)
	if kernel := f.function; y.Other&cubin.STO_CUDA_ENTRY != 0 && out.filter.expects(f) {
		//rule: Every kernel has a section of attributes, made with its code.
		infoSection(symbols, sections, ".nv.info."+y.Name, text)
		kernel.shared = sections.newShared(id)
	}
	return id
}

// newShared adds the section for the memory of a kernel.
func (sections *sectionTable) newShared(kernel symbolID) sectionID {
	k := &sections.symbols.list[kernel]
	return sections.findOrNew(section{name: ".nv.shared." + k.name, kind: cubin.SHT_CUDA_SHARED,
		flags: elf64.Alloc | elf64.Write | elf64.InfoLink, align: 1, owner: k.section}, true)
}

// newDefined adds a symbol with a definition: to the global ones, or with its
// name to the local ones. Before 13.4 weak symbols stood among the local ones.
func newDefined(rules *ruleSet, symbols *symbolTable, names *nameTables, y symbol) (id symbolID) {
	//rule: Before 13.4 weak symbols stand among the local ones.
	//mutate: true rules.merge.WeakIsGlobal
	y.global = y.binding == elf64.Global || (y.binding == elf64.Weak && rules.merge.WeakIsGlobal)
	if y.global {
		id = symbols.newSymbol(y)
	} else {
		id = newLocal(symbols, names, y)
	}
	if y.binding != elf64.Local {
		symbols.byName[y.name] = id
	}
	return id
}

// setText gives a function the code of an input.
func (sections *sectionTable) setText(o *object, y *elf64.Symbol, f *symbol) {
	s := &o.file.Sections[y.Section]
	text := &sections.list[f.section]
	data := o.bytes(s)
	text.pieces, text.size = []piece{{data: data}}, uint64(len(data))
	text.registers = s.Info & 0xff000000
	//rule: A replaced function keeps the larger alignment.
	//mutate: max(text.align, s.Align) -> s.Align
	text.align = max(text.align, s.Align)
	f.size, f.weak, f.from, f.origin = y.Size, y.Binding == elf64.Weak, o.name, o.name
	o.sectionOf[y.Section] = placement{section: f.section, done: true}
}

// replaceFunction puts a strong definition into the place of a weak one: the
// symbol, the section, their places and the calls stay, all else that the weak one
// said goes.
func replaceFunction(symbols *symbolTable, sections *sectionTable, o *object, y *elf64.Symbol, id symbolID) {
	f := &symbols.list[id]
	sections.setText(o, y, f)
	//rule: Calls of a replaced function stay.
	//mutate: also f.function.calls = nil
	f.binding = elf64.Global
	//rule: What was said of a replaced function goes.
	sections.list[sections.info].attributes.forget(id)
	for _, kind := range []string{".rel", ".rela"} {
		if text, ok := sections.byOwner[sectionKey{kind + sections.list[f.section].name, f.section}]; ok {
			if sections.list[text].kind == elf64.Rela {
				//rule: Debug information of a weak function whose code had rows with an addend is lost when it is replaced.
				sections.discardDebug(id)
			}
			//rule: Relocations of a replaced function go.
			sections.list[text].edits.relocations = nil
		}
	}
	if f.function.info != noSection {
		//rule: Attributes of a replaced function go.
		sections.list[f.function.info].attributes = attributeList{}
	}
}

// discardDebug makes what debug information says of a function so far be about a
// definition that was lost. nvlink does this for rows with an addend, and only if the
// code of the lost definition had such rows.
func (sections *sectionTable) discardDebug(id symbolID) {
	for i := range sections.list {
		s := &sections.list[i]
		if s.kind != elf64.Rela || !isDebug(sections.list[s.owner].name) {
			continue
		}
		for j := range s.edits.relocations {
			r := &s.edits.relocations[j]
			r.discarded = r.discarded || r.symbol == id
		}
	}
}

// mergeVariables resolves all symbols that are neither functions nor
// sections. A section comes in as a whole when the first of its variables
// is met.
func mergeVariables(out *output, o *object) error {
	for i := 1; i < len(o.symbols); i++ {
		y := &o.symbols[i]
		if y.Type == elf64.Function || y.Type == elf64.SectionSymbol || isPlaceholder(y) {
			continue
		}
		old := out.symbols.find(y)
		if err := checkKind(out.symbols, out.report, o, y, old); err != nil {
			return err
		}
		checkSize(out.symbols, out.sections, out.report, o, y, old)
		switch {
		case y.Section == elf64.Undefined:
			o.symbolOf[i] = referToVariable(out.rules, out.symbols, out.sections, o, y, old)
		case y.Section == elf64.Common:
			id, err := mergeCommon(out.rules, out.symbols, out.sections, out.report, o, y, old)
			if err != nil {
				return err
			}
			o.symbolOf[i] = id
		case old == noSymbol || !out.symbols.list[old].defined():
			if err := initializeCommon(out.symbols, out.report, o, y, old); err != nil {
				return err
			}
			id, err := defineVariable(out, o, y, old)
			if err != nil {
				return err
			}
			o.symbolOf[i] = id
		//rule: The first weak variable stays.
		//mutate: false
		case y.Binding == elf64.Weak:
			o.symbolOf[i] = old
			o.discardedVariables[y.Section] = append(o.discardedVariables[y.Section], y)
		case out.symbols.list[old].weak:
			if err := replaceVariable(out, o, y, old); err != nil {
				return err
			}
			o.symbolOf[i] = old
		default:
			o.symbolOf[i] = old
			duplicate(out.symbols, out.report, o, y, old)
		}
	}
	return nil
}

// referToVariable gives the symbol for a variable that is defined elsewhere,
// or for dynamic shared memory, which is defined nowhere.
func referToVariable(rules *ruleSet, symbols *symbolTable, sections *sectionTable, o *object, y *elf64.Symbol,
	old symbolID) symbolID {
	//rule: Dynamic memory brings the section of common variables with it.
	//mutate: false
	if y.Other == cubin.STO_CUDA_SHARED {
		sections.findOrNew(section{name: commonName, kind: cubin.SHT_CUDA_SHARED, flags: elf64.Alloc | elf64.Write,
			align: 1, owner: noSection}, true)
	}
	if old != noSymbol {
		return old
	}
	//rule: What is undefined is global, also if it is weak.
	//mutate: elf64.Global -> y.Binding
	binding := elf64.Global
	if rules.options.Relocatable {
		binding = y.Binding
	}
	//rule: The size of bank 0 is a symbol in no table.
	//mutate: false y.Name == bankSize
	id := symbols.newSymbol(symbol{name: y.Name, binding: binding, kind: y.Type, other: y.Other, section: noSection,
		value: y.Value, size: y.Size, global: true, hidden: y.Name == bankSize, from: o.name})
	symbols.byName[y.Name] = id
	if y.Other == cubin.STO_CUDA_SHARED {
		symbols.shared = append(symbols.shared, id)
	}
	return id
}

// defineVariable adds a variable. There is none when its section belongs to a
// function that lost.
func defineVariable(out *output, o *object, y *elf64.Symbol, old symbolID) (symbolID, error) {
	if s := &o.file.Sections[y.Section]; s.Flags&elf64.InfoLink != 0 && o.discardedSections[s.Info] {
		return noSymbol, nil
	}
	at, err := placeSection(out, o, int(y.Section))
	if err != nil || at.section == noSection {
		return noSymbol, err
	}
	if y.Other == cubin.STO_CUDA_SHARED && out.sections.list[at.section].owner != noSection {
		// This name stays even if the kernel is removed.
		out.names.sections.add(out.sections.list[at.section].name)
		//rule: The name of a removed kernel's shared memory stays if it had variables.
		out.names.symbols.add(out.sections.list[at.section].name)
	}
	id := old
	if id == noSymbol {
		id = newVariable(out.rules, out.symbols, out.names, symbol{name: y.Name, binding: y.Binding, kind: y.Type,
			other: y.Other, section: noSection})
	}
	v := &out.symbols.list[id]
	if y.Other == cubin.STO_CUDA_SHARED {
		v.align = y.Value // shared variables are placed at the end; until then the value is the alignment
		if old == noSymbol {
			out.symbols.shared = append(out.symbols.shared, id)
		}
	}
	v.section, v.value, v.size, v.weak = at.section, at.place(y.Value), y.Size, y.Binding == elf64.Weak
	//rule: A variable has the binding of its definition.
	v.binding = y.Binding
	if y.Other == cubin.STO_CUDA_RESERVED_SHARED {
		v.value = systemShared
	}
	v.origin = o.name
	if v.from == "" {
		v.from = o.name
	}
	return id, nil
}

// newVariable adds a variable where it belongs. What is hidden is in no table,
// and local shared variables only with -g.
func newVariable(rules *ruleSet, symbols *symbolTable, names *nameTables, y symbol) symbolID {
	if y.binding == elf64.Global || (y.other != otherHidden && (y.other != cubin.STO_CUDA_SHARED ||
		rules.options.Debug)) || rules.options.Relocatable {
		return newDefined(rules, symbols, names, y)
	}
	//rule: Local shared variables, parameters and constants of the optimizer are in no table.
	y.hidden = true
	id := symbols.newSymbol(y)
	if y.binding != elf64.Local {
		symbols.byName[y.name] = id
	}
	return id
}

// replaceVariable makes a strong definition take the place of a weak one,
// whose bytes stay where they are.
func replaceVariable(out *output, o *object, y *elf64.Symbol, id symbolID) error {
	at, err := placeSection(out, o, int(y.Section))
	if err != nil {
		return err
	}
	if at.section == noSection {
		return unsupported(o.name, "the variable '%s' of a function that another definition replaces", y.Name)
	}
	v := &out.symbols.list[id]
	//rule: A strong variable takes the place of a weak one, whose bytes stay.
	//mutate: at.place(y.Value) -> v.value
	v.section, v.value, v.size, v.binding, v.weak = at.section, at.place(y.Value), y.Size, elf64.Global, false
	v.origin = o.name
	return nil
}

// wantsRuntime reports whether the device runtime takes part when it is met:
// if something before it is not defined yet, or the options say so, but not
// as the first input.
func wantsRuntime(rules *ruleSet, symbols *symbolTable, started bool) bool {
	//rule: As the first input libcudadevrt is passed over, whatever the options say.
	//mutate: true started
	if started && rules.options.KeepSystemLibraries {
		return true
	}
	for id := range symbols.list {
		if symbols.list[id].unresolved(rules) {
			//rule: libcudadevrt takes part if something is undefined.
			//mutate: false
			return true
		}
	}
	return false
}

// unresolved reports whether a symbol has no definition and needs one: the
// driver defines some functions, and dynamic shared memory has no definition.
func (y *symbol) unresolved(rules *ruleSet) bool {
	if y.defined() || y.common {
		return false
	}
	//rule: The driver defines some functions.
	//mutate: false rules.options.Release.DriverDefines(y.name)
	return (y.kind == cubin.STT_CUDA_OBJECT && y.other != cubin.STO_CUDA_SHARED) ||
		(y.kind == elf64.Function && !rules.options.Release.DriverDefines(y.name))
}
