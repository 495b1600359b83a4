package device

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/message"
)

// maxExplained bounds the messages of a kind that come with an explanation, which
// costs a search of the program.
const maxExplained = 8

// recursion is a chain of calls from a kernel, by way of its call of a function,
// that comes to a function for the second time.
func recursion(symbols *symbolTable, calls *callGraph, k symbolID, first int32) string {
	chain, seen := []symbolID{k}, map[int32]bool{int32(k): true}
	for node := first; ; {
		if node < calls.graph.symbols {
			chain = append(chain, symbolID(node))
		}
		if seen[node] {
			return symbols.nameChain(chain)
		}
		seen[node] = true
		at := slices.IndexFunc(calls.graph.edges[node], func(to int32) bool { return calls.stacks[to].recursive })
		if at < 0 {
			return symbols.nameChain(chain)
		}
		node = calls.graph.edges[node][at]
	}
}

// callChain is a shortest chain of calls from a kernel to a function.
func callChain(symbols *symbolTable, calls *callGraph, from, to symbolID) string {
	before := map[int32]int32{int32(from): -1}
	todo := []int32{int32(from)}
	for ; len(todo) > 0 && todo[0] != int32(to); todo = todo[1:] {
		for _, next := range calls.graph.edges[todo[0]] {
			if _, seen := before[next]; !seen {
				before[next] = todo[0]
				todo = append(todo, next)
			}
		}
	}
	var chain []symbolID
	for node, ok := int32(to), true; ok && node >= 0; node, ok = before[node] {
		if node < calls.graph.symbols {
			chain = append(chain, symbolID(node))
		}
	}
	slices.Reverse(chain)
	return symbols.nameChain(chain)
}

// nameChain names the functions of a chain, of a long one those at both ends.
func (symbols *symbolTable) nameChain(chain []symbolID) string {
	const most = 12
	var names []string
	for i, id := range chain {
		switch {
		case len(chain) <= most || i < most/2 || i > len(chain)-most/2:
			names = append(names, message.Demangle(symbols.list[id].name))
		case i == most/2:
			names = append(names, "...")
		}
	}
	return strings.Join(names, " -> ")
}

// explainUndefined says who needs a symbol: how a kernel comes to call it, or which
// functions refer to it.
func explainUndefined(symbols *symbolTable, sections *sectionTable, calls *callGraph, id symbolID) []string {
	if kernels := calls.reached.by[id]; len(kernels) > 0 {
		return []string{"the calls are " + callChain(symbols, calls, kernels[0], id)}
	}
	var names []string
	for i := range sections.list {
		s := &sections.list[i]
		refers := func(r relocation) bool { return r.symbol == id }
		if s.function != noSymbol && s.live() && slices.ContainsFunc(s.edits.relocations, refers) {
			if name := message.Demangle(symbols.list[s.function].name); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{"it is used by " + message.FirstFew(names)}
}

// explainMemory lists the largest variables in the shared memory of a kernel, and
// the calls that lead to their use.
func (s *sharedLayout) explainMemory(k symbolID) []string {
	const most = 5
	user := map[symbolID]symbolID{}
	for i := range s.sections.list {
		out := &s.sections.list[i]
		if out.function == noSymbol || !slices.Contains(s.calls.reached.by[out.function], k) {
			continue
		}
		for _, r := range out.edits.relocations {
			if _, known := user[r.symbol]; !known && s.symbols.list[r.symbol].isShared() {
				user[r.symbol] = out.function
			}
		}
	}
	var list []symbolID
	for _, id := range s.symbols.shared {
		if _, used := user[id]; used && s.symbols.list[id].size > 0 {
			list = append(list, id)
		}
	}
	slices.SortStableFunc(list, func(a, b symbolID) int {
		return cmp.Compare(s.symbols.list[b].size,
			s.symbols.list[a].size)
	})
	var notes []string
	for _, id := range list[:min(len(list), most)] {
		y := &s.symbols.list[id]
		notes = append(notes, fmt.Sprintf("%d bytes are %s of '%s': %s", y.size, sharedName(y.name), y.origin,
			callChain(s.symbols, s.calls, k, user[id])))
	}
	if len(list) > most {
		notes = append(notes, fmt.Sprintf("and %d smaller variables", len(list)-most))
	}
	return notes
}

// ptxasName is how ptxas names a variable of a function: the name, and a number.
var ptxasName = regexp.MustCompile(`^\$__(.*)__\d+$`)

// sharedName is the name of a shared variable as its source has it.
func sharedName(name string) string {
	if part := ptxasName.FindStringSubmatch(name); part != nil {
		name = part[1]
	}
	return message.Demangle(name)
}
