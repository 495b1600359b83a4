package device

import (
	"slices"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// Rows of .nv.compat that the linker knows.
const (
	compatVersion  = cubin.Attribute(cubin.EICOMPAT_ATTR_ISA_CLASS)
	compatSpecific = cubin.Attribute(cubin.EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET)
	compatFeatures = cubin.Attribute(cubin.EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE)
)

// An attribute is a row of .nv.info: form u8, attribute u8, value u16, bytes.
type attribute struct {
	form    cubin.Format
	id      cubin.Attribute
	value   uint16
	data    []byte     // as in the input, unless it refers to symbols
	symbols []symbolID // cubin.EIATTR_EXTERNS: all there is; else the first word
	word    uint32     // the second word
	deleted bool
}

// An attributeList holds rows in the order of the inputs, which the file
// reverses, and those that the linker adds after them.
type attributeList struct {
	rows    []attribute
	added   []attribute
	tail    []attribute // what only the finalizer knows of, in the order of the inputs
	arrival int         // when the rows came in, among all lists
}

// forget takes away what is said of a function.
func (a *attributeList) forget(id symbolID) {
	a.rows = slices.DeleteFunc(a.rows, func(x attribute) bool { return len(x.symbols) == 1 && x.symbols[0] == id })
}

// find gives the row of an attribute that comes first in the file.
func (a *attributeList) find(id cubin.Attribute) *attribute {
	for i := len(a.rows) - 1; i >= 0; i-- {
		if a.rows[i].id == id && !a.rows[i].deleted {
			return &a.rows[i]
		}
	}
	return nil
}

// inFileOrder calls do with the rows as they are written.
func (a *attributeList) inFileOrder(do func(*attribute)) {
	//rule: Rows of attributes come in the reverse order.
	//mutate: forward
	for i := range slices.Backward(a.rows) {
		if !a.rows[i].deleted {
			do(&a.rows[i])
		}
	}
	for i := range a.added {
		do(&a.added[i])
	}
	for i := range a.tail {
		do(&a.tail[i])
	}
}

func (x *attribute) length() uint64 {
	switch {
	case x.form != cubin.EIFMT_SVAL:
		return 4
	case x.id == cubin.EIATTR_EXTERNS:
		return 4 + 4*uint64(len(x.symbols))
	case x.symbols != nil:
		return 4 + 8
	}
	return 4 + uint64(len(x.data))
}

// appendTo writes the row.
func (x *attribute) appendTo(b []byte, symbols []symbol) []byte {
	if b = append(b, byte(x.form), byte(x.id)); x.form != cubin.EIFMT_SVAL {
		return le.AppendUint16(b, x.value)
	}
	b = le.AppendUint16(b, uint16(x.length()-4))
	if x.symbols == nil {
		return append(b, x.data...)
	}
	for _, id := range x.symbols {
		b = le.AppendUint32(b, symbols[id].index)
	}
	if x.id != cubin.EIATTR_EXTERNS {
		b = le.AppendUint32(b, x.word)
	}
	return b
}

// parseAttributes reads the rows of a section.
func (o *object) parseAttributes(s *elf64.Section, row func(attribute) error) error {
	for r, err := range cubin.Rows(o.bytes(s)) {
		if err != nil {
			return damage(o.name, "section %s ends within a row", s.Name)
		}
		if !r.Format.Known() {
			return unsupported(o.name, "attribute %#x of form %d in section '%s'", byte(r.Attribute), byte(r.Format), s.Name)
		}
		if err := row(attribute{form: r.Format, id: r.Attribute, value: r.Value, data: r.Data}); err != nil {
			return err
		}
	}
	return nil
}

// mergeAttributes brings in what an input says of its functions.
func mergeAttributes(rules *ruleSet, symbols *symbolTable, sections *sectionTable, attributes *attributeTable,
	o *object) error {
	for i := range o.file.Sections {
		s := &o.file.Sections[i]
		if s.Type != cubin.SHT_CUDA_INFO {
			continue
		}
		id := sections.info
		if s.Flags&elf64.InfoLink != 0 {
			if o.discardedSections[s.Info] {
				continue
			}
			id = o.sectionOf[i].section
		}
		attributes.arrivals++
		sections.list[id].attributes.arrival = attributes.arrivals
		if err := mergeRowsOf(rules, symbols, sections, attributes, o, s, id); err != nil {
			return err
		}
	}
	return nil
}

// mergeRowsOf brings in the attributes in a section, and those of Mercury
// code. Rows that the second program has not are the finalizer's.
func mergeRowsOf(rules *ruleSet, symbols *symbolTable, sections *sectionTable, attributes *attributeTable, o *object,
	s *elf64.Section, id sectionID) error {
	mercury := o.mercuryOf(s.Name)
	var hasMercury [256]bool
	if mercury != nil {
		sections.list[id].mercuryPart().attributes.arrival = attributes.arrivals
		err := o.parseAttributes(mercury, func(x attribute) error {
			hasMercury[x.id] = true
			keep, err := resolveAttribute(rules, symbols, sections, o, &x)
			if err == nil && keep {
				m := sections.list[id].mercuryPart()
				m.attributes.rows = append(m.attributes.rows, x)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return o.parseAttributes(s, func(x attribute) error {
		keep, err := resolveAttribute(rules, symbols, sections, o, &x)
		if err != nil || !keep {
			return err
		}
		out := &sections.list[id].attributes
		if mercury != nil && !hasMercury[x.id] {
			out.tail = append(out.tail, x)
		} else {
			out.rows = append(out.rows, x)
		}
		return nil
	})
}

// resolveAttribute makes a row speak of symbols of the output, and learns
// what it says. A row that has no place in an executable is not kept.
func resolveAttribute(rules *ruleSet, symbols *symbolTable, sections *sectionTable, o *object,
	x *attribute) (keep bool, err error) {
	switch {
	case x.form == cubin.EIFMT_SVAL && (x.id == cubin.EIATTR_REGCOUNT || x.id == cubin.EIATTR_FRAME_SIZE ||
		x.id == cubin.EIATTR_MAX_STACK_SIZE || x.id == cubin.EIATTR_MIN_STACK_SIZE):
		return resolveCount(rules, symbols, o, x)
	case x.form == cubin.EIFMT_SVAL && x.id == cubin.EIATTR_PARAM_CBANK:
		return true, resolveParamBank(rules, sections, o, x)
	case x.form == cubin.EIFMT_SVAL && x.id == cubin.EIATTR_EXTERNS:
		return true, symbols.resolveExternals(o, x)
	case !copied[x.id].of(x):
		return false, unsupported(o.name, "the attribute %#x of form %d and %d bytes", byte(x.id), byte(x.form), len(x.data))
	}
	return true, nil
}

// resolveCount reads a row that has a number for a function.
func resolveCount(rules *ruleSet, symbols *symbolTable, o *object, x *attribute) (keep bool, err error) {
	if len(x.data) != 8 {
		return false, damage(o.name, "attribute %#x of %d bytes", byte(x.id), len(x.data))
	}
	index := le.Uint32(x.data)
	id, err := o.symbolAt(index)
	if err != nil {
		return false, err
	}
	f := symbols.list[id].function
	switch {
	case f == nil:
		return false, damage(o.name, "attribute %#x of the symbol '%s'", byte(x.id), symbols.list[id].name)
	//rule: Attributes of a function that lost go.
	//mutate: true
	case !o.isDiscarded(index):
	case x.id == cubin.EIATTR_REGCOUNT && le.Uint32(x.data[4:]) < f.registers && rules.asNvlink:
		// nvlink takes the copy with fewer registers, and mixes what it knows of both.
		return false, unsupported(o.name, "the weak function '%s', which needs fewer registers than in '%s'",
			symbols.list[id].name, symbols.list[id].origin)
	default:
		return false, nil
	}
	x.symbols, x.word = []symbolID{id}, le.Uint32(x.data[4:])
	switch x.id {
	case cubin.EIATTR_REGCOUNT:
		f.registers = x.word
	case cubin.EIATTR_FRAME_SIZE:
		f.frame = x.word
	}
	//rule: The stack of relocatable code is not in executables.
	//mutate: true
	return x.id != cubin.EIATTR_MAX_STACK_SIZE || rules.options.Relocatable, nil
}

// resolveParamBank makes the row name the section symbol of the bank.
func resolveParamBank(rules *ruleSet, sections *sectionTable, o *object, x *attribute) error {
	if len(x.data) != 8 {
		return damage(o.name, "attribute %#x of %d bytes", byte(x.id), len(x.data))
	}
	index := le.Uint32(x.data)
	if uint64(index) >= uint64(len(o.symbols)) {
		return damage(o.name, "attribute %#x of symbol %d of %d", byte(x.id), index, len(o.symbols))
	}
	if rules.mercury {
		x.symbols, x.word = []symbolID{noSymbol}, le.Uint32(x.data[4:]) // newLateBanks knows the symbol
		return nil
	}
	at := o.sectionOf[o.symbols[index].Section]
	if !at.done || at.section == noSection || sections.list[at.section].kind != cubin.SHT_CUDA_CONSTANT_B0 {
		return damage(o.name, "attribute %#x of a symbol that is no bank of constants", byte(x.id))
	}
	//rule: Parameters name the symbol of their bank.
	//mutate: at.section -> sections.toolNote
	x.symbols, x.word = []symbolID{sections.list[at.section].symbol}, le.Uint32(x.data[4:])
	return nil
}

func (symbols *symbolTable) resolveExternals(o *object, x *attribute) error {
	if len(x.data)%4 != 0 {
		return damage(o.name, "attribute %#x of %d bytes", byte(x.id), len(x.data))
	}
	x.symbols = make([]symbolID, 0, len(x.data)/4)
	for b := x.data; len(b) > 0; b = b[4:] {
		index := le.Uint32(b)
		id, err := o.symbolAt(index)
		if err != nil {
			return err
		}
		if o.symbols[index].Section != elf64.Undefined {
			symbols.list[id].listedOwn = true
		}
		x.symbols = append(x.symbols, id)
	}
	return nil
}

// mergeCompat merges what the code demands of the driver. The first input
// decides the order of the rows, but for the first one, which every program has.
func mergeCompat(rules *ruleSet, sections *sectionTable, attributes *attributeTable, o *object,
	s *elf64.Section) error {
	if sections.compat == noSection {
		return unsupported(o.name, "the section '%s' for %s", s.Name, rules.options.Arch)
	}
	out := &sections.list[sections.compat].attributes
	return o.parseAttributes(s, func(x attribute) error {
		if !compatShapes[cubin.CompatAttribute(x.id)].of(&x) {
			return unsupported(o.name, "the row %#x of form %d and %d bytes in '%s'", byte(x.id), byte(x.form), len(x.data),
				s.Name)
		}
		if x.id == compatFeatures {
			if !rules.keepsFeatures() {
				return nil
			}
			if o.featured {
				return unsupported(o.name, "two rows %#x in '%s'", byte(x.id), s.Name)
			}
			o.featured = true
			attributes.features = append(attributes.features, featureSet{o.countFunctions(), o.texts(), x.data})
		}
		at := slices.IndexFunc(out.added, func(old attribute) bool { return old.id == x.id })
		if at < 0 {
			out.added = append(out.added, x)
			return nil
		}
		if !mergeCompatRow(&out.added[at], &x) {
			return unsupported(o.name, "how to merge the row %#x of '%s', which differs between inputs", byte(x.id), s.Name)
		}
		return nil
	})
}

// mergeCompatRow merges a row with that of the inputs before: the version is
// the highest one, and all else must be the same.
func mergeCompatRow(old, x *attribute) bool {
	switch {
	case x.form != old.form || len(x.data) != len(old.data):
		return false
	case x.id == compatFeatures: // setFeatures does it
		return true
	case x.id == compatVersion && x.form != cubin.EIFMT_SVAL:
		//rule: The program demands the highest version of all inputs.
		old.value = max(old.value, x.value)
		return true
	}
	return x.value == old.value && slices.Equal(x.data, old.data)
}

// A featureSet is what the code of one input may rely on, in bits.
type featureSet struct {
	functions int         // how many the input has
	texts     []sectionID // those of them that are in the output
	bits      []byte
}

// keepsFeatures reports whether the row of features is in the output.
func (rules *ruleSet) keepsFeatures() bool {
	//rule: The row of features is in no program for sm_90 before 13.2.
	//mutate: true
	return rules.mercury || rules.merge.KeepsFeatures
}

func (o *object) countFunctions() int {
	n := 0
	for i := range o.file.Sections {
		if isText(&o.file.Sections[i]) {
			n++
		}
	}
	return n
}

// texts are the functions of an input that are in the output.
func (o *object) texts() []sectionID {
	var list []sectionID
	for i, at := range o.sectionOf {
		if at.done && at.section != noSection && isText(&o.file.Sections[i]) {
			list = append(list, at.section)
		}
	}
	return list
}

// setFeatures leaves the features that all inputs have of which code remains;
// without code there are none, and since 13.3 all.
func setFeatures(rules *ruleSet, sections *sectionTable, attributes *attributeTable, notes *noteTable) error {
	if sections.compat == noSection {
		return nil
	}
	rows := sections.list[sections.compat].attributes.added
	at := slices.IndexFunc(rows, func(x attribute) bool { return x.id == compatFeatures })
	if at < 0 {
		if rules.mercury && len(notes.records) == 0 {
			return unsupported("", "the features of a program without code for %s", rules.options.Arch)
		}
		return nil
	}
	bits, counted, certain := make([]byte, len(rows[at].data)), false, rules.features
	for _, f := range attributes.features {
		left := 0
		for _, id := range f.texts {
			if !sections.list[id].removed {
				left++
			}
		}
		//rule: Features of inputs of which no code remains don't count.
		//mutate: false
		if left == 0 {
			continue
		}
		if left == f.functions {
			certain &= f.bits[0]
		}
		for i := range bits {
			if !counted {
				bits[i] = f.bits[i]
			}
			//rule: The features of a program are those that all its inputs have.
			bits[i] &= f.bits[i]
		}
		counted = true
	}
	if counted && rules.mercury && bits[0] != certain {
		return unsupported("", "which features remain when functions that lack some are removed")
	}
	if !counted && rules.merge.AllFeaturesWithoutCode {
		bits[0] = rules.features
	}
	rows[at].data = bits
	return nil
}
