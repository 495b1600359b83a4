package device

import (
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// The groups of .nv.callgraph: rows of two words, each group after a row of 0
// and its number.
const (
	groupCalls     = -1 // caller, callee
	groupTaken     = -2 // function whose address is taken, prototype
	groupIndirect  = -3 // caller, prototype
	groupPotential = -4
)

// mergeCallGraph brings in who calls whom, and the prototypes.
func mergeCallGraph(rules *ruleSet, symbols *symbolTable, calls *callGraph, report *linkReport, o *object) error {
	for i := range o.file.Sections {
		s := &o.file.Sections[i]
		var err error
		switch s.Type {
		case cubin.SHT_CUDA_CALLGRAPH:
			err = mergeCalls(rules, symbols, calls, o, s)
		case cubin.SHT_CUDA_PROTOTYPE:
			err = mergePrototypes(symbols, calls, report, o, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func mergeCalls(rules *ruleSet, symbols *symbolTable, calls *callGraph, o *object, s *elf64.Section) error {
	b := o.bytes(s)
	if len(b)%8 != 0 {
		return damage(o.name, "section %s of %d bytes", s.Name, len(b))
	}
	group := int32(0)
	for ; len(b) > 0; b = b[8:] {
		index, second := le.Uint32(b), le.Uint32(b[4:])
		if index == 0 && int32(second) < 0 {
			group = int32(second)
			continue
		}
		id, err := symbols.functionAt(o, index)
		if err != nil {
			return err
		}
		//rule: A function that lost has no calls.
		//mutate: false
		if o.isDiscarded(index) {
			if group == groupTaken {
				o.discardedTaken[index] = second
			}
			//rule: An address that an input takes does not count if its definition lost.
			//mutate: false !rules.options.FixNvlinkBugs
			if group != groupTaken || !rules.options.FixNvlinkBugs {
				continue
			}
		}
		if err := addCall(symbols, calls, o, group, id, second); err != nil {
			return err
		}
	}
	return nil
}

func addCall(symbols *symbolTable, calls *callGraph, o *object, group int32, id symbolID, second uint32) error {
	f := symbols.list[id].function
	switch group {
	case groupCalls, groupPotential:
		callee, err := symbols.functionAt(o, second)
		if err != nil {
			return err
		}
		if group == groupCalls {
			f.calls = append(f.calls, callee)
		} else {
			f.potential = append(f.potential, callee)
			//rule: It does if a kernel of the input may call it.
			//mutate: false
			if prototype, lost := o.discardedTaken[second]; lost {
				return addCall(symbols, calls, o, groupTaken, callee, prototype)
			}
		}
		return nil
	case groupTaken, groupIndirect:
		name, err := o.stringAt(second)
		if err != nil {
			return err
		}
		prototype := calls.prototypes.intern(name)
		if group == groupIndirect {
			f.indirect = append(f.indirect, prototype)
			return nil
		}
		//rule: A taken function's prototype is what later inputs are compared with.
		f.prototype = prototype // not compared, but what later inputs are compared with
		if key := (takenKey{id, prototype}); !calls.prototypes.known[key] {
			calls.prototypes.known[key] = true
			f.takenAs = append(f.takenAs, prototype)
			calls.prototypes.taken[prototype] = append(calls.prototypes.taken[prototype], id)
		}
		return nil
	}
	return unsupported(o.name, "the group %d of the call graph", group)
}

// functionAt gives the function that a row speaks of.
func (symbols *symbolTable) functionAt(o *object, index uint32) (symbolID, error) {
	id, err := o.symbolAt(index)
	if err == nil && symbols.list[id].function == nil {
		err = damage(o.name, "the call graph has the symbol '%s', which is no function", symbols.list[id].name)
	}
	return id, err
}

func mergePrototypes(symbols *symbolTable, calls *callGraph, report *linkReport, o *object, s *elf64.Section) error {
	b := o.bytes(s)
	if len(b)%8 != 0 {
		return damage(o.name, "section %s of %d bytes", s.Name, len(b))
	}
	for ; len(b) > 0; b = b[8:] {
		id, err := symbols.functionAt(o, le.Uint32(b))
		if err != nil {
			return err
		}
		name, err := o.stringAt(le.Uint32(b[4:]))
		if err != nil {
			return err
		}
		prototype, f := calls.prototypes.intern(name), symbols.list[id].function
		if f.prototype == noPrototype {
			f.prototype = prototype
		} else if f.prototype != prototype {
			//rule: Two prototypes for one function are an error.
			prototypeClash(symbols, calls, report, o, id, name)
		}
	}
	return nil
}

// A graph says which function leads to which. Its nodes are the symbols and,
// after them, the prototypes: an indirect call leads to its prototype, and
// that to all functions of it whose address is taken. So the graph is as
// large as the rows it comes from.
type graph struct {
	edges   [][]int32
	symbols int32 // how many of the nodes are symbols
}

func (g *graph) prototype(p prototypeID) int32 { return g.symbols + int32(p) }

// buildGraph joins the rows of the call graph.
func buildGraph(symbols *symbolTable, calls *callGraph) {
	calls.graph = graph{edges: make([][]int32, len(symbols.list)+len(calls.prototypes.names)), symbols: int32(len(symbols.list))}
	for id := range symbols.list {
		f := symbols.list[id].function
		if f == nil {
			continue
		}
		out := make([]int32, 0, len(f.calls)+len(f.indirect))
		for _, callee := range f.calls {
			out = append(out, int32(callee))
		}
		for _, p := range f.indirect {
			//rule: Indirect calls lead to all functions of the prototype.
			out = append(out, calls.graph.prototype(p))
		}
		calls.graph.edges[id] = out
	}
	for p, taken := range calls.prototypes.taken {
		for _, id := range taken {
			node := calls.graph.prototype(prototypeID(p))
			calls.graph.edges[node] = append(calls.graph.edges[node], int32(id))
		}
	}

}

// A walk visits what is reachable, depth first. Its marks serve many walks.
type walk struct {
	edges [][]int32
	seen  []int32 // number of the last walk that came here
	count int32
	stack []visit
}

type visit struct{ node, next int32 }

func (g *graph) newWalk() *walk { return &walk{edges: g.edges, seen: make([]int32, len(g.edges))} }

// from calls done with every node reachable from the start, callees before
// callers, the start last.
func (w *walk) from(start int32, done func(node int32)) {
	w.count++
	w.seen[start] = w.count
	w.stack = append(w.stack[:0], visit{node: start})
	for len(w.stack) > 0 {
		top := &w.stack[len(w.stack)-1]
		if int(top.next) == len(w.edges[top.node]) {
			done(top.node)
			w.stack = w.stack[:len(w.stack)-1]
			continue
		}
		to := w.edges[top.node][top.next]
		top.next++
		if w.seen[to] != w.count {
			w.seen[to] = w.count
			w.stack = append(w.stack, visit{node: to})
		}
	}
}

// A depth is the stack that a function needs with all that it calls.
type depth struct {
	bytes     uint64
	recursive bool // it cannot be known
}

// stackDepths finds the stack of every function that is reachable from the
// starts. A call that leads back to a function under way is recursion, for
// all functions on the way.
func (g *graph) stackDepths(starts []symbolID, frame func(node int32) uint64) []depth {
	const (
		unseen = iota
		open
		closed
	)
	depths, state := make([]depth, len(g.edges)), make([]uint8, len(g.edges))
	var stack []visit
	for _, start := range starts {
		if state[start] == unseen {
			state[start] = open
			stack = append(stack, visit{node: int32(start)})
		}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			node := top.node
			if int(top.next) == len(g.edges[node]) {
				depths[node].bytes += frame(node)
				state[node] = closed
				stack = stack[:len(stack)-1]
				continue
			}
			to := g.edges[node][top.next]
			if state[to] == unseen {
				state[to] = open
				stack = append(stack, visit{node: to})
				continue // come back to this edge when it is closed
			}
			top.next++
			d := &depths[node]
			//rule: Recursion makes the stack unknown.
			//mutate: d.recursive || state[to] == open || depths[to].recursive -> d.recursive
			d.recursive = d.recursive || state[to] == open || depths[to].recursive
			//rule: A kernel's stack is the deepest chain.
			//mutate: max(d.bytes, depths[to].bytes) -> d.bytes + depths[to].bytes
			d.bytes = max(d.bytes, depths[to].bytes)
		}
	}
	return depths
}
