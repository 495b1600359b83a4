package units

import (
	"slices"

	"github.com/warpld/warpld/internal/listsort"
)

// mostReached bounds the sum of the functions that kernels reach, so that no program takes
// memory in the square of its size.
const mostReached = 1 << 23

// arrange finds the order of the kernels in the file, what they reach, and what they share.
func (c *cutter) arrange() error {
	for f := range slices.Backward(c.functions) {
		//rule: The file has the kernels in the reverse order of the PTX.
		//mutate: also slices.Reverse(c.order)
		if c.functions[f].isKernel {
			c.order = append(c.order, f)
		}
	}
	if len(c.order) == 0 {
		return refuse(NoKernels, "")
	}
	c.findTaken()
	if c.anyTaken && c.lineInfo {
		return refuse(LinesAndTables, "")
	}
	isIndirect := c.findIndirect()
	if c.anyTaken {
		//rule: If the address of a function is taken, the kernels are sorted: those that use function pointers first.
		c.order = listsort.Sort(c.order, func(p, q int) bool { return isIndirect[p] || !isIndirect[q] })
	}
	var err error
	if c.reached, err = c.reachedBy(c.order); err != nil {
		return err
	}
	c.findTogether()
	c.findIntroduced(isIndirect)
	return nil
}

// findTaken finds the functions whose address is taken, also by functions and variables that
// no kernel uses.
func (c *cutter) findTaken() {
	c.isTaken = make([]bool, len(c.functions))
	take := func(list []int) {
		for _, f := range list {
			c.isTaken[f], c.anyTaken = true, true
		}
	}
	for i := range c.variables {
		//rule: A function in an initializer is taken, also if no kernel uses the variable.
		take(c.variables[i].functions)
	}
	for i := range c.functions {
		//rule: A function is taken also in a function that no kernel calls.
		take(c.functions[i].takes)
	}
}

// functionVariables finds the variables that hold the address of a function, or that of such a
// variable.
func (c *cutter) functionVariables() []bool {
	users := make([][]int, len(c.variables))
	holds := make([]bool, len(c.variables))
	var todo []int
	for i := range c.variables {
		v := &c.variables[i]
		for _, other := range v.variables {
			users[other] = append(users[other], i)
		}
		if len(v.functions) > 0 {
			todo = append(todo, i)
		}
	}
	for len(todo) > 0 {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !holds[v] {
			holds[v] = true
			//rule: A variable with the address of a table of functions is such a table.
			todo = append(todo, users[v]...)
		}
	}
	return holds
}

// findIndirect finds the functions that use function pointers, and those that have to do with
// taken functions at all.
func (c *cutter) findIndirect() (isIndirect []bool) {
	isIndirect, c.isRelated = make([]bool, len(c.functions)), make([]bool, len(c.functions))
	if !c.anyTaken {
		return isIndirect
	}
	holds := c.functionVariables()
	callers := make([][]int, len(c.functions))
	for i := range c.functions {
		for _, g := range c.functions[i].calls {
			callers[g] = append(callers[g], i)
		}
	}
	for i := range c.functions {
		f := &c.functions[i]
		//rule: A kernel that names a table of functions uses function pointers.
		//mutate: false
		names := slices.ContainsFunc(f.variables, func(v int) bool { return holds[v] })
		if f.hasPrototype || len(f.takes) > 0 || names {
			mark(isIndirect, callers, i)
			mark(c.isRelated, callers, i)
		}
		if c.isTaken[i] {
			//rule: The code of a kernel that calls a taken function depends on that the function is taken.
			mark(c.isRelated, callers, i)
		}
	}
	return isIndirect
}

// mark marks a function and those that call it, and so on.
func mark(marks []bool, callers [][]int, function int) {
	for todo := []int{function}; len(todo) > 0; {
		f := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !marks[f] {
			marks[f] = true
			//rule: A kernel uses function pointers if a function that it calls does.
			todo = append(todo, callers[f]...)
		}
	}
}

// reachedBy returns the functions that each of the list reaches, with itself, in the order of
// the text.
func (c *cutter) reachedBy(list []int) ([][]int, error) {
	seen := make([]int, len(c.functions)) // 1 + the last one of the list that reached it
	all := make([][]int, len(list))
	sum := 0
	for i, f := range list {
		all[i] = c.reach(seen, i+1, []int{f})
		if sum += len(all[i]); sum > mostReached {
			return nil, refuse(TooLarge, "")
		}
	}
	return all, nil
}

// reach returns the functions that the list reaches, with itself, in the order of the text.
// It marks them in seen.
func (c *cutter) reach(seen []int, mark int, list []int) []int {
	var out []int
	for todo := list; len(todo) > 0; {
		f := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[f] != mark {
			seen[f] = mark
			out = append(out, f)
			todo = append(todo, c.functions[f].calls...)
		}
	}
	slices.Sort(out)
	return out
}

// findTogether finds the kernels whose code depends on all functions that are taken: they and
// the first kernel are in one unit.
func (c *cutter) findTogether() {
	c.isTogether = make([]bool, len(c.order))
	for place, f := range c.order {
		c.isTogether[place] = c.anyTaken && (place == 0 || c.isRelated[f])
	}
}

// findIntroduced finds the external functions that each kernel is the first to use: ptxas gives
// them their numbers then, a kernel's in the order of their declarations.
func (c *cutter) findIntroduced(isIndirect []bool) {
	var taken []int
	for f, is := range c.isTaken {
		if is {
			taken = append(taken, f)
		}
	}
	ofTaken := c.reach(make([]int, len(c.functions)), 1, taken)
	c.introduced = make([][]int, len(c.order))
	known := make([]bool, len(c.externs))
	use := func(place int, functions []int) {
		for _, f := range functions {
			for _, x := range c.functions[f].externs {
				if !known[x] {
					known[x] = true
					c.introduced[place] = append(c.introduced[place], x)
				}
			}
		}
	}
	for place, f := range c.order {
		use(place, c.reached[place])
		if isIndirect[f] {
			//rule: A kernel that uses function pointers uses the external functions of all taken functions.
			use(place, ofTaken)
			ofTaken = nil // they are known now
		}
		//rule: The external functions of a kernel are numbered in the order of their declarations.
		slices.Sort(c.introduced[place])
	}
}
