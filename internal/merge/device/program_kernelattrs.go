package device

import (
	"math"
	"slices"

	"github.com/warpld/warpld/internal/object/cubin"
)

// unknownStack is written where recursion makes the size unknowable.
const unknownStack = 0xffffffff

// findStacks finds how much stack every kernel needs.
func findStacks(rules *ruleSet, symbols *symbolTable, calls *callGraph, report *linkReport) error {
	calls.stacks = calls.graph.stackDepths(calls.reached.kernels, func(node int32) uint64 {
		if node >= calls.graph.symbols || symbols.list[node].function == nil {
			return 0
		}
		return uint64(symbols.list[node].function.frame)
	})
	//rule: Warnings come in the order of the kernels' arrival.
	//mutate: slices.Sorted(slices.Values(calls.reached.kernels)) -> calls.reached.kernels
	for _, k := range slices.Sorted(slices.Values(calls.reached.kernels)) { // as they were met
		if calls.stacks[k].recursive && !rules.options.SuppressStackSizeWarning {
			warnRecursion(symbols, calls, report, k)
		}
	}
	return nil
}

// computeAttributes gives every kernel what it needs for all that it calls.
func computeAttributes(out *output) error {
	views := []attributeSet{newAttributeSet(out)}
	if out.rules.mercury {
		second := newAttributeSet(out)
		second.of = func(s *section) *attributeList { return &s.mercuryPart().attributes }
		views = append(views, second)
	}
	for _, v := range views {
		if err := v.compute(); err != nil {
			return err
		}
	}
	return setFeatures(out.rules, out.sections, out.attributes, out.notes)
}

// A view is one of the two programs that attributes speak of.
type attributeSet struct {
	rules    *ruleSet
	symbols  *symbolTable
	sections *sectionTable
	calls    *callGraph
	of       func(*section) *attributeList
}

func newAttributeSet(out *output) attributeSet {
	return attributeSet{out.rules, out.symbols, out.sections, out.calls,
		func(s *section) *attributeList { return &s.attributes }}
}

func (l attributeSet) compute() error {
	info := l.of(&l.sections.list[l.sections.info])
	//rule: What is said of removed functions goes.
	//mutate: false len(x.symbols) == 1 && l.symbols.list[x.symbols[0]].dead
	info.rows = slices.DeleteFunc(info.rows, func(x attribute) bool {
		return len(x.symbols) == 1 &&
			l.symbols.list[x.symbols[0]].dead
	})
	//rule: Kernels say how much stack they need in the order of the symbol table.
	//mutate: l.calls.reached.kernels -> slices.Sorted(slices.Values(l.calls.reached.kernels))
	kernels := l.calls.reached.kernels
	if err := l.setRegisters(info); err != nil {
		return err
	}
	for _, k := range kernels {
		d := l.calls.stacks[k]
		if d.recursive {
			d.bytes = unknownStack
			//rule: Recursion makes the size of the call stack unknown.
			l.setCallStack(l.attributesOf(k))
		}
		if d.bytes > unknownStack {
			return unsupported("", "a stack of %d bytes", d.bytes)
		}
		info.added = append(info.added, attribute{form: cubin.EIFMT_SVAL, id: cubin.EIATTR_MIN_STACK_SIZE,
			symbols: []symbolID{k}, word: uint32(d.bytes)})
		counted := countedFor(l.symbols, l.calls, k)
		if err := l.inherit(k, counted); err != nil {
			return err
		}
	}
	l.dropResolvedExternals()
	return nil
}

// setCallStack says that the size of a kernel's call stack is unknown.
func (l attributeSet) setCallStack(own *attributeList) {
	unknown := attribute{form: cubin.EIFMT_SVAL, id: cubin.EIATTR_CRS_STACK_SIZE, data: []byte{0xff, 0xff, 0xff, 0xff}}
	if row := own.find(cubin.EIATTR_CRS_STACK_SIZE); row != nil {
		*row = unknown
	} else {
		own.added = append(own.added, unknown)
	}
}

// warnRecursion warns, as nvlink does, once for every call in the kernel that
// leads to recursion.
func warnRecursion(symbols *symbolTable, calls *callGraph, report *linkReport, k symbolID) {
	warn := func(node int32) {
		//rule: There is a warning for every call that leads to recursion.
		//mutate: false
		if calls.stacks[node].recursive {
			unknownStackOf(symbols, calls, report, k, node)
		}
	}
	for _, to := range calls.graph.edges[k] {
		if to < calls.graph.symbols {
			warn(to)
			continue
		}
		for _, taken := range calls.graph.edges[to] {
			warn(taken)
		}
	}
}

// setRegisters makes the registers of a kernel the most of all it reaches.
func (l attributeSet) setRegisters(info *attributeList) error {
	for i := range info.rows {
		x := &info.rows[i]
		if x.id != cubin.EIATTR_REGCOUNT || x.form != cubin.EIFMT_SVAL {
			continue
		}
		limit := l.maxRegisters(x.symbols[0])
		for _, f := range l.calls.reached.from[x.symbols[0]] {
			if y := &l.symbols.list[f]; y.function.registers > limit {
				return unsupported("", "'%s', which may have %d registers, but calls '%s', which needs %d",
					l.symbols.list[x.symbols[0]].name, limit, y.name, y.function.registers)
			}
			//rule: A kernel has the most registers of all it reaches.
			x.word = max(x.word, l.symbols.list[f].function.registers)
		}
	}
	return nil
}

// maxRegisters is how many registers a function may have.
func (l attributeSet) maxRegisters(id symbolID) uint32 {
	if list := l.attributesOf(id); list != nil {
		if row := list.find(cubin.EIATTR_MAXREG_COUNT); row != nil {
			return uint32(row.value)
		}
	}
	return math.MaxUint32
}

// inherited are the attributes that a kernel gets from the functions that it reaches.
var inherited = []cubin.Attribute{cubin.EIATTR_CTAIDZ_USED, cubin.EIATTR_NUM_BARRIERS, cubin.EIATTR_NUM_MBARRIERS,
	cubin.EIATTR_EXTERNS}

// inherit gives a kernel what the functions that count for it need.
func (l attributeSet) inherit(k symbolID, counted []symbolID) error {
	for _, id := range l.inheritedOrder(counted) {
		switch id {
		case cubin.EIATTR_CTAIDZ_USED:
			l.setThirdDimension(k, counted)
		case cubin.EIATTR_NUM_BARRIERS:
			l.setBarriers(k, counted)
		case cubin.EIATTR_NUM_MBARRIERS:
			if err := l.setMbarriers(k, counted); err != nil {
				return err
			}
		case cubin.EIATTR_EXTERNS:
			l.setExternals(k, counted)
		}
	}
	return l.setSparse(k, counted)
}

// inheritedOrder returns the order in which rows are added: that of the first row of each
// attribute among the functions that count for a kernel. Externals that are defined now
// take part in it.
func (l attributeSet) inheritedOrder(counted []symbolID) []cubin.Attribute {
	//rule: For the only kernel rows are added in a fixed order.
	//mutate: false
	if len(l.calls.reached.kernels) == 1 {
		return inherited
	}
	order := make([]cubin.Attribute, 0, len(inherited))
	for _, f := range l.byArrival(counted) {
		if a := l.attributesOf(f); a != nil {
			for i := range a.rows {
				if id := a.rows[i].id; slices.Contains(inherited, id) && !slices.Contains(order, id) {
					//rule: For one of several kernels that row is added first that came in first.
					order = append(order, id)
				}
			}
		}
	}
	for _, id := range inherited {
		if !slices.Contains(order, id) {
			order = append(order, id)
		}
	}
	return order
}

// attributesOf are those in the section of a function; a kernel has one.
func (l attributeSet) attributesOf(id symbolID) *attributeList {
	if s := l.symbols.list[id].function.info; s != noSection {
		return l.of(&l.sections.list[s])
	}
	return nil
}

// countedFor are the functions whose barriers and externals count for a
// kernel: those it reaches, and all of the program if it is the only kernel.
func countedFor(symbols *symbolTable, calls *callGraph, k symbolID) []symbolID {
	//rule: For the only kernel all functions count.
	//mutate: true
	if len(calls.reached.kernels) > 1 {
		return calls.reached.from[k]
	}
	all := []symbolID{k}
	for id := range symbols.list {
		y := &symbols.list[id]
		if y.function != nil && y.defined() && !y.dead && symbolID(id) != k {
			all = append(all, symbolID(id))
		}
	}
	return all
}

func (l attributeSet) setBarriers(k symbolID, counted []symbolID) {
	most := uint16(0)
	for _, f := range counted {
		if a := l.attributesOf(f); a != nil {
			for i := range a.rows {
				if a.rows[i].id == cubin.EIATTR_NUM_BARRIERS {
					most = max(most, a.rows[i].value&0xff)
				}
			}
		}
	}
	own := l.attributesOf(k)
	if row := own.find(cubin.EIATTR_NUM_BARRIERS); row != nil {
		//rule: A kernel has the most barriers of all it reaches.
		row.value = most
	} else if most > 0 {
		own.added = append(own.added, attribute{form: cubin.EIFMT_BVAL, id: cubin.EIATTR_NUM_BARRIERS, value: most})
	}
}

// setThirdDimension gives a kernel the mark that code which it reaches uses ctaid.z.
func (l attributeSet) setThirdDimension(k symbolID, counted []symbolID) {
	own := l.attributesOf(k)
	if own.find(cubin.EIATTR_CTAIDZ_USED) != nil {
		return
	}
	for _, f := range counted {
		if a := l.attributesOf(f); a != nil && a.find(cubin.EIATTR_CTAIDZ_USED) != nil {
			//rule: A kernel uses the third dimension of the grid if something that it reaches does.
			own.added = append(own.added, attribute{form: cubin.EIFMT_NVAL, id: cubin.EIATTR_CTAIDZ_USED})
			return
		}
	}
}

// setMbarriers gives a kernel the mbarriers of all it reaches.
func (l attributeSet) setMbarriers(k symbolID, counted []symbolID) error {
	sum, found := 0, false
	for _, f := range counted {
		a := l.attributesOf(f)
		if a == nil || a.find(cubin.EIATTR_NUM_MBARRIERS) == nil {
			continue
		}
		if y := &l.symbols.list[f]; f != k && y.isKernel() {
			return unsupported("", "whether the mbarriers of the kernel '%s' count for '%s'", y.name, l.symbols.list[k].name)
		}
		sum, found = sum+int(a.find(cubin.EIATTR_NUM_MBARRIERS).value), true
	}
	if sum > math.MaxUint16 {
		return unsupported("", "a kernel with %d mbarriers", sum)
	}
	own := l.attributesOf(k)
	if row := own.find(cubin.EIATTR_NUM_MBARRIERS); row != nil {
		//rule: A kernel has the mbarriers of all it reaches.
		row.value = uint16(sum)
	} else if found {
		own.added = append(own.added, attribute{form: cubin.EIFMT_HVAL, id: cubin.EIATTR_NUM_MBARRIERS, value: uint16(sum)})
	}
	return nil
}

// setSparse gives a kernel the variants of sparse MMA instructions of all it reaches. Where
// there are such instructions in the attributes, every function has the row.
func (l attributeSet) setSparse(k symbolID, counted []symbolID) error {
	mask := uint16(0)
	for _, f := range counted {
		if a := l.attributesOf(f); a != nil {
			if row := a.find(cubin.EIATTR_SPARSE_MMA_MASK); row != nil {
				mask |= row.value
			}
		}
	}
	if mask == 0 {
		return nil
	}
	row := l.attributesOf(k).find(cubin.EIATTR_SPARSE_MMA_MASK)
	if row == nil || l.rules.mercury {
		return unsupported("", "the sparse MMA instructions that the kernel '%s' reaches", l.symbols.list[k].name)
	}
	//rule: A kernel uses the sparse MMA instructions of all it reaches.
	row.value = mask
	return nil
}

// remainsExternal reports whether an entry of a list of externals stays:
// functions that the driver defines, kernels, and those listed by the input that
// defines them.
func (symbols *symbolTable) remainsExternal(id symbolID) bool {
	y := &symbols.list[id]
	//rule: Externals that are defined now are dropped.
	//mutate: true (!y.defined() || y.listedOwn || y.isKernel())
	//rule: Those that their own input defines stay.
	//mutate: false y.listedOwn
	//rule: A kernel of another input stays among the externals.
	//mutate: false y.isKernel()
	return !y.dead && (!y.defined() || y.listedOwn || y.isKernel())
}

// setExternals adds to the externals of a kernel those of all it calls.
func (l attributeSet) setExternals(k symbolID, counted []symbolID) {
	own := l.attributesOf(k)
	row := own.find(cubin.EIATTR_EXTERNS)
	var before int
	if row != nil {
		before = len(l.externalsOf([]symbolID{k}))
	}
	//rule: Externals of all that a kernel reaches are its own.
	//mutate: append([]symbolID{k}, l.byArrival(counted)...) -> []symbolID{k}
	list := l.externalsOf(append([]symbolID{k}, l.byArrival(counted)...))
	alone := len(l.calls.reached.kernels) == 1
	switch {
	case len(list) == before && row != nil:
	//rule: The row of externals that grew keeps its place if there are more kernels.
	//mutate: false
	case row != nil && !alone:
		row.symbols = list
	case len(list) > 0:
		if alone {
			list = l.externalsAlone(row, counted)
		}
		own.added = append(own.added, attribute{form: cubin.EIFMT_SVAL, id: cubin.EIATTR_EXTERNS, symbols: list})
	}
}

// externalsAlone lists the externals of a program with one kernel in the
// order in which the rows came in; up to 13.1 the last one first. A row that
// grew comes last.
func (l attributeSet) externalsAlone(row *attribute, counted []symbolID) []symbolID {
	list := l.externalsOf(l.byArrival(counted))
	if l.rules.merge.ReversesExternals {
		//rule: Before 13.2 its externals come in the reverse order.
		slices.Reverse(list)
	}
	//rule: A row of externals that grew comes last for the only kernel.
	if row != nil {
		row.deleted = true
	}
	return list
}

// byArrival orders functions as their attributes came in.
func (l attributeSet) byArrival(functions []symbolID) []symbolID {
	arrival := func(id symbolID) int {
		if a := l.attributesOf(id); a != nil {
			return a.arrival
		}
		return 0
	}
	order := slices.Clone(functions)
	//rule: Externals of functions come in the order of arrival.
	slices.SortStableFunc(order, func(a, b symbolID) int { return arrival(a) - arrival(b) })
	return order
}

// externalsOf are the externals that remain of functions, each once.
func (l attributeSet) externalsOf(functions []symbolID) []symbolID {
	var list []symbolID
	listed := map[symbolID]bool{}
	for _, f := range functions {
		a := l.attributesOf(f)
		if a == nil {
			continue
		}
		a.inFileOrder(func(x *attribute) {
			if x.id != cubin.EIATTR_EXTERNS {
				return
			}
			for _, id := range x.symbols {
				if l.symbols.remainsExternal(id) && !listed[id] {
					listed[id] = true
					list = append(list, id)
				}
			}
		})
	}
	return list
}

// dropResolvedExternals takes what is defined now off the lists of externals.
func (l attributeSet) dropResolvedExternals() {
	for i := range l.sections.list {
		s := &l.sections.list[i]
		if s.kind != cubin.SHT_CUDA_INFO || s.owner == noSection || !s.live() {
			continue
		}
		rows := l.of(s).rows
		for j := range rows {
			x := &rows[j]
			if x.id != cubin.EIATTR_EXTERNS {
				continue
			}
			x.symbols = slices.DeleteFunc(x.symbols, func(id symbolID) bool { return !l.symbols.remainsExternal(id) })
			//rule: Rows of externals without an entry go.
			x.deleted = x.deleted || len(x.symbols) == 0
		}
	}
}
