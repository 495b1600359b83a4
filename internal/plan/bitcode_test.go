package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/object/bitcode"
)

// llvm is bitcode for an architecture, as clang makes it.
func llvm(number int, change func(*bitcode.Module)) object.Module {
	arch := gpu.Arch{Number: number}
	m := bitcode.Module{Producer: "LLVM22.1.8", Triple: "nvptx64-nvidia-cuda", CPUs: []string{arch.String()},
		Features: []string{"+ptx85"}}
	if change != nil {
		change(&m)
	}
	return object.Module{Kind: object.LLVM, Arch: arch, Bitcode: []bitcode.Module{m}}
}

func bare(name string, m object.Module) *object.Object {
	return &object.Object{Origin: message.Origin{File: name}, Kind: object.Bitcode, Modules: []object.Module{m}}
}

func made(producer string, epoch uint64) func(*bitcode.Module) {
	return func(m *bitcode.Module) { m.Producer, m.Epoch = producer, epoch }
}

func ftz(value uint64) func(*bitcode.Module) {
	return func(m *bitcode.Module) { m.Flags = map[string]uint64{"nvvm-reflect-ftz": value} }
}

func TestBitcode(t *testing.T) {
	yes, no := true, false
	unrolled := []string{"-unroll-runtime=false"}
	clangObject := host("a.o", refs("k1", "", "v", "v"), llvm(80, nil))
	math := func(m *bitcode.Module) {
		m.Symbols = []bitcode.Symbol{{Name: "__nv_sinf", Kind: bitcode.Function}}
		m.Features = []string{"+ptx88", "+sm_80"}
	}
	for _, test := range []struct {
		name    string
		line    string
		objects []*object.Object
		mode    Mode
		want    LLVM
	}{
		{"nothing is known of the host", "-dlto", objects(bare("a.bc", llvm(80, nil))), Whole,
			LLVM{CPU: "sm_80", Features: "+ptx85", Options: unrolled, Level: 3, Closed: true}},
		{"clang's entries", "-dlto", objects(clangObject), Whole,
			LLVM{CPU: "sm_80", Features: "+ptx85", Options: unrolled, Level: 3, Closed: true,
				Keep: &Keep{Kernels: []string{"k1"}, Variables: []string{"v", "v"}}}},
		{"a silent object", "-dlto", objects(clangObject, hostOnly), Whole,
			LLVM{CPU: "sm_80", Features: "+ptx85", Options: unrolled, Level: 3, Closed: true}},
		{"-ignore-host-info", "-dlto -ignore-host-info", objects(clangObject), Whole,
			LLVM{CPU: "sm_80", Features: "+ptx85", Options: unrolled, Level: 3, Closed: true}},
		{"named kernels", "-dlto -kernels-used=k", objects(bare("a.bc", llvm(80, nil))), Whole,
			LLVM{CPU: "sm_80", Features: "+ptx85", Options: unrolled, Level: 3, Closed: true,
				Keep: &Keep{Kernels: []string{"*k*", "*k*"}}}},
		{"native code", "-dlto", objects(clangObject, bs), Partial,
			LLVM{CPU: "sm_80", Features: "+ptx85", Options: unrolled, Level: 3}},
		{"LTO-IR", "-dlto", objects(clangObject, aObj), Partial,
			LLVM{CPU: "sm_80", Features: "+ptx85", Options: unrolled, Level: 3}},
		{"-r", "-dlto -r", objects(clangObject), Relocatable,
			LLVM{CPU: "sm_80", Features: "+ptx85", Options: unrolled, Level: 3}},
		{"libdevice, and the latest PTX", "-dlto", objects(bare("a.bc", llvm(80, nil)), bare("b.bc", llvm(75, math))), Whole,
			LLVM{CPU: "sm_80", Features: "+ptx88", Options: unrolled, Level: 3, Closed: true, Libdevice: true}},
		{"floating point", "-dlto -Xnvvm=-ftz=0,-prec-div=0,-prec-sqrt=1,-fma=0,-opt=1",
			objects(bare("a.bc", llvm(80, ftz(1)))), Whole,
			LLVM{CPU: "sm_80", Features: "+ptx85", Options: unrolled, Level: 1, Closed: true, FTZ: &no, PrecDiv: &no,
				PrecSqrt: &yes, FMA: &no}},
		{"flushing", "-dlto -Ofc=min", objects(bare("a.bc", llvm(80, ftz(1))), bare("b.bc", llvm(80, nil))), Whole,
			LLVM{CPU: "sm_80", Features: "+ptx85", Options: unrolled, Level: 2, Closed: true, FTZ: &yes}},
		{"LLVM's options", "-dlto -g --warpld-llvm-options=-a,-b=1", objects(bare("a.bc", llvm(80, nil))), Whole,
			LLVM{CPU: "sm_80", Features: "+ptx85", Closed: true, Options: []string{"-unroll-runtime=false", "-a", "-b=1"}}},
		{"unrolling", "-dlto --warpld-llvm-options=--unroll-runtime=true", objects(bare("a.bc", llvm(80, nil))), Whole,
			LLVM{CPU: "sm_80", Features: "+ptx85", Level: 3, Closed: true, Options: []string{"--unroll-runtime=true"}}},
		{"ThinLTO's bitcode", "-dlto", objects(bare("a.bc", llvm(80, func(m *bitcode.Module) { m.Thin = true }))), Whole,
			LLVM{CPU: "sm_80", Features: "+ptx85", Level: 3, Closed: true}},
	} {
		p, err := Make(Input{Options: parse(t, test.line), Objects: test.objects, Release: cuda130, LLVM: 22})
		if err != nil || p.Mode != test.mode {
			t.Errorf("%s: mode %s, %v", test.name, p.Mode, err)
		}
		if diff := cmp.Diff(test.want, p.LLVM); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestKeepBitcode(t *testing.T) {
	for _, test := range []struct {
		line    string
		objects []*object.Object
		keeps   bool
		want    string
	}{
		{"-dlto -r", objects(bare("a.bc", llvm(80, nil))), true, ""},
		{"-dlto", objects(bare("a.bc", llvm(80, nil))), false, ""},
		{"-dlto -r", objects(bare("a.bc", llvm(80, nil)), aIR), false,
			"fatal: 'x.bc' cannot hold code that is no LLVM bitcode"},
	} {
		o := parse(t, test.line)
		o.Output = "x.bc"
		p, err := Make(Input{Options: o, Objects: test.objects, Release: cuda130, LLVM: 22})
		if got := render(p, err); p.KeepBitcode != test.keeps || got != test.want {
			t.Errorf("%s: %v, %q", test.line, p.KeepBitcode, got)
		}
	}
}

func TestBitcodeRefused(t *testing.T) {
	a := bare("a.bc", llvm(80, ftz(0)))
	for _, test := range []struct {
		line    string
		objects []*object.Object
		want    string
	}{
		{"-dlto", objects(a, bare("b.bc", llvm(80, made("LLVM23.0.0git", 0)))),
			"fatal: the bitcode in 'b.bc' was made by 'LLVM23.0.0git', which LLVM 22 does not read"},
		{"-dlto", objects(bare("b.bc", llvm(80, made("LLVM22.1.0", 1)))),
			"fatal: the bitcode in 'b.bc' is of epoch 1, which LLVM 22 does not read"},
		{"-dlto", objects(bare("b.bc", llvm(90, nil))),
			"fatal: the bitcode in 'b.bc' is for 'sm_90' and cannot be linked for 'sm_80'"},
		{"-dlto", objects(bare("b.bc", llvm(80, func(m *bitcode.Module) { m.CPUs = []string{"sm_75", "sm_80a"} }))),
			"fatal: the bitcode in 'b.bc' is for 'sm_80a' and cannot be linked for 'sm_80'"},
		{"-dlto", objects(host("b.o", refs("", "", "", ""), llvm(90, nil))),
			"fatal: Input file 'b.o' arch does not match target 'sm_80'"},
		{"-dlto", objects(a, bare("b.bc", llvm(80, ftz(1)))), "fatal: Cicc option values for '-ftz' do not match"},
		{"-dlto -emit-ptx", objects(a, aObj), "fatal: -emit-ptx cannot write one text for LTO-IR of nvcc and LLVM bitcode"},
		{"-dlto -Xnvvm=-odd", objects(a), "warning: -Xnvvm '-odd' has no meaning for LLVM bitcode"},
		{"-dlto", objects(host("b.o", refs("k", "", "", ""), llvm(80, nil)), a),
			"warning: kernels of 'a.bc' are removed unless host code of other objects names them"},
	} {
		p, err := Make(Input{Options: parse(t, test.line), Objects: test.objects, Release: cuda130, LLVM: 22})
		if got := render(p, err); got != test.want {
			t.Errorf("%s: %q, want %q", test.line, got, test.want)
		}
	}
}

// The part that LLVM makes stands where the last object with bitcode stood.
func TestBitcodeMergeOrder(t *testing.T) {
	first, second := host("1.o", refs("k1", "", "", ""), llvm(80, nil)), host("2.o", refs("k2", "", "", ""), llvm(80, nil))
	p, err := Make(Input{Options: parse(t, "-dlto"), Objects: objects(first, bs, second, aObj), Release: cuda130,
		LLVM: 22})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, part := range p.Merge {
		got = append(got, part.Origin().String())
	}
	if diff := cmp.Diff([]string{"bs.o", LLVMName, LTOName}, got); diff != "" {
		t.Error(diff)
	}
	if refs := p.Merge[1].Refs; refs == nil || !cmp.Equal(refs.Kernels.External, []string{"k1", "k2", "_Z6kern_a*"}) {
		t.Errorf("references of LLVM's part: %+v", refs)
	}
}
