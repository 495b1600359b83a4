// Package symbols says what became of the symbols of a link's inputs, and why. What
// is in the output is a fact; the reasons follow from who may name a symbol from
// outside, and from who refers to it as far as references are known.
package symbols

import (
	"maps"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/glob"
	"github.com/warpld/warpld/internal/record"
)

// A Symbol is what an input defines.
type Symbol struct {
	Name  string
	Kind  string // record.KindKernel ...
	Local bool   // other inputs may have another one of that name
	// Refs are the names of what it refers to.
	Refs []string
}

// An Input is a piece of device code.
type Input struct {
	Name    string
	Symbols []Symbol
}

// A Root is a pattern of names, and the input whose host code has it. One from the
// command line has no input.
type Root struct{ Pattern, Input string }

// Roots are what may be named from outside.
type Roots struct {
	// All says why everything may be; AllInput made it so, if an input did.
	All, AllInput      string
	ByOption           bool
	Kernels, Variables []Root
}

// A Place is where the output has a symbol.
type Place struct {
	Name, Kind, Section string
	Offset, Size        uint64
}

// A Link is what the reasons are found from.
type Link struct {
	Inputs []Input
	Roots  Roots
	Output []Place
	// Traced: the references of all inputs are known.
	Traced bool
}

// Explain gives each symbol with what became of it, in the order of the inputs, and of
// each input the names of those that it refers to.
func (l *Link) Explain() (rows []record.Symbol, uses [][]string) {
	p := &program{link: l, byName: map[string]int{}, own: make([]map[string]int, len(l.Inputs))}
	p.collect()
	p.place()
	p.trace()
	rows = make([]record.Symbol, len(p.nodes))
	for i := range p.nodes {
		n := &p.nodes[i]
		rows[i] = record.Symbol{Name: n.Name, Kind: n.Kind, Inputs: n.inputs, Kept: n.place != nil}
		p.reason(n, &rows[i])
		if n.place != nil {
			rows[i].Section, rows[i].Offset, rows[i].Size = n.place.Section, n.place.Offset, n.place.Size
		}
	}
	return rows, p.uses()
}

// uses follows the references of each input to the inputs that define what it needs.
func (p *program) uses() [][]string {
	uses := make([][]string, len(p.link.Inputs))
	for i := range p.link.Inputs {
		used := map[int]bool{}
		for _, y := range p.link.Inputs[i].Symbols {
			for _, name := range y.Refs {
				if to, known := p.resolve(i, name); known && p.nodes[to].input != i {
					used[p.nodes[to].input] = true
				}
			}
		}
		for _, other := range slices.Sorted(maps.Keys(used)) {
			uses[i] = append(uses[i], p.link.Inputs[other].Name)
		}
	}
	return uses
}

// resolve finds the symbol that an input means by a name.
func (p *program) resolve(input int, name string) (int, bool) {
	if at, known := p.own[input][name]; known {
		return at, true
	}
	at, known := p.byName[name]
	return at, known
}

// A node is a symbol of the program: those of one name that inputs share are one.
type node struct {
	*Symbol
	input  int
	inputs []string
	place  *Place
	// root is who names it from outside; by is the node that first led to it.
	root *Root
	live bool
	by   int
}

type program struct {
	link   *Link
	nodes  []node
	byName map[string]int   // of symbols that inputs share
	own    []map[string]int // of those that an input has for itself
}

func (p *program) collect() {
	for i := range p.link.Inputs {
		in := &p.link.Inputs[i]
		p.own[i] = map[string]int{}
		for j := range in.Symbols {
			y := &in.Symbols[j]
			names := p.byName
			if y.Local {
				names = p.own[i]
			}
			at, known := names[y.Name]
			if !known {
				at = len(p.nodes)
				names[y.Name] = at
				p.nodes = append(p.nodes, node{Symbol: y, input: i, by: -1})
			}
			if n := &p.nodes[at]; !slices.Contains(n.inputs, in.Name) {
				n.inputs = append(n.inputs, in.Name)
			}
		}
	}
}

// place finds the symbols in the output. Compilers number local symbols of one name
// (name$1, name$2) and copy functions for kernels ($kernel$name). Which of the numbered
// ones is which they don't say; they are taken in the order of the inputs.
func (p *program) place() {
	type key struct{ kind, name string }
	same, other := map[key][]*Place{}, map[key][]*Place{}
	for i := range p.link.Output {
		o := &p.link.Output[i]
		same[key{o.Kind, o.Name}] = append(same[key{o.Kind, o.Name}], o)
		if base := baseName(o.Name); base != o.Name {
			other[key{o.Kind, base}] = append(other[key{o.Kind, base}], o)
		}
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		k := key{n.Kind, n.Name}
		switch {
		case len(same[k]) > 0:
			n.place = same[k][0]
			same[k] = same[k][1:]
		case len(other[k]) > 0 && (n.Local || n.Kind == record.KindFunction):
			n.place = other[k][0]
			other[k] = other[k][1:]
		}
	}
}

// baseName is the name that a compiler made another of.
func baseName(name string) string {
	if strings.HasPrefix(name, "$") {
		if _, base, ok := strings.Cut(name[1:], "$"); ok && base != "" {
			return base
		}
	}
	return WithoutNumber(name)
}

// WithoutNumber takes "$12" off the end of a name.
func WithoutNumber(name string) string {
	base := strings.TrimRight(name, "0123456789")
	if len(base) == len(name) || !strings.HasSuffix(base, "$") {
		return name
	}
	return base[:len(base)-1]
}

// trace follows the references from what stays by itself: kernels of the output, and
// what may be named from outside.
func (p *program) trace() {
	var todo []int
	for i := range p.nodes {
		n := &p.nodes[i]
		n.root = p.rootOf(n)
		all := p.link.Roots.All != "" && n.place != nil && n.Kind != record.KindFunction
		if n.live = (n.root != nil && n.place != nil) || all; n.live {
			todo = append(todo, i)
		}
	}
	p.spread(todo)
	for i := range p.nodes { // kernels that neither names nor references explain
		if n := &p.nodes[i]; !n.live && n.place != nil && n.Kind == record.KindKernel {
			n.live = true
			p.spread([]int{i})
		}
	}
}

func (p *program) spread(todo []int) {
	for ; len(todo) > 0; todo = todo[1:] {
		from := &p.nodes[todo[0]]
		for _, name := range from.Refs {
			if to, known := p.resolve(from.input, name); known && !p.nodes[to].live {
				p.nodes[to].live, p.nodes[to].by = true, todo[0]
				todo = append(todo, to)
			}
		}
	}
}

// rootOf finds who names a symbol from outside.
func (p *program) rootOf(n *node) *Root {
	list := p.link.Roots.Variables
	switch n.Kind {
	case record.KindKernel:
		list = p.link.Roots.Kernels
	case record.KindFunction:
		return nil
	}
	for i := range list {
		if glob.Match(list[i].Pattern, n.Name) {
			return &list[i]
		}
	}
	return nil
}
