package engine

import (
	"slices"
	"testing"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/plan"
)

// TestSeparateResult: what one module of several gives is what it gives by itself.
func TestSeparateResult(t *testing.T) {
	modules := []Module{{Origin: "a.o", Content: action.Bytes([]byte("a"))},
		{Origin: "b.o", Content: action.Bytes([]byte("b"))}}
	a, err := CompileSeparately(plan.NVVM, Tools{}, modules, []string{"-opt=0"})
	if err != nil {
		t.Fatal(err)
	}
	r := &action.Result{Outputs: map[string]action.Content{}}
	for _, name := range a.Outputs {
		text := "PTX in " + name
		if slices.Contains([]string{SeparateFile(0, AnswerFile), SeparateFile(1, AnswerFile)}, name) {
			text = `{"Log": "module-00000.ir is fine"}`
		}
		r.Outputs[name] = action.Bytes([]byte(text))
	}
	for i := range modules {
		outcome, err := ParseResult(plan.NVVM, modules[i:i+1], SeparateResult(r, i))
		if err != nil {
			t.Fatal(err)
		}
		text, err := outcome.PTX.Read()
		if err != nil || string(text) != "PTX in "+SeparateFile(i, PTXFile) ||
			outcome.Log.Text != modules[i].Origin+" is fine" {
			t.Errorf("%q, %v, %q", text, err, outcome.Log.Text)
		}
	}
}

func TestPrinted(t *testing.T) {
	const stdout = "warpld-stage 470 load\nno reference to vari" +
		"warpld-stage 8942 nvvmAddModule module-00000.ir\nable v\nwarpld-stage 9000 nvvmCompileProgram\nlast"
	if got, want := Printed([]byte(stdout)), "no reference to variable v\nlast"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
