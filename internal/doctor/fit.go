package doctor

import (
	"fmt"
	"slices"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/size"
)

// architectures finds objects with relocatable code that lack an architecture that others
// have: a device link for it leaves them out or fails.
func (c *checker) architectures() {
	type object struct {
		in    *Input
		archs []gpu.Arch
		ir    bool // PTX or LTO-IR, which can be compiled for later architectures
	}
	var objects []object
	var all []gpu.Arch
	for _, in := range c.inputs {
		if in.File.Kind.Linked() || len(in.Modules) == 0 {
			continue
		}
		o := object{in: in}
		for i := range in.File.Pieces {
			p := &in.File.Pieces[i]
			if p.Section != "__nv_relfatbin" {
				continue
			}
			if p.Kind != size.KindSASS {
				o.ir = true
			} else if !slices.Contains(o.archs, p.Arch) {
				o.archs = append(o.archs, p.Arch)
			}
		}
		for _, a := range o.archs {
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
		objects = append(objects, o)
	}
	slices.SortFunc(all, gpu.Compare)
	for _, target := range all {
		var with, without []string
		for _, o := range objects {
			links := func(a gpu.Arch) bool { return a.InFamilyOf(target, gpu.Release{}) }
			switch {
			case slices.Contains(o.archs, target):
				with = append(with, o.in.File.Name)
			case o.ir || slices.ContainsFunc(o.archs, links):
			default:
				without = append(without, o.in.File.Name)
			}
		}
		if len(with) > 0 && len(without) > 0 {
			c.report(message.Error, "other-architecture", "compile all objects of a device link for the same architectures "+
				"(-gencode or -arch)", []string{message.FirstFew(with) + " has code for " + target.String()},
				"%s has no relocatable code for %s", message.FirstFew(without), target)
		}
	}
}

// sameNames finds functions that two units define under one name and that are not the
// same. The linker keeps any one of them.
func (c *checker) sameNames() {
	type key struct {
		program, name string
		arch          gpu.Arch
	}
	type definition struct {
		in      *Input
		piece   *size.Piece
		fn      *size.Function
		written bool
	}
	first := map[key]*definition{}
	for _, in := range c.inputs {
		program := ""
		if in.File.Kind.Linked() {
			program = in.File.Name
		}
		for i := range in.File.Pieces {
			p := &in.File.Pieces[i]
			for j := range p.Functions {
				fn := &p.Functions[j]
				if fn.Local || !(fn.Weak || fn.Kernel) {
					continue
				}
				at := key{program, fn.Name, p.Arch}
				before := first[at]
				if before == nil {
					first[at] = &definition{in: in, piece: p, fn: fn}
					continue
				}
				if what := difference(before.fn, fn, p.Relocatable && before.piece.Relocatable); what != "" && !before.written {
					before.written = true
					c.odr(before.piece, p, fn, what)
				}
			}
		}
	}
}

// difference returns in what two definitions of a name are not the same. Code that is not
// relocatable has addresses of its own unit in it.
func difference(a, b *size.Function, relocatable bool) string {
	switch {
	case a.Kernel != b.Kernel:
		return "it is a kernel in one of them only"
	case a.Kernel && a.Params != b.Params:
		return fmt.Sprintf("it has %d and %d bytes of parameters", a.Params, b.Params)
	case a.Resources != nil && b.Resources != nil && a.Resources.Shared != b.Resources.Shared:
		return fmt.Sprintf("it has %d and %d bytes of shared memory", a.Resources.Shared, b.Resources.Shared)
	case relocatable && a.Weak && b.Weak && a.Digest != b.Digest:
		return fmt.Sprintf("its code is not the same, %d and %d bytes", a.Code, b.Code)
	}
	return ""
}

func (c *checker) odr(a, b *size.Piece, fn *size.Function, what string) {
	severity := message.Warning
	if fn.Kernel && a.Relocatable {
		severity = message.Error
	}
	c.report(severity, "one-name-two-bodies", "give the two templates or inline functions different names or namespaces, "+
		"or compile both units with the same options", []string{what},
		"%s and %s define %s for %s differently", a.Unit, b.Unit, message.Demangle(fn.Name), b.Arch)
}
