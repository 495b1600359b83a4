package object

import (
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/gpu"
)

func archOf(t *testing.T, number string) gpu.Arch {
	t.Helper()
	a, ok := gpu.Parse("sm_" + number)
	if !ok {
		t.Fatalf("no architecture: %q", number)
	}
	return a
}

var shortKinds = map[byte]ModuleKind{'e': ELF, 'p': PTX, 'n': NVVM}

// A choice is what nvlink took for a target from a fat binary with the members
// named: e80 is code, p80 PTX, n80 LTO-IR. Empty: none of them.
type choice struct{ target, members, by130, by134 string }

func (c *choice) check(t *testing.T, lto bool) {
	t.Helper()
	o := &Object{Kind: Fatbin}
	for _, name := range strings.Fields(c.members) {
		o.Modules = append(o.Modules, Module{Kind: shortKinds[name[0]], Arch: archOf(t, name[1:]), Ident: name})
	}
	for release, want := range map[gpu.Release]string{{Major: 13, Minor: 0}: c.by130, {Major: 13, Minor: 4}: c.by134} {
		got := ""
		m, found := o.Choose(Target{Arch: archOf(t, c.target), LTO: lto, Release: release})
		if found != (m != nil) {
			t.Errorf("found is %v with %v", found, m)
		}
		if found {
			got = m.Ident
		}
		if got != want {
			t.Errorf("CUDA %v, sm_%s from %s: %q, nvlink takes %q", release, c.target, c.members, got, want)
		}
	}
}

// The rows below are what the real tools do.

func TestChoose(t *testing.T) {
	for _, c := range []choice{
		{"89", "e80 e86", "e86", "e86"},
		{"89", "e86 e80", "e86", "e86"},
		{"89", "e80 e86 e89", "e89", "e89"},
		{"86", "e80 e86 e89", "e86", "e86"},
		{"86", "e86 e80", "e86", "e86"},
		{"89", "p75 e80", "e80", "e80"},
		{"89", "p80 e80", "e80", "e80"},
		{"89", "p86 e80", "p86", "p86"},
		{"89", "p89 e80", "p89", "p89"},
		{"89", "e80 p89", "p89", "p89"},
		{"80", "p80 e80", "e80", "e80"},
		{"87", "e80 p80", "p80", "e80"},
		{"87", "e80 p87", "p87", "p87"},
		{"90", "p75 p80", "p80", "p80"},
		{"90", "p80 p75", "p80", "p80"},
		{"90", "p75 p80 p90 e80", "p90", "p90"},
		{"80", "p90", "", ""},
		{"80", "p90 p75", "p75", "p75"},
		{"90", "e90 e90a", "e90a", "e90"},
		{"90", "e90a e90", "e90a", "e90"},
		{"90a", "e90 e90a", "e90a", "e90a"},
		{"90a", "e90a e90", "e90a", "e90a"},
		{"90", "e90a p90", "e90a", "p90"},
		{"90", "e90a", "e90a", ""},
		{"90a", "p90", "p90", "p90"},
		{"90", "p90a", "", ""},
		{"90a", "p90a", "p90a", "p90a"},
		{"90a", "p90a p90", "p90a", "p90a"},
		{"90a", "p90 p90a", "p90a", "p90a"},
		{"100", "p90a", "", ""},
		{"100", "p90a p80", "p80", "p80"},
		{"90a", "e90 p90a", "e90", "e90"},
		{"100", "e100 e100a e100f", "e100a", "e100f"},
		{"100", "e100f e100", "e100f", "e100f"},
		{"100", "e100a e100", "e100a", "e100"},
		{"100a", "e100 e100f e100a", "e100a", "e100a"},
		{"100a", "e100 e100f", "e100f", "e100f"},
		{"100a", "e100f e100", "e100f", "e100f"},
		{"100f", "e100 e100a e100f", "e100a", "e100f"},
		{"100f", "e100 e100a", "e100a", "e100"},
		{"100f", "e100a e100", "e100a", "e100"},
		{"100", "e100a e100f", "e100a", "e100f"},
		{"103", "e100 e100f", "e100f", "e100f"},
		{"103", "e100f e100", "e100f", "e100f"},
		{"103", "e100 e100f e103", "e103", "e103"},
		{"103a", "e100f e103", "e103", "e103"},
		{"103f", "e100f e100", "e100f", "e100f"},
		{"103f", "e100 e103", "e103", "e103"},
		{"103f", "e103 e100f", "e103", "e103"},
		{"103", "p100f", "p100f", "p100f"},
		{"103f", "p100f", "p100f", "p100f"},
		{"103a", "p100f", "p100f", "p100f"},
		{"103", "p100a", "", ""},
		{"103", "p100", "p100", "p100"},
		{"103", "p100 p100f", "p100f", "p100f"},
		{"103f", "p100 p100f", "p100f", "p100f"},
		{"100", "p100f", "p100f", "p100f"},
		{"100f", "p100f", "p100f", "p100f"},
		{"100f", "p100a", "", ""},
		{"100a", "p100f", "p100f", "p100f"},
		{"100a", "p100a", "p100a", "p100a"},
		{"100", "p100a", "", ""},
		{"120", "p100f", "", ""},
		{"120", "p100f p90", "p90", "p90"},
		{"121", "e120f p121", "p121", "p121"},
		{"121", "e120a p120", "p120", "p120"},
		{"120", "e120a p120", "e120a", "p120"},
		// Without -dlto these are fatal errors: there is LTO-IR for the target, and
		// nothing else.
		{"80", "n80", "n80", "n80"},
		{"80", "n80 e75", "n80", "n80"},
		{"80", "n80 p90", "n80", "n80"},
		{"80", "n80 p75", "p75", "p75"},
		{"80", "n90 e75", "", ""},
	} {
		c.check(t, false)
	}
}

func TestChooseForLTO(t *testing.T) {
	for _, c := range []choice{
		{"80", "n80 e80", "n80", "n80"},
		{"80", "n75 n80", "n80", "n80"},
		{"80", "n80 n75", "n80", "n80"},
		{"80", "n75 e80", "n75", "n75"},
		{"80", "n75 p80", "n75", "n75"},
		{"80", "n90", "", ""},
		{"80", "n90 e80", "e80", "e80"},
		{"80", "n90 p75", "p75", "p75"},
		{"89", "n80 n86", "n86", "n86"},
		{"90", "n80 n90 n90a", "n90", "n90"},
		{"90a", "n80 n90 n90a", "n90a", "n90a"},
		{"90a", "n90a n90", "n90a", "n90a"},
		{"90", "n90a", "", ""},
		{"90", "n90a n80", "n80", "n80"},
		{"90", "n90a e90", "e90", "e90"},
		{"100", "n90a", "", ""},
		{"100", "n90a n80", "n80", "n80"},
		{"100", "n90", "n90", "n90"},
		{"100", "n100a n100f n100", "n100f", "n100f"},
		{"100a", "n100 n100f n100a", "n100a", "n100a"},
		{"100a", "n100a n100f n100", "n100a", "n100a"},
		{"100a", "n100f n100", "n100f", "n100f"},
		{"100a", "n100 n100f", "n100f", "n100f"},
		{"100f", "n100a n100f n100", "n100f", "n100f"},
		{"100f", "n100f n100 n100a", "n100f", "n100f"},
		{"100f", "n100 n100a", "n100", "n100"},
		{"103", "n100f", "n100f", "n100f"},
		{"103", "n100f n100", "n100f", "n100f"},
		{"103f", "n100f", "n100f", "n100f"},
		{"103a", "n100f", "n100f", "n100f"},
		{"103", "n100a", "", ""},
		{"103", "n100a n90", "n90", "n90"},
		{"120", "n100", "n100", "n100"},
		{"120", "n100f", "", ""},
		{"120", "n100f n90", "n90", "n90"},
		{"121", "n120f n120", "n120f", "n120f"},
		{"103f", "n100 n100f", "n100f", "n100f"},
		{"103", "n100 n100f", "n100f", "n100f"},
		{"103f", "n103 n100f", "n103", "n103"},
		{"103", "n103f", "n103f", "n103f"},
		{"103a", "n103f", "n103f", "n103f"},
		{"100", "n100f", "n100f", "n100f"},
		{"86", "n80 e86", "n80", "n80"},
	} {
		c.check(t, true)
	}
}

func TestAcceptsNative(t *testing.T) {
	of130 := map[string]string{
		"75":   "75",
		"80":   "80",
		"86":   "80 86",
		"87":   "87",
		"88":   "88",
		"89":   "80 86 89",
		"90":   "90 90a",
		"90a":  "90 90a",
		"100":  "100 100a 100f",
		"100a": "100 100a 100f",
		"100f": "100 100a 100f",
		"103":  "100 100f 103 103a 103f",
		"103a": "100 100f 103 103a 103f",
		"103f": "100 100f 103 103a 103f",
		"110":  "110 110a 110f",
		"110a": "110 110a 110f",
		"110f": "110 110a 110f",
		"120":  "120 120a 120f",
		"120a": "120 120a 120f",
		"120f": "120 120a 120f",
		"121":  "120 120f 121 121a 121f",
		"121a": "120 120f 121 121a 121f",
		"121f": "120 120f 121 121a 121f",
	}
	of134 := map[string]string{
		"75":   "75",
		"80":   "80",
		"86":   "80 86",
		"87":   "80 86 87",
		"88":   "80 86 87 88",
		"89":   "80 86 87 88 89",
		"90":   "90",
		"90a":  "90 90a",
		"100":  "100 100f",
		"100a": "100 100a 100f",
		"100f": "100 100f",
		"103":  "100 100f 103 103f",
		"103a": "100 100f 103 103a 103f",
		"103f": "100 100f 103 103f",
		"110":  "110 110f",
		"110a": "110 110a 110f",
		"110f": "110 110f",
		"120":  "120 120f",
		"120a": "120 120a 120f",
		"120f": "120 120f",
		"121":  "120 120f 121 121f",
		"121a": "120 120f 121 121a 121f",
		"121f": "120 120f 121 121f",
		"107":  "100 100f 103 103f 107 107f",
		"107a": "100 100f 103 103f 107 107a 107f",
		"107f": "100 100f 103 103f 107 107f",
	}
	for release, table := range map[gpu.Release]map[string]string{{Major: 13, Minor: 0}: of130,
		{Major: 13, Minor: 4}: of134} {
		for target := range table {
			to := Target{Arch: archOf(t, target), Release: release}
			var accepted []string
			for _, name := range strings.Fields(
				"75 80 86 87 88 89 90 90a 100 100a 100f 103 103a 103f 110 110a 110f 120 120a 120f 121 121a 121f 107 107a 107f") {
				if _, known := table[name]; known && to.Accepts(ELF, archOf(t, name)) {
					accepted = append(accepted, name)
				}
			}
			if got := strings.Join(accepted, " "); got != table[target] {
				t.Errorf("CUDA %v, sm_%s accepts %s; nvlink accepts %s", release, target, got, table[target])
			}
		}
	}
}

// nvlink does not look at the architecture of LTO-IR that is a file by itself.
func TestChooseBareLTOIR(t *testing.T) {
	o := &Object{Kind: LTOIR, Modules: []Module{{Kind: NVVM, Arch: gpu.Arch{Number: 90, Suffix: "a"}}}}
	if _, found := o.Choose(Target{Arch: gpu.Arch{Number: 80}, LTO: true}); !found {
		t.Error("not taken")
	}
}
