package plan

import "testing"

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
