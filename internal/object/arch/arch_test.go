package arch

import "testing"

func TestParse(t *testing.T) {
	tests := []struct {
		name string
		want Arch
		ok   bool
	}{
		{"sm_80", Arch{80, ""}, true},
		{"sm_90a", Arch{90, "a"}, true},
		{"sm_100f", Arch{100, "f"}, true},
		{"compute_80", Arch{}, false},
		{"sm_", Arch{}, false},
		{"sm_a", Arch{}, false},
		{"sm_90b", Arch{}, false},
		{"sm_90af", Arch{}, false},
		{"sm_0", Arch{}, false},
		{"sm_99999999999", Arch{}, false},
	}
	for _, test := range tests {
		got, ok := Parse(test.name)
		if got != test.want || ok != test.ok {
			t.Errorf("Parse(%q) = %v, %v; want %v, %v", test.name, got, ok, test.want, test.ok)
		}
		if ok && got.String() != test.name {
			t.Errorf("%v prints as %q", got, got.String())
		}
	}
}
