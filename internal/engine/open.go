package engine

import "github.com/warpld/warpld/internal/ptx"

// IsOpen reports whether a program still needs linking. libnvvm reports it by its return code,
// which other engines don't have; but only in an open program do functions stay visible or
// undefined.
func IsOpen(text []byte) bool {
	for d := range ptx.Declarations(text) {
		if d.Kind != ".func" {
			continue
		}
		if d.Linkage == ptx.Visible || d.Linkage == ptx.Weak || (d.Linkage == ptx.Extern && !builtin[d.Name]) {
			return true
		}
	}
	return false
}

// builtin functions are provided by the driver; a program that uses them can still be closed.
var builtin = map[string]bool{"vprintf": true, "malloc": true, "free": true, "__assertfail": true}
