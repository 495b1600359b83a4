package bitcode_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/warpld/warpld/internal/object/bitcode"
	"github.com/warpld/warpld/internal/object/objecttest"
)

var sample = objecttest.BitcodeFile{
	CPU: "sm_90a", Features: "+ptx88,+sm_90a", Thin: true,
	Flags: map[string]uint64{"EnableSplitLTOUnit": 1},
	Symbols: []objecttest.BitcodeSymbol{
		{Name: "kernel", Kernel: true},
		{Name: "helper", Declared: true},
		{Name: "table", AddressSpace: 4},
		{Name: "counter", AddressSpace: 1, Declared: true},
		{Name: "own", Linkage: 3},
		{Name: "shared", Linkage: 19},
	},
}

func TestRead(t *testing.T) {
	want := []bitcode.Module{{
		Producer: "LLVM22.1.8", Triple: "nvptx64-nvidia-cuda", DataLayout: "e-i64:64-i128:128-v16:16-v32:32-n16:32:64",
		SourceFile: "a.cu", Flags: map[string]uint64{"EnableSplitLTOUnit": 1},
		CPUs: []string{"sm_90a"}, Features: []string{"+ptx88", "+sm_90a"}, Thin: true,
		Symbols: []bitcode.Symbol{
			{Name: "kernel", Kernel: true, Defined: true},
			{Name: "helper"},
			{Name: "table", Kind: bitcode.Variable, AddressSpace: 4, Defined: true},
			{Name: "counter", Kind: bitcode.Variable, AddressSpace: 1},
			{Name: "own", Linkage: bitcode.Local, Defined: true},
			{Name: "shared", Linkage: bitcode.Weak, Defined: true},
		},
	}}
	for _, wrapped := range []bool{false, true} {
		made := sample
		made.Wrapped = wrapped
		f, err := bitcode.Read(objecttest.Bitcode(made))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, f.Modules, cmpopts.IgnoreUnexported(bitcode.Module{}, bitcode.Symbol{})); diff != "" {
			t.Errorf("wrapped %v:\n%s", wrapped, diff)
		}
	}
}

// A file with two modules gives two files with one each, which are the same as if
// they had been made so.
func TestAlone(t *testing.T) {
	two := sample
	two.Modules = 2
	f, err := bitcode.Read(objecttest.Bitcode(two))
	if err != nil || len(f.Modules) != 2 {
		t.Fatalf("%v", err)
	}
	for i := range f.Modules {
		if !bytes.Equal(f.Extract(i), objecttest.Bitcode(sample)) {
			t.Errorf("module %d by itself differs", i)
		}
	}
}

func TestMajor(t *testing.T) {
	for producer, want := range map[string]int{"LLVM22.1.2-rust-1.95.0-stable": 22, "LLVM19.1.7": 19, "LLVM": 0,
		"LLVM-3": 0, "APPLE_1_1600": 0, "": 0} {
		if got := (&bitcode.Module{Producer: producer}).Major(); got != want {
			t.Errorf("%q: %d, want %d", producer, got, want)
		}
	}
}

func TestDamaged(t *testing.T) {
	whole := objecttest.Bitcode(sample)
	old := sample
	old.Version = 1
	for _, test := range []struct {
		name string
		data []byte
		want error
	}{
		{"text", []byte("not bitcode at all"), bitcode.ErrFormat},
		{"magic only", whole[:4], bitcode.ErrFormat},
		{"half", whole[:len(whole)/2], bitcode.ErrTruncated},
		{"names cut off", whole[:len(whole)-8], bitcode.ErrTruncated},
		{"joined files", append(bytes.Clone(whole), whole[4:]...), bitcode.ErrFormat},
		{"old", objecttest.Bitcode(old), bitcode.ErrOld},
		{"wrapper of nothing", []byte("\xde\xc0\x17\x0b\x00\x00\x00\x00\x14\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
			bitcode.ErrFormat},
		{"wrapper beyond the end",
			[]byte("\xde\xc0\x17\x0b\x00\x00\x00\x00\x14\x00\x00\x00\xff\x00\x00\x00\x00\x00\x00\x00"), bitcode.ErrTruncated},
	} {
		if _, err := bitcode.Read(test.data); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(objecttest.Bitcode(sample))
	two := sample
	two.Modules, two.Wrapped = 2, true
	f.Add(objecttest.Bitcode(two))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := bitcode.Read(data)
		if err != nil {
			return
		}
		for i := range file.Modules {
			if _, err := bitcode.Read(file.Extract(i)); err != nil {
				t.Errorf("module %d by itself: %v", i, err)
			}
		}
	})
}
