package units

import (
	"bytes"
	"maps"
	"slices"
)

// A writer writes the texts of units. Every part of the module is prepared once.
type writer struct {
	cutter *cutter
	// parts are the texts of the entities as units have them, with what is before them; plain
	// are those of variables in units without the first kernel.
	parts, plain [][]byte
	tail         []byte // what follows the last entity
	// base are the entities that all units have: all but functions with a body, and their
	// declarations. They are in the order of the text.
	base         []int
	declarations map[int][]int // entities that declare a function, by place in functions
	introducers  []int         // kernels that stubs take the place of, in the order of the file
	seen         []int         // functions that are in a unit: its number
	units        int           // how many are written
	shared       int           // size of base
	lines        int           // what lines that are left out take, if lines count
	written      int           // size of all units
	limit        int           // of written
}

// How large all units may be together.
const (
	mostCopies = 64
	mostAlways = 1 << 28
)

// newWriter prepares the parts of the module.
func newWriter(c *cutter) (*writer, error) {
	m := c.module
	w := &writer{cutter: c, parts: make([][]byte, len(m.Entities)), plain: make([][]byte, len(m.Entities)),
		declarations: map[int][]int{}, seen: make([]int, len(c.functions)), limit: max(mostCopies*len(m.Text), mostAlways)}
	n := &normalizer{module: m, labels: map[string]string{}, counts: map[string]int{}}
	end := 0
	for i := range m.Entities {
		e := &m.Entities[i]
		if c.lineInfo {
			w.parts[i] = m.Text[end:e.End]
		} else if text, err := n.normalize(e); err != nil {
			return nil, unreadable(err)
		} else {
			w.parts[i] = text
		}
		if w.plain[i] = w.parts[i]; e.IsVariable() {
			var err error
			if w.plain[i], err = w.withoutValue(i, end); err != nil {
				return nil, err
			}
		}
		end = e.End
		if s, known := c.names[e.Name]; e.IsFunction() && known && s.kind == functionKind {
			if e.Body.Empty() {
				w.declarations[s.place] = append(w.declarations[s.place], i)
			}
			continue
		}
		w.base = append(w.base, i)
		w.shared += len(w.plain[i])
	}
	w.findIntroducers()
	if c.lineInfo {
		w.tail, w.lines = m.Text[end:], bytes.Count(m.Text, []byte("\n"))+len(m.Entities)
	}
	return w, nil
}

// pad adds as many ends of lines as a text has that was left out.
func (w *writer) pad(to, text []byte) []byte {
	//rule: Line numbers are those of the PTX.
	//mutate: false
	if w.cutter.lineInfo {
		for range bytes.Count(text, []byte("\n")) {
			to = append(to, '\n')
		}
	}
	return to
}

// unit writes the unit of the kernels, which are in the order of the file.
func (w *writer) unit(kernels []int) (Unit, error) {
	c := w.cutter
	together := c.isTogether[kernels[0]]
	u := Unit{Kernels: kernels, Stubs: w.stubs(kernels, together)}
	entries := map[int][]byte{} // by entity
	size := w.shared + len(w.tail) + w.lines
	for _, k := range merged(u.Kernels, u.Stubs) {
		i := c.functions[c.order[k]].entity
		entries[i] = w.parts[i]
		if _, isStub := slices.BinarySearch(u.Stubs, k); isStub {
			text, err := w.stub(k)
			if err != nil {
				return u, err
			}
			entries[i] = text
		}
		size += len(entries[i])
	}
	list := slices.Clone(w.base)
	for _, f := range w.functions(kernels, together) {
		if !c.functions[f].isKernel {
			list = append(append(list, w.declarations[f]...), c.functions[f].entity)
			size += len(w.parts[c.functions[f].entity])
		}
	}
	if w.written += size; w.written > w.limit {
		return u, refuse(TooLarge, "")
	}
	last := w.place(&u, together, entries)
	if together || c.lineInfo {
		list = slices.AppendSeq(list, maps.Keys(entries))
	}
	slices.Sort(list)
	u.Text = w.assemble(make([]byte, 0, size), list, entries, kernels[0] == 0)
	u.Text = append(append(u.Text, last...), w.tail...)
	return u, nil
}

// place brings the kernels of a unit, whose texts are given by entity, into their order. It
// returns the text of those that come last. The others stay in their places.
func (w *writer) place(u *Unit, together bool, entries map[int][]byte) []byte {
	var waiting []byte
	if together {
		return nil
	}
	//rule: ptxas takes kernels from the last one of the text.
	//mutate: forward
	for _, k := range slices.Backward(merged(u.Kernels, u.Stubs)) {
		i := w.cutter.functions[w.cutter.order[k]].entity
		waiting = append(waiting, entries[i]...)
		if !w.cutter.lineInfo {
			continue
		}
		// A stub has no lines: it is just before the next kernel.
		delete(entries, i)
		if _, isStub := slices.BinarySearch(u.Stubs, k); !isStub {
			entries[i], waiting = waiting, nil
		}
	}
	return waiting
}

// findIntroducers finds the kernels that later ones need stubs of.
func (w *writer) findIntroducers() {
	c := w.cutter
	for place := range c.order {
		//rule: External functions that earlier kernels use have their numbers before.
		//mutate: false
		introduces := len(c.introduced[place]) > 0
		if introduces {
			w.introducers = append(w.introducers, place)
		}
	}
	//rule: The external functions of the first kernel are numbered before the variables, the others after.
	//mutate: false
	if len(w.introducers) > 0 && w.introducers[0] != 0 {
		w.introducers = slices.Insert(w.introducers, 0, 0)
	}
}

// stubs returns the kernels that the unit has without their code.
func (w *writer) stubs(kernels []int, together bool) []int {
	last, has := kernels[len(kernels)-1], map[int]bool{}
	for _, k := range kernels {
		has[k] = true
	}
	var list []int
	if together {
		//rule: All kernels take part in the sort.
		for k := range w.cutter.order {
			if !has[k] {
				list = append(list, k)
			}
		}
		return list
	}
	for _, k := range w.introducers {
		if k > last {
			break
		}
		if !has[k] {
			list = append(list, k)
		}
	}
	return list
}

// functions returns the functions that the unit has, as places in functions.
func (w *writer) functions(kernels []int, together bool) []int {
	c := w.cutter
	var list []int
	for _, k := range kernels {
		list = append(list, c.order[k])
	}
	if together {
		for f := range c.functions {
			//rule: The numbers of taken functions depend on all functions that have to do with them.
			//mutate: false
			if c.isRelated[f] && !c.functions[f].isKernel {
				list = append(list, f)
			}
		}
	}
	w.units++
	return c.reach(w.seen, w.units, list)
}

// assemble adds the entities of a list, which is in the order of the text.
func (w *writer) assemble(to []byte, list []int, entries map[int][]byte, first bool) []byte {
	parts := w.plain
	if first {
		parts = w.parts
	}
	last := 0
	for _, i := range list {
		if w.cutter.lineInfo {
			for ; last < i; last++ {
				to = w.pad(to, w.parts[last])
			}
			last = i + 1
		}
		if text, ok := entries[i]; ok {
			to = append(to, text...)
		} else {
			to = append(to, parts[i]...)
		}
	}
	for ; w.cutter.lineInfo && last < len(w.parts); last++ {
		to = w.pad(to, w.parts[last])
	}
	return to
}

// merged is the union of two sorted lists.
func merged(p, q []int) []int {
	list := append(slices.Clone(p), q...)
	slices.Sort(list)
	return list
}
