package engine

import (
	"slices"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/ptx"
)

// IsOpen reports whether a program still needs linking. libnvvm reports that by its return
// code, which other engines don't have; but only in an open program do functions stay
// visible or undefined. Functions of the driver are always there, so they leave a program
// closed.
func IsOpen(text []byte, release gpu.Release) bool {
	for d := range ptx.Declarations(text) {
		if d.Kind != ".func" {
			continue
		}
		switch d.Linkage {
		case ptx.Visible, ptx.Weak:
			return true
		case ptx.Extern:
			if !release.DriverDefines(d.Name) {
				return true
			}
		}
	}
	return false
}

// UndefinedVariables returns the variables that a text declares and leaves to others to
// define. ptxas makes variables of its own of them if it compiles a whole program. Shared
// memory has its size from the launch of a kernel, so it has no definition anywhere.
func UndefinedVariables(text []byte) (names []string) {
	for d := range ptx.Declarations(text) {
		if d.Linkage == ptx.Extern && (d.Kind == ".global" || d.Kind == ".const") {
			names = append(names, d.Name)
		}
	}
	return names
}

// Has reports whether PTX declares a symbol of one of the kinds.
func Has(text []byte, kinds ...string) bool {
	for d := range ptx.Declarations(text) {
		if slices.Contains(kinds, d.Kind) {
			return true
		}
	}
	return false
}
