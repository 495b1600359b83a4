package compose

import "slices"

// A thing is an element of a list that a unit has: a name or a symbol.
type thing struct {
	owner kernelID
	key   string // what a thing of the module is known by
	value int    // its place in the unit
}

// A found thing is one of a unit.
type found struct {
	unit *unit
	thing
}

// A walk goes through the list of a unit, piece by piece.
type walk struct {
	list   []thing
	byPart map[kernelID][]int // places of the things of kernels
	after  []int              // for each place, the next place with a thing of a kernel
	module []int              // places of things of the module
	done   int                // how many of these were met
}

func newWalk(list []thing) *walk {
	w := &walk{list: list, byPart: map[kernelID][]int{}, after: make([]int, len(list)+1)}
	w.after[len(list)] = len(list)
	for i := len(list) - 1; i >= 0; i-- {
		w.after[i] = w.after[i+1]
		if list[i].owner != module {
			w.after[i] = i
		}
	}
	for i := range list {
		if k := list[i].owner; k != module {
			w.byPart[k] = append(w.byPart[k], i)
		} else {
			w.module = append(w.module, i)
		}
	}
	return w
}

// upTo calls do with the things of a kernel and those of the module before a place that no
// call met before, in their order.
func (w *walk) upTo(k kernelID, end int, do func(t thing)) {
	own := w.byPart[k]
	for {
		next := end
		if w.done < len(w.module) {
			next = min(next, w.module[w.done])
		}
		switch {
		case len(own) > 0 && own[0] < next:
			do(w.list[own[0]])
			own = own[1:]
		case next < end:
			do(w.list[next])
			w.done++
		default:
			return
		}
	}
}

// frameName is where the end of a unit's lists begins: what ptxas makes after all kernels.
const frameName = ".debug_frame"

// split cuts a list where its end begins.
func split(list []thing) (kernels, end []thing) {
	for i := range list {
		if list[i].key == frameName {
			return list[:i], list[i:]
		}
	}
	return list, nil
}

// appearance is the order in which the whole program has the things of lists, one list for
// each unit: kernel by kernel, those of the module where they are met first.
func (c *composer) appearance(lists [][]thing) []found {
	var out []found
	seen := map[string]bool{}
	heads, ends := make([]*walk, len(lists)), make([]*walk, len(lists))
	for i, list := range lists {
		head, end := split(list)
		heads[i], ends[i] = newWalk(head), newWalk(end)
	}
	emit := func(u *unit) func(t thing) {
		return func(t thing) {
			if t.owner == module {
				if seen[t.key] {
					return
				}
				seen[t.key] = true
			}
			out = append(out, found{u, t})
		}
	}
	c.kernels(func(k kernelID, u *unit) {
		w := heads[u.place]
		if own := w.byPart[k]; len(own) > 0 {
			//rule: Things of the module after those of a kernel are met with the kernel.
			//mutate: w.after[own[len(own)-1]+1] -> own[len(own)-1]+1
			w.upTo(k, w.after[own[len(own)-1]+1], emit(u))
		}
	})
	c.kernels(func(k kernelID, u *unit) {
		w := ends[u.place]
		if own := w.byPart[k]; len(own) > 0 {
			w.upTo(k, own[len(own)-1]+1, emit(u))
		}
	})
	return c.appendEnd(out, ends, seen)
}

// appendEnd appends what comes after the last kernel, and the names of bank 4's relocations if only
// a later unit has them.
func (c *composer) appendEnd(out []found, ends []*walk, seen map[string]bool) []found {
	rest := func(u *unit, do func(t thing)) {
		w := ends[u.place]
		for i := len(w.list) - 1; ; i-- {
			if i < 0 || w.list[i].owner != module {
				for _, t := range w.list[i+1:] {
					if !seen[t.key] {
						do(t)
					}
				}
				return
			}
		}
	}
	last := c.lastUnit()
	rest(last, func(t thing) {
		seen[t.key] = true
		out = append(out, found{last, t})
	})
	for _, u := range c.units {
		rest(u, func(t thing) {
			if u != c.first && !lateInEnd[trimZeros(t.key)] {
				return
			}
			seen[t.key] = true
			//rule: What only a later kernel needs of the end comes where the unit of that kernel has it.
			//mutate: placeAfter(out, ends[u.place].list, t) -> len(out)
			at := placeAfter(out, ends[u.place].list, t)
			out = slices.Insert(out, at, found{u, t})
		})
	}
	return out
}

// lateInEnd are the things of the end that only some kernels need: the relocations of addresses of
// external functions.
var lateInEnd = map[string]bool{".rel.nv.constant4": true, ".rela.nv.constant4": true}

// lastUnit is the unit whose end is that of the program.
func (c *composer) lastUnit() *unit {
	last := c.first
	if !c.program.LineInfo {
		return last
	}
	size := func(u *unit) int {
		if s := u.byName[".debug_line"]; s != nil {
			return len(readLines(c, s).head)
		}
		return 0
	}
	c.kernels(func(_ kernelID, u *unit) {
		//rule: The end is that of a unit with lines of inlined functions, if there is one.
		//mutate: false
		if u != last && size(u) > size(last) {
			last = u
		}
	})
	return last
}

// placeAfter finds where a thing of the end of a unit comes: after what it comes after there.
func placeAfter(out []found, list []thing, t thing) int {
	for i := range list {
		if list[i].owner == module && list[i].key == t.key {
			for _, before := range slices.Backward(list[:i]) {
				if at := placeOf(out, before.key); before.owner == module && at < len(out) {
					return at + 1
				}
			}
		}
	}
	return len(out)
}

// placeOf finds a thing of the module; its place is at the end if there is none.
func placeOf(list []found, key string) int {
	for i := range list {
		if list[i].owner == module && list[i].key == key {
			return i
		}
	}
	return len(list)
}
