package plan

import (
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/glob"
	"github.com/warpld/warpld/internal/object/hostelf"
)

// Keep lists patterns of names, in which "*" stands for any text.
type Keep struct{ Kernels, Variables []string }

// keepOf returns the patterns of lists of host references, in libnvvm's order.
func keepOf(lists map[string][]string) *Keep {
	k := &Keep{}
	for _, l := range (&hostelf.HostRefs{}).ListsByOption() {
		if l.Kernels {
			k.Kernels = append(k.Kernels, lists[l.Option]...)
		} else {
			k.Variables = append(k.Variables, lists[l.Option]...)
		}
	}
	return k
}

// Kernel reports whether the host may name a kernel. Without a Keep it may name all.
func (k *Keep) Kernel(name string) bool { return k == nil || matchesAny(k.Kernels, name) }

// Variable reports whether the host may name a variable. It never names the tables that
// compilers make for classes, whose names in C++ begin like this.
func (k *Keep) Variable(name string) bool {
	return !strings.HasPrefix(name, "_ZT") && (k == nil || matchesAny(k.Variables, name))
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return glob.Match(pattern, name) })
}
