package plan

import (
	"slices"
	"strings"
)

// Keep lists patterns of names, in which "*" stands for any text.
type Keep struct{ Kernels, Variables []string }

// Kernel says whether the host may name a kernel. Without a Keep it may name all.
func (k *Keep) Kernel(name string) bool { return k == nil || matchesAny(k.Kernels, name) }

// Variable says whether the host may name a variable. It never names the tables that
// compilers make for classes, whose names in C++ begin like this.
func (k *Keep) Variable(name string) bool {
	return !strings.HasPrefix(name, "_ZT") && (k == nil || matchesAny(k.Variables, name))
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, name) })
}

// matches says whether a name is as a pattern wants it; "*" in it is any text.
func matches(pattern, name string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == name
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	parts := strings.Split(rest, "*")
	last := parts[len(parts)-1]
	for _, part := range parts[:len(parts)-1] {
		at := strings.Index(name, part)
		if at < 0 {
			return false
		}
		name = name[at+len(part):]
	}
	return strings.HasSuffix(name, last)
}
