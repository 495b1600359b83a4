// Package arch names GPU architectures.
package arch

import (
	"strconv"
	"strings"
)

// An Arch is a GPU architecture: a number and, for code that is not portable
// to later architectures, a suffix: "a" for this one alone, "f" for its
// family. The zero Arch is an unknown one.
type Arch struct {
	Number int
	Suffix string
}

// String gives the name of the real architecture: "sm_90a".
func (a Arch) String() string { return "sm_" + strconv.Itoa(a.Number) + a.Suffix }

// Parse understands the name of a real architecture.
func Parse(name string) (a Arch, ok bool) {
	digits, ok := strings.CutPrefix(name, "sm_")
	if !ok {
		return Arch{}, false
	}
	for _, suffix := range []string{"a", "f"} {
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
