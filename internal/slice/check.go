package slice

import (
	"slices"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/ptx"
)

// check compares the compiler's result with the plan, and finds what is needed of
// it. It is what makes slices safe: a plan that has overlooked something shows here.
func (r *rewriter) check() *message.Message {
	if err := r.findNeeded(); err != nil {
		return r.slice.refusal("", "the compiler's result cannot be read: %v", err)
	}
	for _, kernel := range r.slice.Kernels {
		if e := r.module.Symbol(kernel); e == nil || !e.Defined() {
			return r.slice.refusal(kernel, "the compiler has removed the kernel '%s'", kernel)
		}
	}
	// Kernels first: one too many brings all that it uses.
	for _, check := range []func(*ptx.Entity) *message.Message{r.checkKernel, r.checkFunction, r.checkVariable} {
		for i := range r.module.Entities {
			if refused := check(&r.module.Entities[i]); refused != nil {
				return refused
			}
		}
	}
	return r.checkListed()
}

// findNeeded marks what the kernels need, and what the listed variables point to.
func (r *rewriter) findNeeded() error {
	for _, kernel := range r.slice.Kernels {
		if err := r.need(kernel); err != nil {
			return err
		}
	}
	for _, name := range sortedNames(r.slice.listed) {
		if err := r.need(name); err != nil {
			return err
		}
	}
	return nil
}

// reaches reports whether the plan has a definition of that name in the slice. known
// reports whether a module of the slice has one at all, and alone whether no other slice
// reaches the same definition.
func (r *rewriter) reaches(name string) (reached, known, alone bool) {
	p := r.slice.plan.program
	alone = true
	for _, m := range r.slice.Modules {
		i, ok := p.modules[m].index[name]
		if !ok || !p.modules[m].symbols[i].defined {
			continue
		}
		known = true
		number := p.first[m] + i
		if _, ok := slices.BinarySearch(r.slice.reach.symbols, number); !ok {
			continue
		}
		reached = true
		for _, other := range r.slice.plan.Slices {
			_, theirs := slices.BinarySearch(other.reach.symbols, number)
			alone = alone && (other == r.slice || !theirs)
		}
	}
	return reached, known, alone
}

// planned is the name that the plan has for a symbol of the result.
func (r *rewriter) planned(name string) string {
	if _, known, _ := r.reaches(name); known {
		return name
	}
	return withoutNumber(name)
}

// checkKernel looks for kernels of other slices, and for what slices cannot have.
func (r *rewriter) checkKernel(e *ptx.Entity) *message.Message {
	if e.Kind == ".alias" || slices.Contains(e.Attributes, ".unified") {
		return r.slice.refusal(e.Name, "slices cannot have %s '%s'", e.Kind, e.Name)
	}
	if e.Kind != ".entry" {
		return nil
	}
	if reached, _, _ := r.reaches(e.Name); !r.roots[e.Name] && !reached {
		return r.slice.refusal(e.Name, "the compiler has kept the kernel '%s', which belongs to another slice", e.Name)
	}
	return nil
}

// checkFunction looks for functions that are missing, or that the merge would see.
func (r *rewriter) checkFunction(e *ptx.Entity) *message.Message {
	n := r.slice.plan.program.names[e.Name]
	switch {
	case e.Kind != ".func":
	case e.Linkage == ptx.Extern && n != nil && n.winner >= 0:
		return r.slice.refusal(e.Name, "the slice lacks the function '%s', which is in %s", e.Name,
			r.slice.plan.program.origins(n.winner)[0])
	case e.Linkage == ptx.Visible || e.Linkage == ptx.Weak:
		return r.slice.refusal(e.Name, "the compiler has left the slice open: the function '%s' is visible", e.Name)
	case r.taken[e.Name] && e.Linkage == ptx.Local && !r.takenInPlan(r.planned(e.Name)):
		return r.slice.refusal(e.Name, "the compiler uses the address of '%s', which the program does not", e.Name)
	}
	return nil
}

// takenInPlan reports whether some code of the slice's modules takes the address.
func (r *rewriter) takenInPlan(name string) bool {
	return slices.ContainsFunc(r.slice.Modules, func(m int) bool {
		module := r.slice.plan.program.modules[m]
		i, ok := module.index[name]
		return ok && module.symbols[i].taken
	})
}

// checkVariable looks for variables that other slices could mean, too.
func (r *rewriter) checkVariable(e *ptx.Entity) *message.Message {
	if (e.Kind != ".global" && e.Kind != ".const") || isLiteral(e) {
		return nil
	}
	if e.Linkage == ptx.Extern {
		return r.slice.refusal(e.Name, "the slice lacks the variable '%s'", e.Name)
	}
	if r.isListed(e.Name) {
		return nil
	}
	if e.Linkage != ptx.Local {
		return r.slice.refusal(e.Name, "the compiler has kept the variable '%s', which is in no list", e.Name)
	}
	reached, known, alone := r.reaches(r.planned(e.Name))
	if known && !reached {
		return r.slice.refusal(e.Name, "the compiler uses the variable '%s', which the plan has not found", e.Name)
	}
	if !alone {
		return r.slice.refusal(e.Name, "the variable '%s' is used by several slices but in no list", e.Name)
	}
	return nil
}

// checkListed compares the definitions of listed variables with those of the data
// object. The compiler may leave out or make local only what no code writes.
func (r *rewriter) checkListed() *message.Message {
	for _, name := range sortedNames(r.slice.listed) {
		number := r.slice.listed[name]
		want, written := r.slice.plan.program.symbol(number), r.slice.plan.program.written[number]
		e := r.module.Symbol(name)
		if e == nil {
			if want.isTraced() && !written {
				continue
			}
			return r.slice.refusal(name, "the compiler has removed the variable '%s', which is in a list", name)
		}
		if written && want.linkage != ptx.Local && e.Linkage == ptx.Local {
			return r.slice.refusal(name, "the compiler has made the variable '%s' local, which is in a list", name)
		}
		head, err := r.names.text(e.Head)
		if err != nil {
			return r.slice.refusal(name, "the compiler's result cannot be read: %v", err)
		}
		value, err := r.names.text(e.Body)
		if err != nil {
			return r.slice.refusal(name, "the compiler's result cannot be read: %v", err)
		}
		if !e.Defined() || string(head) != want.head || string(value) != want.value {
			return r.slice.refusal(name, "the compiler has changed the variable '%s'", name)
		}
	}
	return nil
}
