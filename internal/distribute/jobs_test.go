package distribute

import (
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
)

const distribution = `{"common": {"linker_output": "o", "args": ["clang", "-c"], "inputs": ["common.txt"]}, "jobs": [
	{"args": ["d/a.bc", "-fthinlto-index=a.1.77.o.thinlto.bc", "-o", "a.1.77.o"], "inputs": ["d/a.bc", "a.1.77.o.thinlto.bc", "b.bc", "./b.bc"], "outputs": ["a.1.77.o"]},
	{"args": ["/abs/b.bc", "-o", "b.2.77.o", "-dwo=b.2.77.dwo"], "inputs": ["/abs/b.bc"], "outputs": ["b.2.77.o", "b.2.77.dwo"]},
	{"args": ["../c.bc", "-o", "c.o"], "inputs": ["../c.bc"], "outputs": ["c.o"]}]}`

func TestDistributionAsActions(t *testing.T) {
	d, err := readJobs("jobs.json", []byte(distribution))
	if err != nil {
		t.Fatal(err)
	}
	compiler := engine.Program{Name: "clang", File: action.AtPath("/bin/clang"),
		Libraries: []action.File{{Name: "libLLVM.so", Content: action.AtPath("/lib/libLLVM.so")}}}
	for i, want := range []struct{ args, inputs, outputs, impure string }{
		{"-c d/a.bc -fthinlto-index=index.thinlto.bc -o output0.o",
			"libraries/libLLVM.so common.txt d/a.bc index.thinlto.bc b.bc", "output0.o", ""},
		{"-c /abs/b.bc -o output0.o -dwo=output1.dwo", "libraries/libLLVM.so common.txt", "output0.o output1.dwo",
			"/abs/b.bc"},
	} {
		a, err := d.Jobs[i].action(compiler)
		if err != nil {
			t.Fatal(err)
		}
		var inputs []string
		for _, f := range a.Inputs {
			inputs = append(inputs, f.Name)
		}
		got := []string{strings.Join(a.Args, " "), strings.Join(inputs, " "), strings.Join(a.Outputs, " ")}
		if !slices.Equal(got, []string{want.args, want.inputs, want.outputs}) || (a.Impure == "") != (want.impure == "") ||
			!strings.Contains(a.Impure, want.impure) {
			t.Errorf("job %d: %q, impure %q; want %+v", i, got, a.Impure, want)
		}
	}
	if _, err := d.Jobs[2].action(compiler); err == nil {
		t.Error("an input outside the working directory")
	}
}

func FuzzDistribution(f *testing.F) {
	f.Add([]byte(distribution))
	f.Add([]byte(`{"common": {"args": ["clang"]}, "jobs": [{"args": ["="], "inputs": ["", "."], "outputs": [""]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := readJobs("jobs.json", text)
		if err != nil {
			return
		}
		for i := range d.Jobs {
			a, err := d.Jobs[i].action(engine.Program{Name: "clang"})
			if err == nil && len(a.Outputs) != len(d.Jobs[i].Outputs) {
				t.Errorf("%d outputs of %d", len(a.Outputs), len(d.Jobs[i].Outputs))
			}
		}
	})
}
