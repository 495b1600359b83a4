package device

import (
	"slices"
)

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
	calls.graph = graph{edges: make([][]int32, len(symbols.list)+len(calls.prototypes.names)),
		symbols: int32(len(symbols.list))}
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

// spread marks what is reachable.
func (g *graph) spread(live []bool, from []int32) {
	todo := slices.Clone(from)
	for _, node := range from {
		live[node] = true
	}
	for len(todo) > 0 {
		node := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, to := range g.edges[node] {
			if !live[to] {
				live[to] = true
				todo = append(todo, to)
			}
		}
	}
}

// A reachability says what each live kernel reaches.
type reachability struct {
	kernels []symbolID
	// from are the functions that a kernel reaches: itself, then callees before
	// callers.
	from map[symbolID][]symbolID
	// by are the kernels that reach a function.
	by map[symbolID][]symbolID
}

// maxReached bounds the pairs of kernels and functions that they reach.
const maxReached = 1 << 25

// findReached finds what each live kernel reaches.
func findReached(symbols *symbolTable, calls *callGraph) error {
	r := reachability{from: map[symbolID][]symbolID{}, by: map[symbolID][]symbolID{}}
	symbols.tableOrder(func(id symbolID, y *symbol) {
		if y.isKernel() {
			r.kernels = append(r.kernels, id)
		}
	})
	w := calls.graph.newWalk()
	pairs := 0
	for _, k := range r.kernels {
		reached := []symbolID{k}
		w.from(int32(k), func(node int32) {
			if node < calls.graph.symbols && node != int32(k) {
				reached = append(reached, symbolID(node))
			}
		})
		r.from[k] = reached
		if pairs += len(reached); pairs > maxReached {
			return unsupported("", "a program whose kernels reach more than %d functions", maxReached)
		}
		for _, f := range reached {
			r.by[f] = append(r.by[f], k)
		}
	}
	calls.reached = r
	return nil
}
