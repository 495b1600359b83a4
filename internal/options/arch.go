package options

import (
	"slices"
	"strconv"
	"strings"

	"github.com/warpld/warpld/internal/gpu"
)

// An ArchKind is the word before the number of an architecture.
type ArchKind string

const (
	SM      ArchKind = "sm"      // real
	Compute ArchKind = "compute" // virtual: PTX
	LTO     ArchKind = "lto"     // virtual: LTO-IR
)

// A Target is a value of -arch. The zero Target is none. Its JSON form is part of cache
// keys.
type Target struct {
	Kind ArchKind
	gpu.Arch
}

// String returns the name as it is written on the command line.
func (t Target) String() string {
	if t == (Target{}) {
		return ""
	}
	return t.As(t.Kind)
}

// As returns the name of the architecture with another word before the number.
func (t Target) As(kind ArchKind) string { return string(kind) + "_" + t.Digits() }

// targetNames returns the allowed values of -arch, sorted as nvlink lists them.
func targetNames() []string {
	var names []string
	for _, kind := range []ArchKind{SM, Compute, LTO} {
		for _, a := range gpu.Known() {
			names = append(names, Target{kind, a}.String())
		}
	}
	slices.Sort(names)
	return names
}

// targetNamed parses one of targetNames.
func targetNamed(name string) Target {
	kind, rest, _ := strings.Cut(name, "_")
	digits := strings.TrimRight(rest, gpu.AcceleratedSuffix+gpu.FamilySuffix)
	number, _ := strconv.Atoi(digits)
	return Target{ArchKind(kind), gpu.Arch{Number: number, Suffix: rest[len(digits):]}}
}
