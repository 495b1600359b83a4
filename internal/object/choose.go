package object

import "slices"

// A Target is what a link makes code for.
type Target struct {
	Arch Arch
	LTO  bool
	// Toolkit is the version of CUDA whose rules apply: 130 for 13.0.
	Toolkit int
}

// Families of architectures: code for one runs on the later ones of the row.
// In 13.0 nvlink held sm_87 and sm_88 to be on their own.
var (
	families   = [][]int{{80, 86, 87, 88, 89}, {100, 103, 107}, {120, 121}}
	families13 = [][]int{{80, 86, 89}, {100, 103}, {120, 121}}
)

// oldRules reports whether the toolkit links as that of CUDA 13.0 does.
func (t *Target) oldRules() bool { return t.Toolkit <= 130 }

func (t *Target) inFamily(a Arch) bool {
	if a.Number == t.Arch.Number {
		return true
	}
	known := families
	if t.oldRules() {
		known = families13
	}
	for _, family := range known {
		if slices.Contains(family, a.Number) {
			return a.Number < t.Arch.Number && slices.Contains(family, t.Arch.Number)
		}
	}
	return false
}

// Accepts reports whether code of a kind for an architecture can be linked, or
// compiled, for the target.
func (t *Target) Accepts(kind ModuleKind, a Arch) bool {
	switch {
	case kind == ELF && a.Number == t.Arch.Number && t.oldRules():
		return true // with any suffix
	case a.Suffix == "a":
		return a == t.Arch
	case kind == ELF || a.Suffix == "f":
		return t.inFamily(a)
	}
	return (kind == PTX || kind == NVVM || kind == LLVM) && a.Number <= t.Arch.Number
}

// Choose gives the module that a link for the target takes: for LTO the best
// LTO-IR; else, or if there is none, the best code or PTX. The best is for the
// highest architecture; of several for that one code goes before PTX, and what
// is specific before what is not.
//
// If nothing but LTO-IR fits, it is given without LTO, too: nvlink asks then
// for -dlto. LTO-IR, bitcode and PTX that are inputs by themselves always fit.
func (o *Object) Choose(t Target) (m *Module, found bool) {
	if (o.Kind == LTOIR || o.Kind == Bitcode || o.Kind == PTXFile) && len(o.Modules) == 1 {
		return &o.Modules[0], true
	}
	order := [][]ModuleKind{{ELF, PTX}, {NVVM, LLVM}}
	if t.LTO {
		slices.Reverse(order)
	}
	for _, kinds := range order {
		if m := o.best(t, kinds); m != nil {
			return m, true
		}
	}
	return nil, false
}

func (o *Object) best(t Target, kinds []ModuleKind) (best *Module) {
	for i := range o.Modules {
		m := &o.Modules[i]
		if slices.Contains(kinds, m.Kind) && t.Accepts(m.Kind, m.Arch) && (best == nil || m.goesBefore(best)) {
			best = m
		}
	}
	return best
}

func (m *Module) goesBefore(other *Module) bool {
	if m.Arch.Number != other.Arch.Number {
		return m.Arch.Number > other.Arch.Number
	}
	if m.Kind != other.Kind {
		return m.Kind == ELF
	}
	return specific(m.Arch) > specific(other.Arch)
}

// specific orders suffixes: none, "f", "a".
func specific(a Arch) int {
	switch a.Suffix {
	case "a":
		return 2
	case "f":
		return 1
	}
	return 0
}
