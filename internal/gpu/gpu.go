// Package gpu holds what warpld knows about GPU architectures and CUDA releases: one
// row for each architecture (table.go) and one for each release that behaves
// differently (release.go). No other package compares the number of an architecture or
// of a release; it asks for a column instead. Adding an architecture or a release means
// adding a row here.
//
// The package imports no other package of this module.
package gpu

import (
	"cmp"
	"strconv"
	"strings"
)

// An Arch is a GPU architecture: a number and, for code that is not portable to later
// architectures, a suffix: "a" for this architecture alone, "f" for its family. The
// zero Arch is an unknown one.
type Arch struct {
	Number int
	Suffix string
}

// The suffixes of architectures.
const (
	AcceleratedSuffix = "a" // code for this architecture alone
	FamilySuffix      = "f" // code for this architecture and the later ones of its family
)

// String returns the name of the real architecture: "sm_90a".
func (a Arch) String() string { return "sm_" + a.Digits() }

// Digits returns the name without its prefix: "90a".
func (a Arch) Digits() string { return strconv.Itoa(a.Number) + a.Suffix }

// Parse reads the name of a real architecture, known or not: "sm_90a".
func Parse(name string) (a Arch, ok bool) {
	digits, ok := strings.CutPrefix(name, "sm_")
	if !ok {
		return Arch{}, false
	}
	for _, suffix := range []string{AcceleratedSuffix, FamilySuffix} {
		if rest, found := strings.CutSuffix(digits, suffix); found {
			digits, a.Suffix = rest, suffix
			break
		}
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 {
		return Arch{}, false
	}
	a.Number = int(n)
	return a, true
}

// Known returns the architectures that have a row, each without a suffix and with every
// suffix that it has, in the order of the table.
func Known() []Arch {
	var list []Arch
	for i := range table {
		list = append(list, Arch{Number: table[i].Number})
		for _, suffix := range table[i].Suffixes {
			list = append(list, Arch{table[i].Number, string(suffix)})
		}
	}
	return list
}

// Find returns the row of an architecture.
func Find(number int) (*Row, bool) {
	for i := range table {
		if table[i].Number == number {
			return &table[i], true
		}
	}
	return nil, false
}

// Generation returns the traits of the architecture. An architecture without a row has
// those of the next lower one that has a row: inputs may hold code for architectures
// that this version does not know.
func (a Arch) Generation() Generation {
	var g Generation
	for i := range table {
		if table[i].Number <= a.Number {
			g = table[i].Generation
		}
	}
	return g
}

// SameNumber reports whether two architectures differ at most in the suffix.
func (a Arch) SameNumber(b Arch) bool { return a.Number == b.Number }

// CompareNumbers orders architectures by number alone.
func CompareNumbers(a, b Arch) int { return cmp.Compare(a.Number, b.Number) }

// CompareSuffixes orders architectures by how specific their code is: no suffix, then
// "f", then "a".
func CompareSuffixes(a, b Arch) int { return cmp.Compare(a.specificity(), b.specificity()) }

// Compare orders architectures by number and then by suffix.
func Compare(a, b Arch) int { return cmp.Or(CompareNumbers(a, b), CompareSuffixes(a, b)) }

func (a Arch) specificity() int {
	switch a.Suffix {
	case AcceleratedSuffix:
		return 2
	case FamilySuffix:
		return 1
	}
	return 0
}

// IsAccelerated reports whether code for the architecture runs on no other.
func (a Arch) IsAccelerated() bool { return a.Suffix == AcceleratedSuffix }

// IsFamilySpecific reports whether code for the architecture runs on its family only.
func (a Arch) IsFamilySpecific() bool { return a.Suffix == FamilySuffix }

// HasSuffix reports whether code for the architecture is specific to it or to its family.
func (a Arch) HasSuffix() bool { return a.Suffix != "" }

// InFamilyOf reports whether nvlink of a release links code for the architecture into
// code for the target: the target is the architecture itself or a later one of its
// family. Suffixes are not compared.
func (a Arch) InFamilyOf(target Arch, r Release) bool {
	if a.Number == target.Number {
		return true
	}
	from, known := Find(a.Number)
	if !known || a.Number > target.Number {
		return false
	}
	to, known := Find(target.Number)
	return known && from.Family == to.Family && !r.Before(from.FamilySince) && !r.Before(to.FamilySince)
}

// SharedLimit returns how many bytes of shared memory the variables of a kernel may
// take in nvlink's opinion.
func (a Arch) SharedLimit() uint64 {
	row, known := Find(a.Number)
	switch {
	case !known:
		return sharedLimit
	case a.IsAccelerated() && row.AcceleratedSharedLimit != 0:
		return row.AcceleratedSharedLimit
	}
	return row.SharedLimit
}

// MergerCovers reports whether the rules of warpld's own merger hold for the
// architecture.
func (a Arch) MergerCovers() bool {
	row, known := Find(a.Number)
	return known && row.Merger.Covers && (a.Suffix == "" || a.Suffix == row.Merger.Suffix)
}

// MergerIsDefault reports whether a link uses warpld's own merger without being asked
// to. That needs so many outputs equal to nvlink's that no doubt is left.
func (a Arch) MergerIsDefault() bool {
	row, known := Find(a.Number)
	return known && a.MergerCovers() && row.Merger.Default
}

// MergesInto reports whether warpld's own merger knows how to link code for the
// architecture into code for the target. It knows only the families of 13.0, and for
// Mercury only code for the target itself.
func (a Arch) MergesInto(target Arch) bool {
	switch {
	case a == target:
		return true
	case a.Suffix != target.Suffix || target.Generation().Mercury:
		return false
	}
	return a.InFamilyOf(target, Release{13, 0})
}
