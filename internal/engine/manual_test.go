package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
)

func TestShards(t *testing.T) {
	tests := []struct {
		text  string
		sizes []int64
		want  []string // nil: an error
	}{
		{"whole", nil, []string{"whole"}},
		{"whole", []int64{5}, []string{"whole"}},
		{"bbbaacd", []int64{3, 2, 2}, []string{"aa", "bbb", "cd"}},
		{"aab", []int64{2, 2}, nil},
		{"aab", []int64{1, 1}, nil},
		{"aab", []int64{-1, 2}, nil},
	}
	for _, test := range tests {
		shards, err := Shards([]byte(test.text), test.sizes)
		var got []string
		for _, s := range shards {
			got = append(got, string(s))
		}
		if diff := cmp.Diff(test.want, got); diff != "" || (err != nil) != (test.want == nil) {
			t.Errorf("Shards(%q, %d): error %v, difference\n%s", test.text, test.sizes, err, diff)
		}
	}
}

func TestShardFile(t *testing.T) {
	if got := ShardFile("lto.ptx", 0, 1); got != "lto.ptx" {
		t.Errorf("the only one is called %q", got)
	}
	if got := ShardFile("x/lto.ptx", 7, 12); got != "x/shard-00007/lto.ptx" {
		t.Errorf("one of twelve is called %q", got)
	}
}

func TestCodeName(t *testing.T) {
	for want, m := range map[string]object.Module{
		"lto_80":     {Kind: object.NVVM, Arch: object.Arch{Number: 80}},
		"compute_90": {Kind: object.PTX, Arch: object.Arch{Number: 90}},
		"sm_100a":    {Kind: object.ELF, Arch: object.Arch{Number: 100, Suffix: "a"}},
	} {
		if got := CodeName(&m); got != want {
			t.Errorf("CodeName gives %q, want %q", got, want)
		}
	}
}

// TestNamesakes has an object of two parts, which the command line names twice.
func TestNamesakes(t *testing.T) {
	at := func(file string, offset int64) *object.Object {
		return &object.Object{Origin: message.Origin{File: file}, Fatbin: object.Source{Path: file, Offset: offset}}
	}
	objects := []*object.Object{at("a.o", 64), at("b.o", 64), at("b.o", 512), at("b.o", 64), at("b.o", 512)}
	namesakes := Namesakes(objects, message.Origin{File: "b.o"})
	if len(namesakes) != 2 {
		t.Fatalf("%d namesakes, want 2", len(namesakes))
	}
	for i, want := range []int{-1, 0, 1, 0, 1} {
		if got := PlaceOf(namesakes, objects[i]); got != want {
			t.Errorf("object %d is at place %d, want %d", i, got, want)
		}
	}
}
