package slice

import (
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/ptx"
)

// A program is the symbol graph of all modules. A definition is known by its
// number: the modules' symbols counted through.
type program struct {
	modules []*Module
	first   []int // number of a module's first symbol
	module  []int // of each symbol
	names   map[string]*binding
	written []bool // whether a live function may write a variable, by the definition that wins
	pinned  []bool // whether a definition must stay in one slice
	work    []int  // of a unit, as far as it was measured
}

// A binding is what the modules of a program have under one name.
type binding struct {
	// defined are the definitions with external linkage, in link order; the linker
	// keeps winner, which is the strong one or else the first.
	defined []int
	winner  int
	// same means that all copies are equal and depend on nothing local, so that any will do.
	same   bool
	local  int // modules that have it as a local symbol
	others int // modules that have it as another one
}

func newProgram(modules []*Module) *program {
	p := &program{modules: modules, names: map[string]*binding{}}
	for i, m := range modules {
		p.first = append(p.first, len(p.module))
		for j := range m.symbols {
			s, number := &m.symbols[j], len(p.module)
			p.module = append(p.module, i)
			n := p.names[s.name]
			if n == nil {
				n = &binding{winner: -1}
				p.names[s.name] = n
			}
			if s.linkage == ptx.Local && s.defined {
				n.local++
				continue
			}
			n.others++
			if s.defined {
				n.defined = append(n.defined, number)
			}
		}
	}
	for _, n := range p.names {
		p.settle(n)
	}
	p.work = make([]int, len(p.module))
	p.written = make([]bool, len(p.module))
	p.pinned = make([]bool, len(p.module))
	return p
}

func (p *program) symbol(number int) *symbol {
	m := p.module[number]
	return &p.modules[m].symbols[number-p.first[m]]
}

// settle finds the winner of a name.
func (p *program) settle(n *binding) {
	n.same = true
	for _, d := range n.defined {
		if s := p.symbol(d); n.winner < 0 || s.linkage != ptx.Weak {
			n.winner = d
		}
	}
	for _, d := range n.defined {
		a, b := p.symbol(n.winner), p.symbol(d)
		n.same = n.same && a.linkage == b.linkage && a.head == b.head && a.value == b.value &&
			a.digest == b.digest && !p.refersToLocal(d)
	}
}

// refersToLocal reports whether a definition names something local other than literals.
func (p *program) refersToLocal(number int) bool {
	m := p.modules[p.module[number]]
	return slices.ContainsFunc(p.symbol(number).refs, func(r int) bool {
		to := &m.symbols[r]
		return to.linkage == ptx.Local && to.defined && !to.literal
	})
}

// nameable reports whether a definition can be told from all others by its name, also
// after the compiler has linked modules: it renames local symbols that clash, and
// writes the dots in names of its own as dollars.
func (p *program) nameable(number int) bool {
	s := p.symbol(number)
	if s.linkage != ptx.Local {
		return true
	}
	n := p.names[s.name]
	return n.local == 1 && n.others == 0 && !strings.Contains(s.name, "$")
}

// A reach is all that a set of kernels can need.
type reach struct {
	symbols []int // numbers of definitions, sorted
	modules []int // sorted
}

// A walk finds what can be reached.
type walk struct {
	program *program
	seen    map[int]bool
	inside  map[int]bool // modules
	several map[string]bool
	todo    []int
}

// reachable follows all references from the given definitions. Of a weak symbol
// whose copies differ it follows the copies of all modules that take part, because
// the compiler may take any of them, and the one that wins in the whole program,
// so that the same one wins in the slice.
func (p *program) reachable(from []int) reach {
	w := &walk{program: p, seen: map[int]bool{}, inside: map[int]bool{}, several: map[string]bool{}}
	for _, number := range from {
		w.visit(number)
	}
	for len(w.todo) > 0 {
		for len(w.todo) > 0 {
			number := w.todo[len(w.todo)-1]
			w.todo = w.todo[:len(w.todo)-1]
			base := p.first[p.module[number]]
			for _, r := range p.symbol(number).refs {
				w.visit(base + r)
			}
		}
		for name := range w.several {
			for _, number := range p.names[name].defined {
				if w.inside[p.module[number]] {
					w.visit(number)
				}
			}
		}
	}
	var r reach
	for number := range w.seen {
		r.symbols = append(r.symbols, number)
	}
	for m := range w.inside {
		r.modules = append(r.modules, m)
	}
	slices.Sort(r.symbols)
	slices.Sort(r.modules)
	return r
}

// visit adds a definition, or the one that a declaration stands for.
func (w *walk) visit(number int) {
	if w.seen[number] {
		return
	}
	s := w.program.symbol(number)
	if s.linkage != ptx.Local {
		n := w.program.names[s.name]
		if !s.defined {
			if n.winner >= 0 {
				w.visit(n.winner)
			}
			return
		}
		if !n.same {
			w.several[s.name] = true
		}
	} else if !s.defined {
		return
	}
	w.seen[number] = true
	w.inside[w.program.module[number]] = true
	w.todo = append(w.todo, number)
	if n := w.program.names[s.name]; s.linkage != ptx.Local && !n.same {
		w.visit(n.winner)
	}
}
