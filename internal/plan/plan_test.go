package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/internal/options"
)

// The releases that tests plan for.
var (
	cuda130 = gpu.Release{Major: 13, Minor: 0}
	cuda134 = gpu.Release{Major: 13, Minor: 4}
)

// Objects of the tests, as small as the rules allow.

func refs(kernels, statics, constants, devices string) *object.HostRefs {
	list := func(s string) []string { return strings.Fields(s) }
	return &object.HostRefs{
		Kernels:   hostelf.Refs{External: list(kernels), Internal: list(statics)},
		Constants: hostelf.Refs{External: list(constants)},
		Devices:   hostelf.Refs{External: list(devices)},
	}
}

func host(name string, r *object.HostRefs, modules ...object.Module) *object.Object {
	return &object.Object{Origin: message.Origin{File: name}, Kind: object.HostObject, HostRefs: r,
		RegisterID: "_" + strings.TrimSuffix(name, ".o"), Modules: modules}
}

func ir(number int, embedded string) object.Module {
	return object.Module{Kind: object.NVVM, Arch: gpu.Arch{Number: number}, Options: embedded}
}

func elf(number int) object.Module {
	return object.Module{Kind: object.ELF, Arch: gpu.Arch{Number: number}}
}

const mathOptions = "-ftz=0 -prec_div=1 -prec_sqrt=1 -fmad=1 "

var (
	aObj  = host("a.o", refs("_Z6kern_a*", "__nv_static_a_*13kern_a_static*", "", ""), ir(80, mathOptions))
	bObj  = host("b.o", refs("_Z6kern_b*", "", "", "gcount"), ir(80, mathOptions))
	bs    = host("bs.o", refs("", "", "", ""), elf(80))
	devrt = &object.Object{Origin: message.Origin{File: "lib64/libcudadevrt.a", Member: "cuda_device_runtime.o"},
		Kind:     object.HostObject,
		HostRefs: refs("", "rt_memcpy rt_memset", "", ""), RegisterID: "_devrt",
		Modules: []object.Module{elf(75), elf(80), elf(90), elf(100)}}
	hostOnly = &object.Object{Origin: message.Origin{File: "main.o"}, Kind: object.HostObject,
		Ignored: "it holds no device code"}
	aFat = &object.Object{Origin: message.Origin{File: "a.fatbin"}, Kind: object.Fatbin, RegisterID: "_a_fatbin",
		Modules: []object.Module{ir(80, mathOptions)}}
	bFat = &object.Object{Origin: message.Origin{File: "b.fatbin"}, Kind: object.Fatbin,
		Modules: []object.Module{ir(80, mathOptions)}}
	aIR = &object.Object{Origin: message.Origin{File: "a.ltoir"}, Kind: object.LTOIR, Modules: []object.Module{ir(80, "")}}
)

// with is an object whose embedded options are these.
func with(name, embedded string) *object.Object {
	return host(name, refs("k*", "", "", ""), ir(80, embedded))
}

// parse reads a command line whose input files are given as objects.
func parse(t *testing.T, line string) *options.Options {
	t.Helper()
	args := append(strings.Fields(line), "-o", "out", "x.o")
	if !strings.Contains(line, "-arch") {
		args = append(args, "-arch=sm_80")
	}
	o, err := options.Parse(args, "", nil, func(*message.Message) {})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return o
}

func render(p *Plan, err error) string {
	var lines []string
	for _, m := range append(Messages(p.Events), message.Of(err)...) {
		lines = append(lines, m.Severity.String()+": "+m.Text)
	}
	return strings.Join(lines, "\n")
}

func objects(list ...*object.Object) []*object.Object { return list }

// TestCompileOptions holds the vectors of the table of observed cases.
func TestCompileOptions(t *testing.T) {
	const abRefs = " -host-ref-ek=_Z6kern_b*,_Z6kern_a* -host-ref-ik=__nv_static_a_*13kern_a_static* -host-ref-eg=gcount"
	const abRefsRT = " -host-ref-ek=_Z6kern_b*,_Z6kern_a* " +
		"-host-ref-ik=rt_memset,rt_memcpy,__nv_static_a_*13kern_a_static* -host-ref-eg=gcount"
	fatbins := objects(aFat, bFat)
	tests := []struct {
		line    string
		objects []*object.Object
		want    string // after -arch=compute_80 -link-lto
	}{
		{"-dlto", fatbins, "-has-global-host-info"},
		{"-lto", fatbins, "-has-global-host-info"},
		{"-dlto", objects(aObj, bObj), "-has-global-host-info" + abRefs},
		{"-dlto", objects(aObj, bObj, devrt), "--device-c -has-global-host-info" + abRefsRT},
		{"-dlto", objects(aFat, bFat, devrt), "-has-global-host-info"},
		{"-dlto", objects(devrt, aObj, bObj), "-has-global-host-info" + abRefs},
		{"-dlto -maxrregcount=32", fatbins, "-maxreg=32 -has-global-host-info"},
		{"-dlto -maxrregcount=-1", fatbins, "-has-global-host-info"},
		{"-dlto -g", objects(aFat), "-g -has-global-host-info"},
		{"-dlto -Ofc=mid", fatbins, "-Ofast-compile=mid -has-global-host-info"},
		{"-dlto -Ofc=0", fatbins, "-has-global-host-info"},
		{"-dlto -split-compile=0", fatbins, "-split-compile=0 -has-global-host-info"},
		{"-dlto -split-compile=1", fatbins, "-has-global-host-info"},
		{"-dlto -split-compile=4", fatbins, "-split-compile=4 -has-global-host-info"},
		{"-dlto -split-compile-extended=0", fatbins, "-split-compile-extended=0 -has-global-host-info"},
		{"-dlto -split-compile-extended=2", fatbins, "-split-compile-extended=2 -has-global-host-info"},
		{"-dlto -split-compile=4 -split-compile-extended=2", fatbins, "-split-compile-extended=2 -has-global-host-info"},
		{"-dlto -emit-ptx -split-compile-extended=4", fatbins, "-split-compile=4 -has-global-host-info"},
		{"-dlto -emit-ptx -split-compile-extended=4 -split-compile=3", fatbins, "-split-compile=3 -has-global-host-info"},
		{"-dlto -emit-ptx", fatbins, "-has-global-host-info"},
		{"-dlto -device-stack-protector=true", fatbins, "-has-global-host-info"},
		{"-dlto -Xptxas -v", fatbins, "-has-global-host-info"},
		{"-dlto -ignore-host-info", fatbins, ""},
		{"-dlto -use-host-info", fatbins, "-has-global-host-info"},
		{"-dlto -kernels-used=kern_b,kern_a", fatbins,
			"-has-global-host-info -host-ref-ek=*kern_b*,*kern_a* -host-ref-ik=*kern_b*,*kern_a*"},
		{"-dlto -kernels-used=k -ignore-host-info", objects(aObj), "-has-global-host-info -host-ref-ek=*k* -host-ref-ik=*k*"},
		{"-dlto -kernels-used=", objects(bObj), "-has-global-host-info -host-ref-ek=_Z6kern_b* -host-ref-eg=gcount"},
		{"-dlto -variables-used=v", fatbins,
			"-has-global-host-info -host-ref-ec=*v* -host-ref-ic=*v* -host-ref-eg=*v* -host-ref-ig=*v*"},
		{"-dlto -kernels-used=k -variables-used=v", objects(aObj),
			"-has-global-host-info -host-ref-ek=*k* -host-ref-ik=*k* -host-ref-ec=*v* -host-ref-ic=*v* -host-ref-eg=*v* " +
				"-host-ref-ig=*v*"},
		{"-dlto -r", objects(aObj, bObj), "--device-c --force-device-c"},
		{"-dlto -r -kernels-used=k", objects(aObj, bObj), "--device-c --force-device-c"},
		{"-dlto -force-partial-lto", fatbins, "--device-c --force-device-c"},
		{"-dlto -force-whole-lto", fatbins, "-has-global-host-info"},
		{"-dlto", objects(aObj, bs), "--device-c --force-device-c"},
		{"-dlto", objects(bs, aObj, devrt), "--device-c --force-device-c"},
		{"-dlto", objects(with("x.o", "-split-compile 3 -maxreg 32 -generate-line-info -inline-info ")),
			"-split-compile=3 -maxreg=32 -generate-line-info -inline-info -has-global-host-info -host-ref-ek=k*"},
		// Host references: order, duplicates, objects without the sections.
		{"-dlto", objects(host("1.o", refs("ka kb kc", "", "", ""), ir(80, "")),
			host("2.o", refs("kb kd", "", "", ""), ir(80, ""))),
			"-has-global-host-info -host-ref-ek=kd,kb,kc,ka"},
		{"-dlto", objects(host("2.o", refs("kb kd", "", "", ""), ir(80, "")),
			host("1.o", refs("ka kb kc", "", "", ""), ir(80, ""))),
			"-has-global-host-info -host-ref-ek=kc,kb,ka,kd"},
		{"-dlto", objects(aObj, host("old.o", nil, ir(80, ""))), "-has-global-host-info"},
		{"-dlto", objects(aObj, hostOnly), "-has-global-host-info"},
		{"-dlto", objects(host("v.o", refs("", "", "c", "v"), ir(80, "")), devrt), "--device-c -has-global-host-info"},
		{"-dlto", objects(aFat, bObj), "-has-global-host-info -host-ref-ek=_Z6kern_b* -host-ref-eg=gcount"},
		// -Xnvvm and the floating-point options that come with it.
		{"-dlto -Xnvvm -opt=3", fatbins, "-has-global-host-info -opt=3 -ftz=0 -prec-div=1 -prec-sqrt=1 -fma=1"},
		{"-dlto -Xnvvm -ftz=1 -Xnvvm=-prec-div=0,-fma=0", fatbins,
			"-has-global-host-info -ftz=1 -prec-div=0 -fma=0 -prec-sqrt=1"},
		{"-dlto -Xnvvm -prec-sqrt=0", fatbins, "-has-global-host-info -prec-sqrt=0 -ftz=0 -prec-div=1 -fma=1"},
		{"-dlto -Xnvvm -link-lto,-compile-time,-g,-opt=1", fatbins,
			"-has-global-host-info -g -opt=1 -ftz=0 -prec-div=1 -prec-sqrt=1 -fma=1"},
		{"-dlto -g -Xnvvm -g", fatbins, "-g -has-global-host-info -ftz=0 -prec-div=1 -prec-sqrt=1 -fma=1"},
		{"-dlto -Ofc=0 -Xnvvm -Ofast-compile=max", fatbins, "-has-global-host-info -ftz=0 -prec-div=1 -prec-sqrt=1 -fma=1"},
		{"-dlto -Xnvvm -opt=2", objects(with("fast.o", "-ftz=1 -prec_div=0 -prec_sqrt=0 -fmad=1 ")),
			"-has-global-host-info -opt=2 -ftz=1 -prec-div=0 -prec-sqrt=0 -fma=1 -host-ref-ek=k*"},
	}
	for _, test := range tests {
		p, err := Make(Input{Options: parse(t, test.line), Objects: test.objects, Release: cuda130})
		want := strings.TrimSpace("-arch=compute_80 -link-lto " + test.want)
		if diff := cmp.Diff(want, strings.Join(p.Compile, " ")); err != nil || diff != "" {
			t.Errorf("%s %s: error %v\n%s", test.line, names(test.objects), err, diff)
		}
	}
}

func names(list []*object.Object) string {
	var s []string
	for _, o := range list {
		s = append(s, o.Origin.String())
	}
	return strings.Join(s, " ")
}

func TestArchitectures(t *testing.T) {
	tests := []struct {
		arch           string
		release        gpu.Release
		compile, ptxas string
	}{
		{"sm_90", cuda130, "-arch=compute_90", "sm_90"},
		{"sm_90a", cuda130, "-arch=compute_90", "sm_90a"},
		{"sm_100f", cuda130, "-arch=compute_100", "sm_100"},
		{"sm_90a", cuda134, "-arch=compute_90a", "sm_90a"},
		{"sm_100f", cuda134, "-arch=compute_100f", "sm_100f"},
		{"compute_80", cuda130, "-arch=compute_80", "sm_80"},
	}
	for _, test := range tests {
		p, err := Make(Input{Options: parse(t, "-dlto -arch="+test.arch), Objects: objects(aFat), Release: test.release})
		if err != nil || p.Compile[0] != test.compile || p.Assemble[1] != test.ptxas {
			t.Errorf("%s for %v: %v, %q, %q", test.arch, test.release, err, p.Compile, p.Assemble)
		}
	}
}

func TestAssembleArguments(t *testing.T) {
	tests := []struct{ line, want string }{
		{"", "-arch sm_80 -m 64"},
		{"-maxrregcount=17 -Xptxas -v", "-arch sm_80 -m 64 -maxrregcount 17 -v"},
		{"-Xptxas=-v,-O1 -Xptxas=-warn-spills", "-arch sm_80 -m 64 -v -O1 -warn-spills"},
		{"-Ofc=mid", "-arch sm_80 -m 64 -Ofc mid"},
		{"-split-compile=2", "-arch sm_80 -m 64 -split-compile 2"},
		{"-split-compile-extended=4", "-arch sm_80 -m 64"},
		{"-device-stack-protector=true", "-arch sm_80 -m 64 -device-stack-protector true"},
		{"-device-stack-protector=false", "-arch sm_80 -m 64 -device-stack-protector false"},
		{"-g", "-arch sm_80 -m 64 -g"},
		{"-cuda-api-version=13.0", "-arch sm_80 -m 64 -cuda-api-version 13.0"},
	}
	for _, test := range tests {
		p, err := Make(Input{Options: parse(t, "-dlto "+test.line), Objects: objects(aFat, bFat), Release: cuda130})
		if got := strings.Join(p.Assemble, " "); err != nil || got != test.want {
			t.Errorf("%s: %v, %q, want %q", test.line, err, got, test.want)
		}
	}
	p, err := Make(Input{Options: parse(t, "-dlto"), Objects: objects(with("x.o", "-maxreg 32 -split-compile 2 ")),
		Release: cuda130})
	if got, want := strings.Join(p.Assemble, " "), "-arch sm_80 -m 64 -maxrregcount 32 -split-compile 2"; err != nil ||
		got != want {
		t.Errorf("options of the objects: %v, %q, want %q", err, got, want)
	}
}

func TestConsensus(t *testing.T) {
	const mixedRegs = "info: Some objects do not have '-maxrregcount' specified but others do; will build " +
		"everything with '-maxrregcount=32'"
	const mixedLine = "info: Some objects do not have '-lineinfo' specified but others do; will build everything " +
		"with '-lineinfo'"
	fatal := func(name string) string { return fmt.Sprintf("fatal: Cicc option values for '%s' do not match", name) }
	tests := []struct {
		line     string
		embedded []string
		want     string
	}{
		{"", []string{mathOptions, mathOptions}, ""},
		{"", []string{"-ftz=1 ", "-ftz=0 "}, fatal("-ftz")},
		{"", []string{"-ftz=1 ", ""}, ""},
		{"", []string{"-prec_div=1 ", "-prec_div=0 "}, fatal("-prec-div")},
		{"", []string{"-prec_sqrt=1 ", "-prec_sqrt=0 "}, fatal("-prec-sqrt")},
		{"", []string{"-fmad=1 ", "-fmad=0 "}, fatal("-fmad")},
		{"", []string{"-split-compile 2 ", "-split-compile 3 "}, fatal("-split-compile")},
		{"-split-compile=4", []string{"-split-compile 2 ", "-split-compile 3 "}, fatal("-split-compile")},
		{"", []string{"-split-compile 2 ", ""}, ""},
		{"", []string{"-maxreg 32 ", ""}, mixedRegs},
		{"", []string{"", "-maxreg 32 "}, mixedRegs},
		{"", []string{"", "-maxreg 32 ", "-maxreg 32 "}, mixedRegs},
		{"", []string{"-maxreg 32 ", "-maxreg 40 "}, fatal("-maxrregcount")},
		{"-maxrregcount=24", []string{"-maxreg 32 ", "-maxreg 40 "}, ""},
		{"-maxrregcount=24", []string{"-maxreg 32 ", ""}, ""},
		{"", []string{"-generate-line-info ", ""}, mixedLine},
		{"", []string{"-inline-info ", ""}, ""},
		{"", []string{"-generate-line-info -maxreg 32 -ftz=1 ", "-ftz=0 "},
			mixedLine + "\n" + mixedRegs + "\n" + fatal("-ftz")},
		{"", []string{"-ftz=1 -prec_div=1 ", "-ftz=0 -prec_div=0 "}, fatal("-ftz")},
		{"-w -disable-infos", []string{"-maxreg 32 ", ""}, mixedRegs},
		{"-split-compile=4", []string{"-split-compile 2 ", ""}, ""},
		{"-split-compile-extended=4", []string{"-split-compile 2 ", ""}, "info: " + options.TwoSplits().Text},
		{"", []string{"-maxreg=32 ", ""}, ""},
	}
	for _, test := range tests {
		var list []*object.Object
		for i, e := range test.embedded {
			list = append(list, with(fmt.Sprintf("%d.o", i), e))
		}
		p, err := Make(Input{Options: parse(t, "-dlto "+test.line), Objects: list, Release: cuda130})
		if diff := cmp.Diff(test.want, render(p, err)); diff != "" {
			t.Errorf("%s %q:\n%s", test.line, test.embedded, diff)
		}
	}
	p, err := Make(Input{Options: parse(t, "-dlto -split-compile=4"), Objects: objects(with("x.o", "-split-compile 2 ")),
		Release: cuda134})
	if diff := cmp.Diff(fatal("-split-compile"), render(p, err)); diff != "" {
		t.Errorf("13.4 counts the command line among the objects:\n%s", diff)
	}
	_, err = Make(Input{Options: parse(t, "-dlto"),
		Objects: objects(with("fast.o", "-ftz=1 "), with("slow.o", "-ftz=0 ")), Release: cuda130})
	if diff := cmp.Diff([]string{"with -ftz=1: fast.o", "with -ftz=0: slow.o"}, message.Of(err)[0].Notes); diff != "" {
		t.Errorf("the objects that disagree:\n%s", diff)
	}
}

func TestEmbeddedValues(t *testing.T) {
	ftz := all[3]
	for text, want := range map[string]int{"-xx-ftz=1": 1, "-ftz=1 -ftz=0": 1, "-ftz=zz": 0, "-ftz= 7x": 7, "-ftz=-3": -3,
		"-ftz=": 0} {
		if value, given := ftz.in(text); value != want || !given {
			t.Errorf("%q: %d, %v", text, value, given)
		}
	}
	if _, given := ftz.in("-prec_div=1"); given {
		t.Error("found an option that isn't there")
	}
}

func TestModes(t *testing.T) {
	const partial = "info: requested LTO but 'bs.o' not built for LTO so doing partial LTO"
	const empty = "warning: no input has device code for 'sm_75', so the result is empty"
	tests := []struct {
		line     string
		objects  []*object.Object
		mode     Mode
		messages string
	}{
		{"-dlto", objects(aObj, bObj), Whole, ""},
		{"-dlto", objects(aObj, bObj, devrt), Whole, ""},
		{"-dlto", objects(aIR), Whole, ""},
		{"-dlto -force-whole-lto", objects(aObj, bs), Partial, partial},
		{"-dlto -force-partial-lto", objects(aObj, bObj), Partial, ""},
		{"-dlto -r", objects(aObj, bObj), Relocatable, ""},
		{"-dlto", objects(aObj, bs, devrt), Partial, partial},
		{"", objects(bs), Plain, ""},
		{"-dlto", objects(bs), Plain, partial + "\nwarning: Ignoring -dlto option because no LTO objects found"},
		{"-dlto -arch=sm_75", objects(aObj), Plain,
			"warning: SM Arch ('sm_75') not found in 'a.o'\nwarning: Ignoring -dlto option because no LTO objects found\n" +
				empty},
		{"-dlto -arch=sm_75 -suppress-arch-warning", objects(aObj), Plain,
			"warning: Ignoring -dlto option because no LTO objects found\n" + empty},
		{"-dlto -arch=sm_90", objects(aObj), Whole, ""},
		{"-dlto", objects(aFat, bObj), Whole,
			"warning: kernels of 'a.fatbin' are removed unless host code of other objects names them"},
		{"-dlto -kernels-used=k", objects(aFat, bObj), Whole, ""},
		{"-dlto -ignore-host-info", objects(aFat, bObj), Whole, ""},
	}
	for _, test := range tests {
		p, err := Make(Input{Options: parse(t, test.line), Objects: test.objects, Release: cuda130})
		if diff := cmp.Diff(test.messages, render(p, err)); diff != "" || p.Mode != test.mode {
			t.Errorf("%s %s: mode %s, want %s\n%s", test.line, names(test.objects), p.Mode, test.mode, diff)
		}
		if len(p.Reasons) == 0 {
			t.Errorf("%s %s: mode %s without a reason", test.line, names(test.objects), p.Mode)
		}
	}
}

func TestEngineChoice(t *testing.T) {
	closed := ir(80, "")
	closed.Obfuscated = true
	list := objects(aObj, host("c.o", refs("k*", "", "", ""), closed))
	p, err := Make(Input{Options: parse(t, "-dlto -maxrregcount=32"), Objects: list, Release: cuda130})
	if err != nil || p.Engine != JITLink || !strings.Contains(p.EngineReason, "c.o") {
		t.Errorf("compressed IR: %v, %s because %s", err, p.Engine, p.EngineReason)
	}
	want := "-arch=sm_80 -lto -ptx -no-cache -Xnvvm=-maxreg=32 -Xnvvm=-has-global-host-info " +
		"-Xnvvm=-host-ref-ek=k*,_Z6kern_a* -Xnvvm=-host-ref-ik=__nv_static_a_*13kern_a_static*"
	if got := strings.Join(p.EngineOptions(p.Compile), " "); got != want {
		t.Errorf("nvJitLink's options:\n%s\n%s", got, want)
	}
	p, err = Make(Input{Options: parse(t, "-dlto"), Objects: objects(aObj), Release: cuda130})
	if err != nil || p.Engine != NVVM || cmp.Diff(p.Compile, p.EngineOptions(p.Compile)) != "" {
		t.Errorf("readable IR: %v, %s because %s", err, p.Engine, p.EngineReason)
	}
	p, err = Make(Input{Options: parse(t, "-dlto --warpld-engine=jitlink"), Objects: objects(aObj), Release: cuda130})
	if err != nil || p.Engine != JITLink {
		t.Errorf("--warpld-engine: %v, %s", err, p.Engine)
	}
}

func TestRegistration(t *testing.T) {
	again := host("again.o", refs("", "", "", ""), ir(80, ""))
	again.LinkedIDs = []string{"_bs", "_a"}
	newFat := &object.Object{Origin: message.Origin{File: "new.fatbin"}, Kind: object.Fatbin, RegisterID: "_new_fatbin",
		Modules: []object.Module{ir(100, "")}}
	tests := []struct {
		line    string
		objects []*object.Object
		whole   bool
		merged  string
		want    string
	}{
		{"-dlto", objects(aObj, bObj, devrt), true, "", "_b _a"},
		{"-dlto", objects(aObj, bObj, devrt), false, "_lto _devrt", "_a _b _devrt"},
		{"-dlto", objects(aObj, bObj, devrt), false, "_lto", "_a _b"},
		{"-dlto", objects(aFat, bFat), true, "", ""},
		{"-dlto", objects(aObj, host("new.o", refs("", "", "", ""), ir(100, "")), bObj), true, "", "_b _new _a"},
		{"-dlto -force-partial-lto", objects(aObj, bObj), false, "", "_a _b"},
		{"-dlto -keep-system-libraries", objects(aObj, bObj, devrt), true, "", "_devrt _b _a"},
		{"-dlto", objects(aObj, newFat), true, "", "_a"},
		{"-dlto", objects(aObj, bs, again), false, "", "_a _again"},
		{"", objects(bs, devrt), false, "_bs _devrt", "_bs _devrt"},
	}
	for _, test := range tests {
		p, err := Make(Input{Options: parse(t, test.line), Objects: test.objects, Release: cuda130})
		if got := strings.Join(p.RegisterIDs(test.whole, strings.Fields(test.merged)), " "); err != nil || got != test.want {
			t.Errorf("%s %s: %v, %q, want %q", test.line, names(test.objects), err, got, test.want)
		}
	}
}

func TestMergeOrder(t *testing.T) {
	cs, fresh := host("cs.o", refs("", "", "", ""), elf(80)), host("new.o", refs("", "", "", ""), elf(100))
	tests := []struct {
		objects []*object.Object
		want    string
	}{
		{objects(aObj, cs, bObj), "cs.o lto.cubin"},
		{objects(aObj, bObj, cs), "lto.cubin cs.o"},
		{objects(cs, aObj, bObj), "cs.o lto.cubin"},
		{objects(aFat, cs, devrt), "lto.cubin cs.o lib64/libcudadevrt.a:cuda_device_runtime.o"},
		{objects(aFat, devrt, cs), "lto.cubin lib64/libcudadevrt.a:cuda_device_runtime.o cs.o"},
		{objects(aFat, devrt), "lto.cubin"},
		{objects(aObj, cs, fresh), "cs.o lto.cubin"},
		{objects(aObj, cs, aIR), "lto.cubin cs.o"},
		{objects(aIR, cs, fresh, cs), "cs.o lto.cubin cs.o"},
		{objects(aObj, devrt, bObj), "lto.cubin lib64/libcudadevrt.a:cuda_device_runtime.o"},
		{objects(aObj, devrt, cs), "lto.cubin lib64/libcudadevrt.a:cuda_device_runtime.o cs.o"},
		{objects(devrt, aObj), "lto.cubin"},
	}
	for _, test := range tests {
		p, err := Make(Input{Options: parse(t, "-dlto"), Objects: test.objects, Release: cuda130})
		var got []string
		for _, part := range p.Merge {
			got = append(got, part.Origin().String())
		}
		if strings.Join(got, " ") != test.want || err != nil {
			t.Errorf("%s: %v, merge of %q, want %q", names(test.objects), err, got, test.want)
		}
	}
}

// TestReferencesInMerge wants the kernels kept that only the host code of objects
// without code for the target launches.
func TestReferencesInMerge(t *testing.T) {
	old := host("old.o", refs("launched*", "", "", ""), elf(75))
	other := host("cs.o", refs("own*", "", "", ""), elf(80))
	for _, test := range []struct {
		line    string
		objects []*object.Object
		want    string // of each part
	}{
		{"", objects(old, bs, other), "[launched*] [own*]"},
		{"-dlto", objects(old, aObj, other), "[launched* _Z6kern_a*] [own*]"},
		{"-dlto", objects(aObj, other, old), "[own*] [_Z6kern_a* launched*]"},
	} {
		p, err := Make(Input{Options: parse(t, test.line), Objects: test.objects, Release: cuda130})
		var got []string
		for _, part := range p.Merge {
			got = append(got, fmt.Sprint(part.Refs.Kernels.External))
		}
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("%s %s: %v, %q, want %q", test.line, names(test.objects), err, got, test.want)
		}
	}
}

func TestMissingHostCode(t *testing.T) {
	const info = "info: Input 'a.fatbin' has no host code, which could cause later host link error if there is a " +
		"reference to it"
	for line, want := range map[string]map[gpu.Release]string{
		"-dlto --register-link-binaries=r.c": {cuda130: "", cuda134: info},
		"-dlto":                              {cuda130: "", cuda134: ""},
	} {
		for release, text := range want {
			p, err := Make(Input{Options: parse(t, line), Objects: objects(aFat), Release: release})
			if got := render(p, err); got != text {
				t.Errorf("%s for %v: %q, want %q", line, release, got, text)
			}
		}
	}
}

// TestWarningsAsErrors holds the plan to where nvlink stops after a warning that
// -Werror made an error.
func TestWarningsAsErrors(t *testing.T) {
	const missing, noIR, partial = "SM Arch ('sm_80') not found in 'new.o'",
		"Ignoring -dlto option because no LTO objects found",
		"info: requested LTO but 'bs.o' not built for LTO so doing partial LTO\n"
	fresh := host("new.o", refs("", "", "", ""), elf(100))
	member := host("new.o", refs("", "", "", ""), elf(100))
	member.Origin = message.Origin{File: "lib.a", Member: "new.o"}
	text := host("ptx.o", refs("", "", "", ""), object.Module{Kind: object.PTX, Arch: gpu.Arch{Number: 75}})
	cubin := &object.Object{Origin: message.Origin{File: "b.cubin"}, Kind: object.Cubin, Modules: []object.Module{elf(80)}}
	tests := []struct {
		line    string
		objects []*object.Object
		stops   bool
		want    string
	}{
		{"", objects(bs, fresh), true, "warning: " + missing},
		{"", objects(fresh, cubin), true, "warning: " + missing},
		{"", objects(fresh, bs), true, "warning: " + missing + "\nfatal: elfLink internal error"},
		{"", objects(fresh, hostOnly), true, "warning: " + missing + "\nfatal: elfLink internal error"},
		{"-dlto", objects(fresh, aFat), true, "warning: " + missing + "\nfatal: elfLink fatbinary error"},
		{"-disable-infos", objects(fresh, bs), false, "warning: " + missing},
		{"-arch=sm_80 -suppress-arch-warning", objects(fresh, bs), false, ""},
		{"", objects(text, fresh, bs), false, "warning: " + missing},
		{"", objects(member, bs), false, "warning: SM Arch ('sm_80') not found in 'lib.a:new.o'"},
		{"-dlto", objects(bs), true, partial + "warning: " + noIR + "\nfatal: merge_elf failed"},
		{"-dlto", objects(hostOnly), true, "warning: " + noIR},
		{"-dlto", objects(text, bs), false, "info: requested LTO but 'ptx.o' not built for LTO so doing partial LTO\n" +
			partial + "warning: " + noIR},
	}
	for _, test := range tests {
		p, err := Make(Input{Options: parse(t, "-Werror "+test.line), Objects: test.objects, Release: cuda130})
		if diff := cmp.Diff(test.want, render(p, err)); diff != "" || (err != nil) != test.stops {
			t.Errorf("%s %s: error %v\n%s", test.line, names(test.objects), err, diff)
		}
	}
}

func TestInputsThatCannotBeLinked(t *testing.T) {
	cubin := &object.Object{Origin: message.Origin{File: "old.cubin"}, Kind: object.Cubin,
		Modules: []object.Module{elf(75)}}
	for want, in := range map[string]Input{
		"fatal: LTO objects found, use -dlto": {Options: parse(t, ""),
			Objects: objects(bs, aObj)},
		"fatal: Input file 'old.cubin' arch does not match target 'sm_80'": {Options: parse(t, ""), Objects: objects(cubin)},
	} {
		in.Release = cuda130
		p, err := Make(in)
		if got := render(p, err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
