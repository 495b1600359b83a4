package gpu

import (
	"slices"
	"testing"
)

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

// TestTable holds the rows to what lookups assume.
func TestTable(t *testing.T) {
	if !slices.IsSortedFunc(table, func(a, b Row) int { return a.Number - b.Number }) {
		t.Error("the rows are not in ascending order")
	}
	for i := range table {
		row := &table[i]
		first, known := Find(row.Family)
		switch {
		case !known || first.Family != first.Number || row.Family > row.Number:
			t.Errorf("sm_%d: the family is called %d", row.Number, row.Family)
		case row.SharedLimit == 0 || row.Generation.HeaderFlags == 0:
			t.Errorf("sm_%d: the row lacks SharedLimit or HeaderFlags", row.Number)
		case row.Merger.Default && !row.Merger.Covers:
			t.Errorf("sm_%d: the merger is the default without covering it", row.Number)
		}
	}
	if !slices.IsSortedFunc(releases, func(a, b releaseRow) int { return CompareReleases(a.since, b.since) }) {
		t.Error("the releases are not in ascending order")
	}
}

func TestKnown(t *testing.T) {
	var names []string
	for _, a := range Known() {
		if a.Number != madeUp.Number {
			names = append(names, a.Digits())
		}
	}
	want := []string{"75", "80", "86", "87", "88", "89", "90", "90a", "100", "100a", "100f", "103", "103a", "103f",
		"107", "107a", "107f", "110", "110a", "110f", "120", "120a", "120f", "121", "121a", "121f"}
	if !slices.Equal(names, want) {
		t.Errorf("known are %v; want %v", names, want)
	}
}

// everyArch has each number that a cubin can have, with every suffix.
func everyArch() []Arch {
	var list []Arch
	for n := range 256 {
		for _, suffix := range []string{"", "f", "a"} {
			list = append(list, Arch{n, suffix})
		}
	}
	return list
}

// TestGeneration also looks at numbers that have no row, below and between those that do.
func TestGeneration(t *testing.T) {
	for _, a := range everyArch() {
		if a.Number >= madeUp.Number {
			continue
		}
		g := a.Generation()
		if g.Mercury != (a.Number >= 100) || g.Compat != (a.Number >= 90) || (g.ReservedShared == 1024) != (a.Number >= 90) {
			t.Errorf("%s: %+v", a, g)
		}
	}
}

func TestMerger(t *testing.T) {
	numbers := []int{75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121}
	hopperA := Arch{90, "a"}
	for _, a := range everyArch() {
		covers := slices.Contains(numbers, a.Number) && (a.Suffix == "" || a == hopperA)
		if a.MergerCovers() != covers || a.MergerIsDefault() != (covers && a.Number < 100) {
			t.Errorf("%s: covered %v, default %v", a, a.MergerCovers(), a.MergerIsDefault())
		}
		limit := uint64(0xc000)
		if a == hopperA {
			limit = 0x38c00
		}
		if a.SharedLimit() != limit {
			t.Errorf("%s: %d bytes of shared memory", a, a.SharedLimit())
		}
	}
}

func TestMergesInto(t *testing.T) {
	alone := func(a Arch) bool { return a.Number == 87 || a.Number == 88 }
	for _, target := range Known() {
		for _, a := range Known() {
			want := a.Number <= target.Number && a.Number/10 == target.Number/10 && a.Suffix == target.Suffix
			if a != target && (alone(a) || alone(target) || target.Number >= 100) {
				want = false
			}
			if got := a.MergesInto(target); got != want {
				t.Errorf("%s into %s: %v", a, target, got)
			}
		}
	}
}

func TestFamilies(t *testing.T) {
	lists := map[Release][][]int{
		{12, 9}: {{80, 86, 89}, {100, 103}, {120, 121}},
		{13, 0}: {{80, 86, 89}, {100, 103}, {120, 121}},
		{13, 1}: {{80, 86, 87, 88, 89}, {100, 103, 107}, {120, 121}},
		{13, 4}: {{80, 86, 87, 88, 89}, {100, 103, 107}, {120, 121}},
		{}:      {{80, 86, 89}, {100, 103}, {120, 121}},
	}
	for r, families := range lists {
		for _, a := range everyArch() {
			for _, target := range Known() {
				want := a.Number == target.Number
				for _, family := range families {
					if slices.Contains(family, a.Number) && slices.Contains(family, target.Number) && a.Number < target.Number {
						want = true
					}
				}
				if got := a.InFamilyOf(target, r); got != want {
					t.Errorf("%v: %s in the family of %s: %v", r, a, target, got)
				}
			}
		}
	}
}

func TestCompare(t *testing.T) {
	order := []Arch{{80, ""}, {90, ""}, {90, "f"}, {90, "a"}, {100, ""}}
	for i, a := range order {
		for j, b := range order {
			if got := Compare(a, b); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("Compare(%s, %s) = %d", a, b, got)
			}
		}
	}
}

// TestReleases has for each rule the first release with which it holds, and the first one
// after that with which it doesn't, by number.
func TestReleases(t *testing.T) {
	const never = 1000
	for name, column := range map[string]struct {
		of            func(Rules) bool
		since, before int
	}{
		"DeviceLTO":                 {func(r Rules) bool { return r.DeviceLTO }, 112, never},
		"IgnoresSuffixOfCode":       {func(r Rules) bool { return r.IgnoresSuffixOfCode }, 0, 131},
		"RefusesUnknownKind":        {func(r Rules) bool { return r.RefusesUnknownKind }, 131, never},
		"RefusesCutArchives":        {func(r Rules) bool { return r.RefusesCutArchives }, 134, never},
		"ReportsMissingHostCode":    {func(r Rules) bool { return r.ReportsMissingHostCode }, 133, never},
		"ReadsCompatFirst":          {func(r Rules) bool { return r.ReadsCompatFirst }, 131, never},
		"SplitOptionVotes":          {func(r Rules) bool { return r.SplitOptionVotes }, 131, never},
		"ReversesExternals":         {func(r Rules) bool { return r.Merge.ReversesExternals }, 0, 132},
		"KeepsFeatures":             {func(r Rules) bool { return r.Merge.KeepsFeatures }, 132, never},
		"AllFeaturesWithoutCode":    {func(r Rules) bool { return r.Merge.AllFeaturesWithoutCode }, 133, never},
		"CountsBarriers":            {func(r Rules) bool { return r.Merge.CountsBarriers }, 131, never},
		"AlignsCommonFirst":         {func(r Rules) bool { return r.Merge.AlignsCommonFirst }, 131, never},
		"WeakIsGlobal":              {func(r Rules) bool { return r.Merge.WeakIsGlobal }, 134, never},
		"MercuryCallGraph":          {func(r Rules) bool { return r.Merge.MercuryCallGraph }, 134, never},
		"LocalKernelShared":         {func(r Rules) bool { return r.Merge.LocalKernelShared }, 134, never},
		"EmitsOnlyReferencedShared": {func(r Rules) bool { return r.Merge.EmitsOnlyReferencedShared }, 134, never},
		"CountsReplacedReferences":  {func(r Rules) bool { return r.Merge.CountsReplacedReferences }, 0, 134},
	} {
		for _, r := range []Release{{11, 1}, {11, 2}, {12, 9}, {13, 0}, {13, 1}, {13, 2}, {13, 3}, {13, 4}, {13, 5},
			{14, 0}} {
			n := r.Number()
			if got := column.of(r.Rules()); got != (n >= column.since && n < column.before) {
				t.Errorf("%v: %s is %v", r, name, got)
			}
			if ReleaseNumbered(n) != r {
				t.Errorf("%d is not %v", n, r)
			}
		}
	}
	if rules := (Release{}).Rules(); !rules.DeviceLTO || !rules.IgnoresSuffixOfCode || rules.Merge != merge130 {
		t.Errorf("an unknown release: %+v", rules)
	}
	if r := (Release{13, 4}); r.String() != "13.4" || !r.Known() || (Release{}).Known() || r.Before(Release{13, 0}) {
		t.Errorf("%v", r)
	}
}

// TestMeasuredReleases: a release between or after those of the table is not taken for one
// of them.
func TestMeasuredReleases(t *testing.T) {
	for _, r := range []Release{{}, {11, 2}, {12, 9}, {13, 0}, {13, 1}, {13, 2}, {13, 3}, {13, 4}, {13, 5}, {14, 0}} {
		want := r.Number() >= 130 && r.Number() <= 134
		if r.Measured() != want || r.MergerCovers() != want {
			t.Errorf("%v: measured %v, merger %v", r, r.Measured(), r.MergerCovers())
		}
	}
}

// TestSuffixes has the targets as libnvvm and ptxas get them.
func TestSuffixes(t *testing.T) {
	for r, want := range map[Release][3][2]string{
		{13, 0}: {{"sm_100", "sm_100"}, {"sm_100", "sm_100a"}, {"sm_100", "sm_100"}},
		{13, 1}: {{"sm_100", "sm_100"}, {"sm_100", "sm_100a"}, {"sm_100", "sm_100"}},
		{13, 2}: {{"sm_100", "sm_100"}, {"sm_100a", "sm_100a"}, {"sm_100", "sm_100"}},
		{13, 3}: {{"sm_100", "sm_100"}, {"sm_100a", "sm_100a"}, {"sm_100f", "sm_100f"}},
		{13, 4}: {{"sm_100", "sm_100"}, {"sm_100a", "sm_100a"}, {"sm_100f", "sm_100f"}},
	} {
		for i, suffix := range []string{"", "a", "f"} {
			a, rules := Arch{100, suffix}, r.Rules()
			if got := [2]string{rules.Compiled(a).String(), rules.Assembled(a).String()}; got != want[i] {
				t.Errorf("%v: %s is %v", r, a, got)
			}
		}
	}
}

func TestDriverFunctions(t *testing.T) {
	for name, want := range map[string][2]bool{
		"vprintf": {true, true}, "__assertfail": {true, true}, "cudaGraphSetConditional": {true, true},
		"cnpGetDevice": {true, true}, "cudaFabricOpErrorStatusGet": {false, true},
		"__cuda_syscall_32f3056bbb": {true, true}, "printf": {false, false}, "cudaGraphCreate": {false, false}, "": {},
	} {
		if got := [2]bool{(Release{13, 0}).DriverDefines(name), (Release{13, 4}).DriverDefines(name)}; got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
	if !(Release{}).DriverDefines("vprintf") {
		t.Error("an unknown release lacks vprintf")
	}
}
