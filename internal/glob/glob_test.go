package glob_test

import (
	"testing"

	"github.com/warpld/warpld/internal/glob"
)

func TestMatch(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"kernel", "kernel", true}, {"kernel", "kernels", false}, {"", "", true}, {"", "k", false},
		{"*", "", true}, {"*", "anything", true},
		{"_Z1k*", "_Z1kPi", true}, {"_Z1k*", "_Z2k", false}, {"*Pi", "_Z1kPi", true}, {"*Pi", "_Z1kPf", false},
		{"a*a", "a", false}, {"a*a", "aa", true}, {"a*b*c", "a-b-c", true}, {"a*b*c", "a-c-b", false}, {"a*b*b", "ab", false},
		{"*live*", "kern_live2", true}, {"*live*", "kern_dead", false},
		{"__nv_static_*3kis*", "__nv_static_35__abc_3kisPf", true},
		{"__nv_static_*3kis", "__nv_static_3kis_3kis", true}, {"ab*ba", "aba", false}, {"?", "a", false},
	} {
		if got := glob.Match(test.pattern, test.name); got != test.want {
			t.Errorf("%q matches %q: %v", test.pattern, test.name, got)
		}
	}
}
