package device

import (
	"math"
	"slices"
)

// unknownStack is written where recursion makes the size unknowable.
const unknownStack = 0xffffffff

// findStacks finds how much stack every kernel needs.
func (l *linker) findStacks() error {
	l.stacks = l.graph.stackDepths(l.reached.kernels, func(node int32) uint64 {
		if node >= l.graph.symbols || l.symbols[node].function == nil {
			return 0
		}
		return uint64(l.symbols[node].function.frame)
	})
	for _, k := range slices.Sorted(slices.Values(l.reached.kernels)) { // as they were met
		if l.stacks[k].recursive && !l.options.SuppressStackSizeWarning {
			l.warnRecursion(k)
		}
	}
	return nil
}

// computeAttributes gives every kernel what it needs for all that it calls.
func (l *linker) computeAttributes() error {
	views := []view{{l, func(s *section) *attributeList { return &s.attributes }}}
	if l.mirrors() {
		views = append(views, view{l, func(s *section) *attributeList { return &s.mirrorOf().attributes }})
	}
	for _, v := range views {
		if err := v.compute(); err != nil {
			return err
		}
	}
	return l.setFeatures()
}

// A view is one of the two programs that attributes speak of.
type view struct {
	*linker
	of func(*section) *attributeList
}

func (l view) compute() error {
	info := l.of(&l.sections[l.info])
	info.rows = slices.DeleteFunc(info.rows, func(x attribute) bool { return len(x.symbols) == 1 && l.symbols[x.symbols[0]].dead })
	kernels := l.reached.kernels
	if err := l.setRegisters(info); err != nil {
		return err
	}
	for _, k := range kernels {
		d := l.stacks[k]
		if d.recursive {
			d.bytes = unknownStack
			l.setCallStack(l.attributesOf(k))
		}
		if d.bytes > unknownStack {
			return unsupported("", "a stack of %d bytes", d.bytes)
		}
		info.added = append(info.added, attribute{form: formBytes, id: attrMinStack, symbols: []symbolID{k}, word: uint32(d.bytes)})
		counted := l.countedFor(k)
		if l.externalsFirst(counted) {
			l.setExternals(k, counted)
			l.setBarriers(k, counted)
			continue
		}
		l.setBarriers(k, counted)
		l.setExternals(k, counted)
	}
	l.dropResolvedExternals()
	return nil
}

// setCallStack says that the size of a kernel's call stack is unknown.
func (l view) setCallStack(own *attributeList) {
	unknown := attribute{form: formBytes, id: attrCallStack, data: []byte{0xff, 0xff, 0xff, 0xff}}
	if row := own.find(attrCallStack); row != nil {
		*row = unknown
	} else {
		own.added = append(own.added, unknown)
	}
}

// warnRecursion warns, as nvlink does, once for every call in the kernel that
// leads to recursion.
func (l *linker) warnRecursion(k symbolID) {
	warn := func(node int32) {
		if l.stacks[node].recursive {
			l.unknownStackOf(k, node)
		}
	}
	for _, to := range l.graph.edges[k] {
		if to < l.graph.symbols {
			warn(to)
			continue
		}
		for _, taken := range l.graph.edges[to] {
			warn(taken)
		}
	}
}

// setRegisters makes the registers of a kernel the most of all it reaches.
func (l view) setRegisters(info *attributeList) error {
	for i := range info.rows {
		x := &info.rows[i]
		if x.id != attrRegisters || x.form != formBytes {
			continue
		}
		limit := l.maxRegisters(x.symbols[0])
		for _, f := range l.reached.from[x.symbols[0]] {
			if y := &l.symbols[f]; y.function.registers > limit {
				return unsupported("", "'%s', which may have %d registers, but calls '%s', which needs %d", l.symbols[x.symbols[0]].name, limit, y.name, y.function.registers)
			}
			x.word = max(x.word, l.symbols[f].function.registers)
		}
	}
	return nil
}

// maxRegisters is how many registers a function may have.
func (l view) maxRegisters(id symbolID) uint32 {
	if list := l.attributesOf(id); list != nil {
		if row := list.find(attrMaxRegs); row != nil {
			return uint32(row.value)
		}
	}
	return math.MaxUint32
}

// externalsFirst reports whether the first row of externals came in before the
// first one of barriers, of the functions that count for a kernel; also externals
// that are defined now. It decides the order in which rows are added.
func (l view) externalsFirst(counted []symbolID) bool {
	if len(l.reached.kernels) == 1 {
		return false
	}
	for _, f := range l.byArrival(counted) {
		if a := l.attributesOf(f); a != nil {
			for i := range a.rows {
				if id := a.rows[i].id; id == attrBarriers || id == attrExternals {
					return id == attrExternals
				}
			}
		}
	}
	return false
}

// attributesOf are those in the section of a function; a kernel has one.
func (l view) attributesOf(id symbolID) *attributeList {
	if s := l.symbols[id].function.info; s != noSection {
		return l.of(&l.sections[s])
	}
	return nil
}

// countedFor are the functions whose barriers and externals count for a
// kernel: those it reaches, and all of the program if it is the only kernel.
func (l *linker) countedFor(k symbolID) []symbolID {
	if len(l.reached.kernels) > 1 {
		return l.reached.from[k]
	}
	all := []symbolID{k}
	for id := range l.symbols {
		y := &l.symbols[id]
		if y.function != nil && y.defined() && !y.dead && symbolID(id) != k {
			all = append(all, symbolID(id))
		}
	}
	return all
}

func (l view) setBarriers(k symbolID, counted []symbolID) {
	most := uint16(0)
	for _, f := range counted {
		if a := l.attributesOf(f); a != nil {
			for i := range a.rows {
				if a.rows[i].id == attrBarriers {
					most = max(most, a.rows[i].value&0xff)
				}
			}
		}
	}
	own := l.attributesOf(k)
	if row := own.find(attrBarriers); row != nil {
		row.value = most
	} else if most > 0 {
		own.added = append(own.added, attribute{form: 2, id: attrBarriers, value: most})
	}
}

// remainsExternal reports whether an entry of a list of externals stays:
// functions that the driver defines, kernels, and those listed by the input that
// defines them.
func (l *linker) remainsExternal(id symbolID) bool {
	y := &l.symbols[id]
	return !y.dead && (!y.defined() || y.listedOwn || y.isKernel())
}

// setExternals adds to the externals of a kernel those of all it calls.
func (l view) setExternals(k symbolID, counted []symbolID) {
	own := l.attributesOf(k)
	row := own.find(attrExternals)
	var before int
	if row != nil {
		before = len(l.externalsOf([]symbolID{k}))
	}
	list := l.externalsOf(append([]symbolID{k}, l.byArrival(counted)...))
	alone := len(l.reached.kernels) == 1
	switch {
	case len(list) == before && row != nil:
	case row != nil && !alone:
		row.symbols = list
	case len(list) > 0:
		if alone {
			list = l.externalsAlone(row, counted)
		}
		own.added = append(own.added, attribute{form: formBytes, id: attrExternals, symbols: list})
	}
}

// externalsAlone lists the externals of a program with one kernel in the
// order in which the rows came in; up to 13.0 the last one first. A row that
// grew comes last.
func (l view) externalsAlone(row *attribute, counted []symbolID) []symbolID {
	list := l.externalsOf(l.byArrival(counted))
	if l.options.Toolkit < toolkit134 {
		slices.Reverse(list)
	}
	if row != nil {
		row.deleted = true
	}
	return list
}

// byArrival orders functions as their attributes came in.
func (l view) byArrival(functions []symbolID) []symbolID {
	arrival := func(id symbolID) int {
		if a := l.attributesOf(id); a != nil {
			return a.arrival
		}
		return 0
	}
	order := slices.Clone(functions)
	slices.SortStableFunc(order, func(a, b symbolID) int { return arrival(a) - arrival(b) })
	return order
}

// externalsOf are the externals that remain of functions, each once.
func (l view) externalsOf(functions []symbolID) []symbolID {
	var list []symbolID
	listed := map[symbolID]bool{}
	for _, f := range functions {
		a := l.attributesOf(f)
		if a == nil {
			continue
		}
		a.inFileOrder(func(x *attribute) {
			if x.id != attrExternals {
				return
			}
			for _, id := range x.symbols {
				if l.remainsExternal(id) && !listed[id] {
					listed[id] = true
					list = append(list, id)
				}
			}
		})
	}
	return list
}

// dropResolvedExternals takes what is defined now off the lists of externals.
func (l view) dropResolvedExternals() {
	for i := range l.sections {
		s := &l.sections[i]
		if s.kind != typeInfo || s.owner == noSection || !s.live() {
			continue
		}
		rows := l.of(s).rows
		for j := range rows {
			x := &rows[j]
			if x.id != attrExternals {
				continue
			}
			x.symbols = slices.DeleteFunc(x.symbols, func(id symbolID) bool { return !l.remainsExternal(id) })
			x.deleted = x.deleted || len(x.symbols) == 0
		}
	}
}
