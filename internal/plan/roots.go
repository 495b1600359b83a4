package plan

import (
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/options"
)

// Roots are what may be named from outside of the device code, and so stays.
type Roots struct {
	// All is why everything may be named, and Origin the input that made it so. If it is
	// empty, only what the patterns match may be named.
	All    string
	Origin message.Origin
	// ByOption: the patterns are those of -kernels-used and -variables-used.
	ByOption           bool
	Kernels, Variables []Root
}

// A Root is a pattern, in which "*" stands for any text, and the input whose host
// code has it, if it is not from the command line.
type Root struct {
	Pattern string
	Origin  message.Origin
}

// roots returns those of a link, by the rules of hostReferences.
func roots(o *options.Options, c *choice) Roots {
	r := Roots{ByOption: c.named}
	switch {
	case o.Relocatable:
		return Roots{All: "the result is to be linked again"}
	case c.named:
		r.add(contained(o.KernelsUsed), contained(o.VariablesUsed), message.Origin{})
		return r
	case o.IgnoreHostInfo:
		return Roots{All: "-ignore-host-info was given"}
	case c.silent:
		return Roots{All: "this object does not say what its host code refers to", Origin: c.silentOrigin}
	case hostReferences(o, c) == nil:
		return Roots{All: "no host code launches a kernel"}
	}
	for _, obj := range c.host {
		for _, l := range obj.HostRefs.ListsByOption() {
			if l.Kernels {
				r.add(*l.Patterns, nil, obj.Origin)
			} else {
				r.add(nil, *l.Patterns, obj.Origin)
			}
		}
	}
	return r
}

func (r *Roots) add(kernels, variables []string, origin message.Origin) {
	for _, p := range kernels {
		r.Kernels = append(r.Kernels, Root{p, origin})
	}
	for _, p := range variables {
		r.Variables = append(r.Variables, Root{p, origin})
	}
}
