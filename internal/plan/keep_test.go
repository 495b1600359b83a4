package plan

import "testing"

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"kernel", "kernel", true},
		{"kernel", "kernel2", false},
		{"_Z2tk*", "_Z2tkILi3EEvPf", true},
		{"_Z2tk*", "_Z3tk", false},
		{"*", "", true},
		{"*live*", "kern_live2", true},
		{"*live*", "kern_dead", false},
		{"__nv_static_*3kis*", "__nv_static_35__abc_3kisPf", true},
		{"__nv_static_*3kis", "__nv_static_3kis_3kis", true},
		{"a*a", "a", false},
		{"a*b*c", "abbc", true},
		{"a*b*c", "acb", false},
		{"", "", true},
		{"", "x", false},
	} {
		if got := matches(test.pattern, test.name); got != test.want {
			t.Errorf("matches(%q, %q) = %v", test.pattern, test.name, got)
		}
	}
}

func TestKeep(t *testing.T) {
	var all *Keep
	some := &Keep{Kernels: []string{"k*"}, Variables: []string{"*"}}
	if !all.Kernel("x") || !all.Variable("x") || some.Kernel("x") || !some.Kernel("k1") || !some.Variable("x") {
		t.Error("wrong names are kept")
	}
	if all.Variable("_ZTV5Shape") || some.Variable("_ZTI5Shape") {
		t.Error("the host names the tables of a class")
	}
}
