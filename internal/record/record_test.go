package record_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/record"
	"github.com/warpld/warpld/test/kit"
)

// sample is a partial link of three objects that disagree on an option.
func sample() *record.Record {
	return &record.Record{
		Toolkit: "13.0.88", Target: "sm_80", Arguments: []string{"-dlto", "a.o", "b.o", "c.o"}, Wall: 1_500_000,
		Inputs: []record.Input{
			{Name: "a.o", Kind: "host object", File: record.File{Path: "a.o", SHA256: "aaaaaaaaaaaaaaaa"},
				SymbolsFrom: "its LTO-IR", Modules: []record.Module{{Kind: "LTO-IR", Target: "sm_80", Linked: true}}},
			{Name: "b.o", Kind: "host object", Modules: []record.Module{{Kind: "ELF", Target: "sm_75"},
				{Kind: "ELF", Target: "sm_80", Linked: true}}},
			{Name: "c.o", Kind: "host object", Modules: []record.Module{{Kind: "ELF", Target: "sm_90"}}},
			{Name: "libm.a:x.o", Kind: "host object", NotLinked: "it has no device code"},
		},
		Mode: "partial", Reasons: []record.Reason{{Rule: "native code takes part", Input: "b.o"}},
		Engine: "nvvm", EngineReason: "all LTO-IR can be read",
		Options: []record.Option{
			{Name: "-ftz", Value: "-ftz=0", Votes: []record.Vote{{Value: "-ftz=0", Inputs: []string{"a.o", "d.o"}}}},
			{Name: "-maxrregcount", Value: "-maxrregcount=32",
				Votes: []record.Vote{{Value: "-maxrregcount=32", Inputs: []string{"a.o"}}, {Inputs: []string{"d.o"}}}},
		},
		Phases: []record.Phase{{Name: "plan", Start: 10, Wall: 20}},
		Actions: []record.Action{
			{Label: "compile", Tool: "warpld", Source: "ran", Start: 100, Wall: 900_000, CPU: 800_000, Memory: 50 << 20,
				Waited: 50,
				Stages: []record.Phase{{Name: "load", Start: 200, Wall: 50},
					{Name: "nvvmCompileProgram", Start: 250, Wall: 899_850}}},
			{Label: "assemble", Kernels: []string{"_Z1kPi", "g"}, Tool: "ptxas", Source: "cache", Start: 200, Wall: 300},
			{Label: "assemble", Tool: "ptxas", Source: "ran", Failure: "exit code 255", Start: 600, Wall: 100},
		},
		Messages: []record.Message{{Severity: "info", Text: "not shown"}, {Severity: "warning", Text: "stack size unknown"}},
		Output:   &record.File{Path: "out.cubin", Size: 4096, SHA256: "11"},
		Kernels:  []record.Kernel{{Name: "k", Registers: 24}, {Name: "old", Registers: 8}},
		Sections: []record.Section{{Name: ".text.k", Offset: 0x200, Size: 0x80},
			{Name: ".nv.global", Offset: 0x280, Size: 12}},
		Symbols: []record.Symbol{
			{Name: "k", Kind: "kernel", Inputs: []string{"a.o"}, Kept: true, Reason: "host code refers to it",
				ReasonInput: "a.o", Section: ".text.k", Size: 0x80},
			{Name: "_Z1fi", Kind: "function", Inputs: []string{"a.o", "b.o"},
				Reason: "no call of it was left after optimization", By: "k"},
			{Name: "late", Kind: "variable", Inputs: []string{"a.o"}, Kept: true, Reason: "code that is kept needs it",
				By: "_Z1fi", Section: ".nv.global", Offset: 8, Size: 4},
			{Name: "early", Kind: "variable", Inputs: []string{"a.o"}, Kept: true, Reason: "host code refers to it",
				ReasonInput: "b.o", Section: ".nv.global", Size: 8},
			{Name: "__nv_static_2__1__Z4lostPi", Kind: "kernel", Inputs: []string{"a.o"}, Reason: "no host code refers to it"},
		},
	}
}

func TestSymbols(t *testing.T) {
	r := sample()
	for _, test := range []struct {
		name  string
		write func(io.Writer)
		want  string
	}{
		{"removed", r.WriteRemoved, `removed function f(int) of a.o, b.o: no call of it was left after optimization; it is used by k
removed kernel lost(int*) (static) of a.o: no host code refers to it
not listed are the symbols of b.o
`},
		{"why-live", func(w io.Writer) { r.WhyLive(w, "late") }, `variable late of a.o is in the output
  code that is kept needs it; it is used by the function f(int) of a.o, b.o
  which is used by the kernel k of a.o
  host code refers to it: a.o
`},
		{"why-live with a pattern", func(w io.Writer) { r.WhyLive(w, "lost(*") }, `kernel lost(int*) (static) of a.o is not in the output
  no host code refers to it
`},
		{"why-live of nothing", func(w io.Writer) { r.WhyLive(w, "other") },
			"other: it is not among the symbols that are known; link with --warpld-why-live=other to know all\n"},
		{"map", func(w io.Writer) { r.WriteMap(w) }, `out.cubin, 4096 bytes, for sm_80

    offset       size  section, symbol
     0x200       0x80  .text.k
       0x0       0x80    k  a.o
     0x280        0xc  .nv.global
       0x0        0x8    early  a.o
       0x8        0x4    late  a.o

removed function f(int) of a.o, b.o: no call of it was left after optimization; it is used by k
removed kernel lost(int*) (static) of a.o: no host code refers to it
not listed are the symbols of b.o
`},
	} {
		var got strings.Builder
		test.write(&got)
		if diff := cmp.Diff(test.want, got.String()); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestExplain(t *testing.T) {
	var got strings.Builder
	sample().Explain(&got)
	want := `linked, target sm_80, toolkit 13.0.88, 1.5s
partial link, because
  native code takes part: b.o
compiled by the engine nvvm: all LTO-IR can be read
compiled with -maxrregcount=32, though the objects differ
  -maxrregcount=32: a.o
  without -maxrregcount: d.o
compiled with -ftz=0, as all objects were
4 inputs, linked: 1 as ELF, 1 as LTO-IR
  not linked: c.o: it has no code for the target
  not linked: libm.a:x.o: it has no device code
compile: 900ms, 800ms CPU, 50 MB
assemble k(int*), g: from the cache
assemble: 0s, 0s CPU, 0 MB, exit code 255
warning: stack size unknown
result: out.cubin, 4096 bytes, 2 kernels
kernels that are gone, because no host code refers to it: lost(int*) (static)
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}

func TestDiff(t *testing.T) {
	after := sample()
	after.Mode = "whole"
	after.Inputs = slices.Delete(after.Inputs, 1, 2)
	after.Inputs[0].File.SHA256 = "bbbbbbbbbbbbbbbb"
	after.Options[1].Value = ""
	after.Kernels = []record.Kernel{{Name: "k", Registers: 32, Code: 128}, {Name: "new"}}
	after.Output.SHA256 = "22"
	after.Wall = 20_000
	var got strings.Builder
	if !record.Diff(&got, sample(), after) {
		t.Error("no difference was found")
	}
	want := `mode: partial, then whole
input a.o: aaaaaaaaaaaa, LTO-IR for sm_80, then bbbbbbbbbbbb, LTO-IR for sm_80
input b.o: gone
option -maxrregcount: -maxrregcount=32, then its default
kernel k: 24 registers, 0 stack, 0 spills, 0 shared, 0 code, then 32 registers, 0 stack, 0 spills, 0 shared, 128 code
kernel new: new, 0 registers, 0 stack, 0 spills, 0 shared, 0 code
kernel old: gone
result: 11, then 22
time: 1.5s, then 20ms
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
	if record.Diff(&got, sample(), sample()) {
		t.Error("a record differs from itself")
	}
}

func TestTrace(t *testing.T) {
	var text bytes.Buffer
	if err := sample().WriteTrace(&text); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range kit.CheckTrace(text.Bytes(), sample()) {
		t.Error(wrong)
	}
	broken := sample()
	broken.Actions = append(broken.Actions, record.Action{Label: "another"})
	if len(kit.CheckTrace(text.Bytes(), broken)) != 1 {
		t.Error("an action that is not in the trace is not missed")
	}
	broken = sample()
	broken.Actions[0].Stages[1].Wall += 1_000_000
	text.Reset()
	if err := broken.WriteTrace(&text); err != nil {
		t.Fatal(err)
	}
	if len(kit.CheckTrace(text.Bytes(), broken)) == 0 {
		t.Error("a stage that lasts longer than its action is not noticed")
	}
}

func TestRead(t *testing.T) {
	var text bytes.Buffer
	if err := sample().Write(&text); err != nil {
		t.Fatal(err)
	}
	got, err := record.Read(bytes.NewReader(text.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	want := sample()
	want.Format = record.Format
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]error{"": record.ErrFormat, "[]": record.ErrFormat, "{}": record.ErrFormat,
		`{"format": 1, "inputs": 5}`: record.ErrFormat, `{"format": 2}`: record.ErrVersion} {
		if _, err := record.Read(strings.NewReader(text)); !errors.Is(err, want) {
			t.Errorf("%q gives %v, want %v", text, err, want)
		}
	}
}

// The guide describes every field of the document.
func TestDocumented(t *testing.T) {
	guide, err := os.ReadFile("../../docs/record.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[reflect.Type]bool{}
	var check func(reflect.Type)
	check = func(typ reflect.Type) {
		for typ.Kind() == reflect.Slice || typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || typ.PkgPath() == "time" || seen[typ] {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if !bytes.Contains(guide, []byte("`"+name+"`")) {
				t.Errorf("docs/record.md does not describe %q of %s", name, typ.Name())
			}
			check(typ.Field(i).Type)
		}
	}
	check(reflect.TypeFor[record.Record]())
}

func FuzzRead(f *testing.F) {
	var text bytes.Buffer
	sample().Write(&text)
	f.Add(text.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := record.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		var out bytes.Buffer
		r.Explain(&out)
		r.WriteTrace(&out)
		record.Diff(&out, r, r)
		r.WriteMap(&out)
		r.WhyLive(&out, "*")
	})
}
