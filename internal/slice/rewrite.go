package slice

import (
	"fmt"
	"strings"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/ptx"
)

// Rewrite checks what libnvvm made of the slice and makes it fit for ptxas -c and a
// merge with the others: variables that slices share are declared, not defined;
// kernels that have their place in another slice, too; functions whose address is
// taken get one address in the whole program. Code that nothing needs any more is
// left out, and names are canonical, so that the text changes only with the code.
//
// The error is a *message.Message with the reason to link unsliced.
func (s *Slice) Rewrite(text []byte) ([]byte, error) {
	m, err := ptx.Parse(text)
	if err != nil {
		return nil, s.refusal("", "the compiler's result cannot be read: %v", err)
	}
	r := &rewriter{slice: s, module: m, roots: map[string]bool{}, needed: map[string]bool{}, taken: map[string]bool{}}
	for _, kernel := range s.Kernels {
		r.roots[kernel] = true
	}
	if r.names, err = namesOf(m); err != nil {
		return nil, s.refusal("", "the compiler's result cannot be read: %v", err)
	}
	if refused := r.check(); refused != nil {
		return nil, refused
	}
	r.number()
	out, err := r.write()
	if err != nil {
		return nil, s.refusal("", "the compiler's result cannot be read: %v", err)
	}
	return out, nil
}

// LeftOpen is the reason not to slice when the compiler reports that a slice needs
// more code.
func (s *Slice) LeftOpen() error {
	return s.refusal("", "the compiler has left the slice open")
}

// refusal is the reason not to slice, with the slice that it is about.
func (s *Slice) refusal(symbol, format string, values ...any) *message.Message {
	var modules []string
	for _, m := range s.Modules {
		modules = append(modules, s.plan.program.modules[m].Origin)
	}
	m := refusal(symbol, modules, format, values...)
	m.Notes = append(m.Notes, "in the slice of "+message.FirstFew(s.Kernels))
	return m
}

// A rewriter is one Rewrite.
type rewriter struct {
	slice  *Slice
	module *ptx.Module
	names  *names
	roots  map[string]bool
	needed map[string]bool // symbols that the result has
	taken  map[string]bool // functions whose address is taken
}

// isListed reports whether a variable's definition is in the data object.
func (r *rewriter) isListed(name string) bool {
	_, ok := r.slice.listed[name]
	return ok
}

// need marks a symbol and all that it needs. Of what other objects define, only
// functions in the initializers are needed: this slice may be the one to have them.
func (r *rewriter) need(name string) error {
	for todo := []string{name}; len(todo) > 0; {
		name, todo = todo[len(todo)-1], todo[:len(todo)-1]
		e := r.module.Symbol(name)
		if r.needed[name] || e == nil {
			continue
		}
		r.needed[name] = true
		refs, err := r.follow(e)
		if err != nil {
			return err
		}
		for _, ref := range refs {
			to := r.module.Symbol(ref.Name)
			r.taken[ref.Name] = r.taken[ref.Name] || (ref.Taken && to.Kind == ".func")
			if !r.isListed(name) || to.Kind == ".func" {
				todo = append(todo, ref.Name)
			}
		}
	}
	return nil
}

// follow returns the references that count of an entity.
func (r *rewriter) follow(e *ptx.Entity) ([]ptx.Ref, error) {
	if e.Kind == ".entry" && !r.roots[e.Name] {
		return nil, nil
	}
	refs, _, err := r.module.Refs(e)
	return refs, err
}

// number gives local symbols that the compiler has numbered canonical numbers.
func (r *rewriter) number() {
	count := map[string]int{}
	for i := range r.module.Entities {
		e := &r.module.Entities[i]
		base := withoutNumber(e.Name)
		if !r.needed[e.Name] || e.Linkage != ptx.Local || r.names.other[e.Name] != "" || !r.clashes(base) {
			continue
		}
		name := base
		if other := r.module.Symbol(base); count[base] > 0 || (other != nil && other.Linkage != ptx.Local) {
			name = fmt.Sprintf("%s$%d", base, count[base])
		}
		count[base]++
		r.names.other[e.Name] = name
	}
}

// clashes reports whether the compiler numbers symbols of that name because it knows several.
func (r *rewriter) clashes(base string) bool {
	if n := r.slice.plan.program.names[base]; n != nil {
		return n.local > 1 || (n.local == 1 && n.others > 0)
	}
	return false
}

// withoutNumber takes the compiler's "$12" off a name.
func withoutNumber(name string) string {
	base := strings.TrimRight(name, "0123456789")
	if len(base) > 1 && len(base) < len(name) && base[len(base)-1] == '$' {
		return base[:len(base)-1]
	}
	return name
}

// write makes the new text.
func (r *rewriter) write() ([]byte, error) {
	out := make([]byte, 0, len(r.module.Text))
	written := map[string]bool{}
	for i := range r.module.Entities {
		e := &r.module.Entities[i]
		symbol := e.IsFunction() || e.IsVariable()
		elsewhere := symbol && r.elsewhere(e)
		if symbol && !r.needed[e.Name] {
			continue
		}
		if elsewhere || isLiteral(e) {
			name := e.Name
			if other := r.names.other[name]; other != "" {
				name = other
			}
			if written[name] {
				continue // declared before, or the same literal twice
			}
			written[name] = true
		}
		text, err := r.entity(e, elsewhere)
		if err != nil {
			return nil, err
		}
		out = append(append(out, text...), '\n')
	}
	return out, nil
}

// elsewhere reports whether the definition is in another object of the merge.
func (r *rewriter) elsewhere(e *ptx.Entity) bool {
	return (e.Kind == ".entry" && !r.roots[e.Name]) || r.isListed(e.Name)
}

// entity is the new text of one part.
func (r *rewriter) entity(e *ptx.Entity, elsewhere bool) ([]byte, error) {
	if elsewhere {
		head, err := r.names.text(e.Head)
		return append(append([]byte(".extern "), head...), ';'), err
	}
	linkage := e.Linkage
	switch {
	case e.Kind == ".entry" && linkage == ptx.Local:
		linkage = ptx.Visible
	case e.Kind == ".func" && linkage == ptx.Local && r.taken[e.Name] && r.isNameable(e.Name):
		linkage = ptx.Weak
	}
	text, err := r.names.text(ptx.Range{Start: e.Head.Start, End: e.End})
	if linkage != ptx.Local {
		text = append([]byte(linkage+" "), text...)
	}
	return text, err
}

// isNameable reports whether all slices mean the same by a function's name.
func (r *rewriter) isNameable(name string) bool {
	p := r.slice.plan.program
	name = r.planned(name)
	for _, m := range r.slice.Modules {
		if i, ok := p.modules[m].index[name]; ok {
			if number := p.first[m] + i; p.symbol(number).defined && !p.nameable(number) {
				return false
			}
		}
	}
	return true
}
