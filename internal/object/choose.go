package object

import (
	"slices"

	"github.com/warpld/warpld/internal/gpu"
)

// A Target is what a link produces code for.
type Target struct {
	Arch gpu.Arch
	LTO  bool
	// Release is the release of CUDA whose rules apply.
	Release gpu.Release
}

// Accepts reports whether code of a kind for an architecture can be linked, or compiled,
// for the target.
func (t *Target) Accepts(kind ModuleKind, a gpu.Arch) bool {
	switch {
	case kind == ELF && a.SameNumber(t.Arch) && t.Release.Rules().IgnoresSuffixOfCode:
		return true
	case a.IsAccelerated():
		return a == t.Arch
	case kind == ELF || a.IsFamilySpecific():
		return a.InFamilyOf(t.Arch, t.Release)
	}
	isPortable := kind == PTX || kind == NVVM || kind == LLVM
	return isPortable && gpu.CompareNumbers(a, t.Arch) <= 0
}

// Choose returns the module that a link for the target takes: for LTO the best LTO-IR;
// otherwise, or if there is none, the best native code or PTX. The best module is for the
// highest architecture. Of several modules for that one, native code comes before PTX, and
// code that is specific to fewer architectures before code that is not.
//
// If nothing but LTO-IR fits, it is returned without LTO, too: nvlink then asks for -dlto.
// LTO-IR, bitcode and PTX files that are inputs by themselves always fit.
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
		fits := slices.Contains(kinds, m.Kind) && t.Accepts(m.Kind, m.Arch)
		if fits && (best == nil || m.isBetterThan(best)) {
			best = m
		}
	}
	return best
}

// isBetterThan reports whether a link prefers the module to another one that fits.
func (m *Module) isBetterThan(other *Module) bool {
	if !m.Arch.SameNumber(other.Arch) {
		return gpu.CompareNumbers(m.Arch, other.Arch) > 0
	}
	if m.Kind != other.Kind {
		return m.Kind == ELF
	}
	return gpu.CompareSuffixes(m.Arch, other.Arch) > 0
}
