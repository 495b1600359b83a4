package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/object/bitcode"
)

func TestThin(t *testing.T) {
	flagged := func(value uint64) object.Module {
		return llvm(80, func(m *bitcode.Module) { m.Flags = map[string]uint64{"ThinLTO": value} })
	}
	split := llvm(80, nil)
	split.Bitcode = append(split.Bitcode, split.Bitcode[0])
	for _, test := range []struct {
		line   string
		module object.Module
		thin   bool
		want   string
	}{
		{"-dlto", llvm(80, nil), false, ""},
		{"-dlto --warpld-lto=thin", llvm(80, nil), true, ""},
		{"-dlto --warpld-lto=thin", flagged(1), true, ""},
		{"-dlto --warpld-lto=thin", flagged(0), false, "info: doing full LTO, because 'a.bc' does not go with ThinLTO"},
		{"-dlto --warpld-lto=thin", split, false, "info: doing full LTO, because 'a.bc' does not go with ThinLTO"},
		{"-dlto --warpld-lto=thin", llvm(80, made("LLVM19.1.7", 0)), false,
			"info: doing full LTO, because 'a.bc' does not go with ThinLTO"},
		{"-dlto --warpld-lto=thin -emit-ptx", llvm(80, nil), false,
			"fatal: -emit-ptx writes one text, but ThinLTO makes one of each module"},
	} {
		p, err := Make(Input{Options: parse(t, test.line), Objects: objects(bare("a.bc", test.module)), Release: cuda130,
			LLVM: 22})
		if got := render(p, err); p.Thin != test.thin || got != test.want {
			t.Errorf("%s: thin %v, %q; want %v, %q", test.line, p.Thin, got, test.thin, test.want)
		}
	}
}

func TestResolve(t *testing.T) {
	weak := bitcode.Symbol{Name: "f", Linkage: bitcode.Weak, Defined: true}
	strong := bitcode.Symbol{Name: "f", Defined: true}
	modules := []bitcode.Module{
		{Symbols: []bitcode.Symbol{weak, {Name: "k", Kernel: true, Defined: true},
			{Name: "dead", Kernel: true, Defined: true},
			{Name: "local", Linkage: bitcode.Local, Defined: true}, {Name: "llvm.used", Defined: true}}},
		{Symbols: []bitcode.Symbol{strong, {Name: "k"}, {Name: "v", Kind: bitcode.Variable, AddressSpace: 1, Defined: true}}},
		{Symbols: []bitcode.Symbol{weak, {Name: "s", Kind: bitcode.Variable, AddressSpace: 3, Defined: true},
			{Name: "copy", Linkage: bitcode.AvailableExternally, Defined: true}}},
	}
	closed := LLVM{Closed: true, Keep: &Keep{Kernels: []string{"k"}, Variables: []string{"*"}}}
	want := [][]Resolution{
		{{Symbol: "f", Defined: true}, {Symbol: "k", Defined: true, Prevailing: true, Visible: true},
			{Symbol: "dead", Defined: true, Prevailing: true}},
		{{Symbol: "f", Defined: true, Prevailing: true}, {Symbol: "k"},
			{Symbol: "v", Defined: true, Prevailing: true, Visible: true}},
		{{Symbol: "f", Defined: true}, {Symbol: "s", Defined: true, Prevailing: true}, {Symbol: "copy"}},
	}
	if diff := cmp.Diff(want, closed.Resolve(modules)); diff != "" {
		t.Errorf("closed (-want +got):\n%s", diff)
	}
	open := LLVM{}
	for _, list := range open.Resolve(modules) {
		for _, r := range list {
			if r.Visible != r.Defined {
				t.Errorf("open: %+v", r)
			}
		}
	}
}

func TestPrepares(t *testing.T) {
	with := func(names ...string) *bitcode.Module {
		m := &bitcode.Module{Thin: true}
		for _, name := range names {
			m.Symbols = append(m.Symbols, bitcode.Symbol{Name: name})
		}
		return m
	}
	on, off := true, false
	for _, test := range []struct {
		name   string
		llvm   LLVM
		module *bitcode.Module
		want   bool
	}{
		{"nothing to do", LLVM{Keep: &Keep{}, FMA: &on}, with("f"), false},
		{"no summary", LLVM{}, &bitcode.Module{}, true},
		{"libdevice", LLVM{}, with("__nv_sinf"), true},
		{"questions", LLVM{}, with("__nvvm_reflect"), true},
		{"a list to filter", LLVM{Keep: &Keep{}}, with("llvm.compiler.used"), true},
		{"a list to leave", LLVM{}, with("llvm.compiler.used"), false},
		{"flushing", LLVM{FTZ: &off}, with("f"), true},
		{"no fma", LLVM{FMA: &off}, with("f"), true},
	} {
		if got := test.llvm.Prepares(test.module); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}
