package symbols_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/record"
	"github.com/warpld/warpld/internal/symbols"
)

const (
	kernel   = record.KindKernel
	variable = record.KindVariable
	function = record.KindFunction
)

// program has a kernel that is launched, one that it launches itself, and one that
// nobody names.
func program() *symbols.Link {
	return &symbols.Link{
		Traced: true,
		Inputs: []symbols.Input{
			{Name: "a.o", Symbols: []symbols.Symbol{
				{Name: "used", Kind: kernel, Refs: []string{"f", "table", "child"}},
				{Name: "unused", Kind: kernel, Refs: []string{"lost", "g"}},
				{Name: "child", Kind: kernel},
				{Name: "n", Kind: variable, Local: true},
			}},
			{Name: "b.o", Symbols: []symbols.Symbol{
				{Name: "f", Kind: function, Refs: []string{"folded", "n", "f", "copied"}},
				{Name: "copied", Kind: function},
				{Name: "g", Kind: function},
				{Name: "table", Kind: variable}, {Name: "folded", Kind: variable}, {Name: "lost", Kind: variable},
				{Name: "set", Kind: variable},
				{Name: "n", Kind: variable, Local: true},
			}},
			{Name: "c.o", Symbols: []symbols.Symbol{{Name: "g", Kind: function}}},
		},
		Roots: symbols.Roots{Kernels: []symbols.Root{{Pattern: "us*", Input: "a.o"}},
			Variables: []symbols.Root{{Pattern: "set", Input: "main.o"}}},
		Output: []symbols.Place{
			{Name: "used", Kind: kernel, Section: ".text.used", Size: 128}, {Name: "child", Kind: kernel},
			{Name: "table", Kind: variable, Section: ".nv.global", Offset: 8, Size: 4},
			{Name: "set", Kind: variable}, {Name: "n", Kind: variable}, {Name: "n$1", Kind: variable},
			{Name: "$used$copied", Kind: function},
		},
	}
}

func TestExplain(t *testing.T) {
	got, uses := program().Explain()
	if want := [][]string{{"b.o"}, nil, nil}; !cmp.Equal(uses, want) {
		t.Errorf("uses %q, want %q", uses, want)
	}
	want := []record.Symbol{
		{Name: "used", Kind: kernel, Inputs: []string{"a.o"}, Kept: true, Reason: "host code refers to it",
			ReasonInput: "a.o", Section: ".text.used", Size: 128},
		{Name: "unused", Kind: kernel, Inputs: []string{"a.o"}, Reason: "no host code refers to it"},
		{Name: "child", Kind: kernel, Inputs: []string{"a.o"}, Kept: true, Reason: "code that is kept needs it", By: "used"},
		{Name: "n", Kind: variable, Inputs: []string{"a.o"}, Kept: true, Reason: "the tools kept it"},
		{Name: "f", Kind: function, Inputs: []string{"b.o"}, Reason: "no call of it was left after optimization", By: "used"},
		{Name: "copied", Kind: function, Inputs: []string{"b.o"}, Kept: true, Reason: "code that is kept needs it", By: "f"},
		{Name: "g", Kind: function, Inputs: []string{"b.o", "c.o"}, Reason: "no code that is kept calls it"},
		{Name: "table", Kind: variable, Inputs: []string{"b.o"}, Kept: true, Reason: "code that is kept needs it",
			By: "used", Section: ".nv.global", Offset: 8, Size: 4},
		{Name: "folded", Kind: variable, Inputs: []string{"b.o"}, Reason: "no use of it was left after optimization",
			By: "f"},
		{Name: "lost", Kind: variable, Inputs: []string{"b.o"},
			Reason: "no host code refers to it, and no code that is kept uses it"},
		{Name: "set", Kind: variable, Inputs: []string{"b.o"}, Kept: true, Reason: "host code refers to it",
			ReasonInput: "main.o"},
		{Name: "n", Kind: variable, Inputs: []string{"b.o"}, Kept: true, Reason: "code that is kept needs it", By: "f"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReasons(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*symbols.Link)
		symbol string
		kept   bool
		reason string
	}{
		{"-kernels-used", func(l *symbols.Link) { l.Roots.ByOption, l.Roots.Kernels[0].Input = true, "" }, "used", true,
			"-kernels-used names it"},
		{"not in -kernels-used", func(l *symbols.Link) { l.Roots.ByOption = true }, "unused", false,
			"-kernels-used does not name it"},
		{"not in -variables-used", func(l *symbols.Link) { l.Roots.ByOption = true }, "lost", false,
			"-variables-used does not name it, and no code that is kept uses it"},
		{"all may be named", func(l *symbols.Link) { l.Roots = symbols.Roots{All: "-r"} }, "used", true,
			"everything may be named from outside: -r"},
		{"gone all the same", func(l *symbols.Link) { l.Roots = symbols.Roots{All: "-r"} }, "unused", false,
			"the tools removed it, though it may be named from outside"},
		{"references unknown", func(l *symbols.Link) { l.Traced, l.Inputs[0].Symbols[0].Refs = false, nil }, "folded", false,
			"no host code refers to it, and no use of it was left"},
	} {
		l := program()
		test.change(l)
		rows, _ := l.Explain()
		at := slices.IndexFunc(rows, func(y record.Symbol) bool { return y.Name == test.symbol })
		if rows[at].Kept != test.kept || rows[at].Reason != test.reason {
			t.Errorf("%s: %s is kept: %v, because %s", test.name, test.symbol, rows[at].Kept, rows[at].Reason)
		}
	}
}
