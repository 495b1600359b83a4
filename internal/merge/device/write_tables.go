package device

import (
	"slices"

	"github.com/warpld/warpld/internal/object/cubin"
)

// fillCallGraph writes the groups; rows by the age of the function, and those
// of a function the newest first.
func (w *writer) fillCallGraph() {
	var b []byte
	row := func(first, second uint32) { b = le.AppendUint32(le.AppendUint32(b, first), second) }
	group := func(number int32, rows func(y *symbol)) {
		row(0, uint32(number))
		for id := range w.out.symbols.list {
			if y := &w.out.symbols.list[id]; y.function != nil && !y.dead {
				rows(y)
			}
		}
	}
	group(groupCalls, func(y *symbol) {
		//rule: Rows of the call graph: the newest first.
		//mutate: forward
		for _, callee := range slices.Backward(y.function.calls) {
			//rule: Calls of removed functions are not in the call graph.
			//mutate: true
			if !w.out.symbols.list[callee].dead {
				row(y.index, w.out.symbols.list[callee].index)
			}
		}
	})
	group(groupTaken, func(y *symbol) {
		for _, p := range y.function.takenAs {
			row(y.index, w.strings.Offset[w.out.calls.prototypes.names[p]])
		}
	})
	group(groupIndirect, func(y *symbol) {
		//rule: Indirect calls: the newest first.
		//mutate: forward
		for _, p := range slices.Backward(y.function.indirect) {
			row(y.index, w.strings.Offset[w.out.calls.prototypes.names[p]])
		}
	})
	group(groupPotential, func(y *symbol) {
		//rule: Potential calls are kept.
		//mutate: slices.Backward(y.function.potential) -> y.function.potential[:0]
		for _, callee := range slices.Backward(y.function.potential) {
			if !w.out.symbols.list[callee].dead {
				row(y.index, w.out.symbols.list[callee].index)
			}
		}
	})
	w.out.sections.list[w.out.sections.callGraph].setData(b)
}

// listPrototypes are the functions with a row in .nv.prototype; those whose
// address is taken have one in the call graph instead.
func (w *writer) listPrototypes() []symbolID {
	var list []symbolID
	for id := range w.out.symbols.list {
		y := &w.out.symbols.list[id]
		//rule: Functions whose address is taken have no row of prototypes.
		//mutate: true len(f.takenAs) == 0
		if f := y.function; f != nil && !y.dead && f.prototype != noPrototype && len(f.takenAs) == 0 {
			list = append(list, symbolID(id))
		}
	}
	return list
}

func (w *writer) fillPrototypes(list []symbolID) {
	var b []byte
	for _, id := range list {
		y := &w.out.symbols.list[id]
		b = le.AppendUint32(b, y.index)
		b = le.AppendUint32(b, w.strings.Offset[w.out.calls.prototypes.names[y.function.prototype]])
	}
	w.out.sections.list[w.out.sections.prototypes].setData(b)
}

func (w *writer) fillAttributes() {
	for _, s := range w.body {
		if s.kind != cubin.SHT_CUDA_INFO && s.kind != cubin.SHT_CUDA_COMPAT_INFO {
			continue
		}
		var b []byte
		s.attributes.inFileOrder(func(x *attribute) { b = x.appendTo(b, w.out.symbols.list) })
		s.setData(b)
	}
}
