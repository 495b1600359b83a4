package compose

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

// appendEnd appends what comes after the last kernel: that of the first unit, and the names of
// bank 4's relocations if only a later unit has them.
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
	rest(c.first, func(t thing) {
		seen[t.key] = true
		out = append(out, found{c.first, t})
	})
	for _, u := range c.units {
		rest(u, func(t thing) {
			if name := trimZeros(t.key); name != ".rel.nv.constant4" && name != ".rela.nv.constant4" {
				return
			}
			seen[t.key] = true
			//rule: The relocations of bank 4 come before those of frames also if only a later kernel has them.
			//mutate: placeOf(out, ".rel.debug_frame") -> len(out)
			at := placeOf(out, ".rel.debug_frame")
			out = append(out, found{})
			copy(out[at+1:], out[at:])
			out[at] = found{u, t}
		})
	}
	return out
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
