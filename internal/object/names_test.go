package object

import (
	"testing"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
)

func TestCodeName(t *testing.T) {
	for want, m := range map[string]Module{
		"lto_80":     {Kind: NVVM, Arch: gpu.Arch{Number: 80}},
		"compute_90": {Kind: PTX, Arch: gpu.Arch{Number: 90}},
		"sm_100a":    {Kind: ELF, Arch: gpu.Arch{Number: 100, Suffix: "a"}},
	} {
		if got := m.CodeName(); got != want {
			t.Errorf("CodeName returns %q, want %q", got, want)
		}
	}
}

// TestNamesakes has an object of two parts, which the command line names twice.
func TestNamesakes(t *testing.T) {
	at := func(file string, offset int64) *Object {
		return &Object{Origin: message.Origin{File: file}, Fatbin: Source{Path: file, Offset: offset}}
	}
	objects := []*Object{at("a.o", 64), at("b.o", 64), at("b.o", 512), at("b.o", 64), at("b.o", 512)}
	namesakes := Namesakes(objects, message.Origin{File: "b.o"})
	if len(namesakes) != 2 {
		t.Fatalf("%d namesakes, want 2", len(namesakes))
	}
	for i, want := range []int{-1, 0, 1, 0, 1} {
		if got := IndexOf(namesakes, objects[i]); got != want {
			t.Errorf("object %d is at place %d, want %d", i, got, want)
		}
	}
}
