package llvm

import "testing"

func TestValidName(t *testing.T) {
	for name, want := range map[string]string{"_Z1kPf": "_Z1kPf", "foo.llvm.123": "foo_$_llvm_$_123", "a$b": "a$b",
		"ünï": "_$__$_n_$__$_"} {
		if got := validName(name); got != want {
			t.Errorf("validName(%q) = %q, want %q", name, got, want)
		}
	}
}
