package gpu

import "slices"

// Composer is what differs between architectures and releases in the executables that
// ptxas makes, as far as composing them from those of single kernels needs it.
type Composer struct {
	// BanksLast: the parameters of kernels (bank 0) are the last sections of the first
	// program, and their symbols the last ones of all.
	BanksLast bool
	// Mercury: there is a second program.
	Mercury bool
	// WeakIsGlobal: weak symbols stand among the global ones.
	WeakIsGlobal bool
}

// composed are the architectures and releases for which composed files were equal to those
// of ptxas on whole programs.
var composed = struct {
	archs    []Arch
	releases []Release
}{
	archs:    []Arch{{75, ""}, {80, ""}, {86, ""}, {89, ""}, {90, ""}, {90, "a"}, {100, ""}, {103, ""}, {120, ""}},
	releases: []Release{{13, 0}, {13, 4}},
}

// ComposerFor returns how ptxas of a release writes executables for an architecture, if
// that was measured.
func ComposerFor(a Arch, r Release) (Composer, bool) {
	g := a.Generation()
	c := Composer{BanksLast: g.Compat, Mercury: g.Mercury, WeakIsGlobal: r.Rules().Merge.WeakIsGlobal}
	return c, slices.Contains(composed.archs, a) && slices.Contains(composed.releases, r)
}
