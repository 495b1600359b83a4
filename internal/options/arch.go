package options

import (
	"slices"
	"strconv"
	"strings"
)

// An ArchKind is the word before the number of an architecture.
type ArchKind string

const (
	SM      ArchKind = "sm"      // real
	Compute ArchKind = "compute" // virtual: PTX
	LTO     ArchKind = "lto"     // virtual: LTO-IR
)

// An Arch is a value of -arch. The zero Arch is none.
type Arch struct {
	Kind   ArchKind
	Number int
	Suffix string // "", "a" or "f"
}

// String gives the name as it is written on the command line.
func (a Arch) String() string {
	if a == (Arch{}) {
		return ""
	}
	return string(a.Kind) + "_" + strconv.Itoa(a.Number) + a.Suffix
}

// knownArchs are the targets of nvlink 13.0, and the 107 family of 13.4.
var knownArchs = []string{"75", "80", "86", "87", "88", "89", "90", "90a", "100", "100a", "100f", "103", "103a", "103f",
	"107", "107a", "107f", "110", "110a", "110f", "120", "120a", "120f", "121", "121a", "121f"}

// archNames are the allowed values of -arch, sorted as nvlink lists them.
func archNames() []string {
	var names []string
	for _, kind := range []ArchKind{SM, Compute, LTO} {
		for _, n := range knownArchs {
			names = append(names, string(kind)+"_"+n)
		}
	}
	slices.Sort(names)
	return names
}

// archNamed takes one of archNames apart.
func archNamed(name string) Arch {
	kind, rest, _ := strings.Cut(name, "_")
	digits := strings.TrimRight(rest, "af")
	number, _ := strconv.Atoi(digits)
	return Arch{Kind: ArchKind(kind), Number: number, Suffix: rest[len(digits):]}
}
