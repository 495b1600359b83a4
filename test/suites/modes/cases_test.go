//go:build realtools

package modes

import "strings"

// A group is a part of the comparison: every set of inputs with every set of
// options.
type group struct {
	name    string
	inputs  []string
	options []string
	archs   []string // the targets, or nil for all
}

func (g group) targets() []string {
	if g.archs == nil {
		return archs
	}
	return g.archs
}

// lines are the command lines of a group, without what every one has.
func (g group) lines() []string {
	options := g.options
	if options == nil {
		options = []string{""}
	}
	var lines []string
	for _, inputs := range g.inputs {
		for _, o := range options {
			lines = append(lines, strings.Join(strings.Fields(inputs+" "+o), " "))
		}
	}
	return lines
}

// groups are the whole comparison. In a command line LTO stands for -dlto and
// -nvvmpath, DEVRT for -lcudadevrt and its folder; KIND/FILE is a file of the
// corpus or of a recipe, +KIND/FILE one that only lies beside the inputs.
var groups = []group{
	{
		name: "whole programs",
		inputs: []string{
			"LTO FORM/a.o FORM/b.o DEVRT",
			"LTO FORM/a.o FORM/b.o",
			"LTO FORM/hostref.o DEVRT",
			"LTO FORM/hostref.o FORM/a.fatbin FORM/b.fatbin DEVRT",
			"LTO FORM/hostref.o ltoir/a.ltoir ltoir/b.ltoir DEVRT",
			"LTO FORM/a.fatbin FORM/b.fatbin",
			"LTO ltoir/a.ltoir ltoir/b.nvvm",
		},
		options: []string{"", "-emit-ptx", "-r", "-force-partial-lto"},
	},
	{
		name:   "whole programs with other options",
		inputs: []string{"LTO FORM/a.o FORM/b.o DEVRT", "LTO FORM/hostref.o FORM/b.fatbin"},
		options: []string{"-v", "-dump-callgraph", "-time=times.csv", "-g", "-force-whole-lto", "-ignore-host-info",
			"-keep-system-libraries"},
		archs: []string{"sm_90"},
	},
	{
		name: "the device runtime",
		inputs: []string{
			"LTO FORM/cdp.o DEVRT",
			"LTO FORM/cdp.o",
			"LTO FORM/cdp.fatbin DEVRT",
			"LTO $LIB/libcudadevrt.a FORM/cdp.o",
			"LTO $LIB/libcudadevrt.a FORM/a.o FORM/b.o",
			"LTO FORM/a.o FORM/b.o $LIB/libcudadevrt.a",
			"LTO FORM/a.o $LIB/libcudadevrt.a FORM/b.o",
			"LTO FORM/cdp.o ar/mydevrt.a",
			"LTO FORM/a.o bcudadevrt.o=rdc/b.o",
		},
		options: []string{"", "-emit-ptx", "-force-whole-lto", "-force-partial-lto"},
		archs:   []string{"sm_80", "sm_100"},
	},
	{
		name: "partial links",
		inputs: []string{
			"LTO FORM/a.o rdc/b.o DEVRT",
			"LTO rdc/b.o FORM/a.o",
			"LTO FORM/a.o cubin/b.cubin DEVRT",
			"LTO FORM/a.o ptx/b.o DEVRT",
			"LTO FORM/a.o rdc/b.fatbin",
			"LTO FORM/hostref.o rdc/a.o rdc/b.o DEVRT",
			"LTO FORM/a.o rdc/r3_printf.o FORM/b.o DEVRT",
		},
		options: []string{"", "-v -r", "-emit-ptx"},
	},
	{
		name:   "partial links with other options",
		inputs: []string{"LTO FORM/a.o rdc/b.o DEVRT", "LTO FORM/hostref.o FORM/a.o ptx/b.o"},
		options: []string{"-v", "-dump-callgraph", "-time=times.csv", "-g", "-force-partial-lto", "-force-whole-lto",
			"-ignore-host-info", "-kernels-used=ka"},
		archs: []string{"sm_90"},
	},
	{
		name: "partial links of other inputs",
		inputs: []string{
			"LTO FORM/a.o ptx/b.fatbin",
			"LTO FORM/a.o ar/libnative.a DEVRT",
			"LTO FORM/a.o ar/libmixed.a DEVRT",
			"LTO FORM/a.o ar/libptx.a",
			"LTO FORM/a.o +ar/libnative.a -L. -lnative DEVRT",
			"LTO FORM/a.o again/b.cubin",
			"LTO FORM/a.o again/b.o",
			"LTO FORM/a.o cubin/b.o",
			"LTO FORM/hostref.o nohr-rdc/b.o DEVRT",
			"LTO nohr/hostref.o rdc/b.o DEVRT",
			"LTO FORM/w1.o rdc/w2.o DEVRT",
			"LTO FORM/r1_calls.o rdc/r2_def.o DEVRT -v",
			"LTO rdc/r1_calls.o FORM/r2_def.o DEVRT -v",
			"LTO FORM/cdp.o rdc/b.o DEVRT",
			"LTO FORM/launch.o FORM/a.o rdc/b.o DEVRT -v",
			"LTO rdc/launch.o FORM/a.o FORM/b.o DEVRT -v",
			"LTO FORM/launch.o FORM/hostref.o rdc/names.o DEVRT -v",
			"LTO FORM/a.o dead/native.o",
		},
	},
	{
		name: "bare LTO-IR and native code",
		inputs: []string{
			"LTO FORM/a.fatbin rdc/b.o",
			"LTO rdc/b.o FORM/a.fatbin",
			"LTO ltoir/a.ltoir rdc/b.o",
			"LTO ltoir/a.ltoir cubin/b.cubin",
			"LTO ltoir/a.ltoir rdc/b.fatbin",
			"LTO rdc/a.o ltoir/b.nvvm",
			"LTO FORM/hostref.o ltoir/a.ltoir rdc/b.o DEVRT",
			"LTO rdc/hostref.o ltoir/a.ltoir ltoir/b.ltoir",
		},
		options: []string{"", "-r"},
	},
	{
		name: "PTX by itself",
		inputs: []string{
			"rdc/a.o ptx/b.ptx",
			"LTO ptx/b.ptx FORM/a.o DEVRT",
			"LTO FORM/hostref.o FORM/a.o ptx/b.ptx",
			"rdc/hostref.o ptx/b.ptx",
		},
		options: []string{"-v", "-r", "-kernels-used=kb"},
	},
	{
		name: "PTX by itself with other options",
		inputs: []string{
			"LTO FORM/a.o ptx/b.ptx",
			"LTO ptx/b.ptx",
		},
		options: []string{"-time=times.csv", "-emit-ptx", "-maxrregcount=24 -w", "-g", "-Xptxas=-v"},
		archs:   []string{"sm_90"},
	},
	{
		name: "links without -dlto",
		inputs: []string{
			"rdc/a.o rdc/b.o",
			"rdc/hostref.o",
			"rdc/r1_calls.o rdc/r2_def.o DEVRT",
			"cubin/a.cubin cubin/b.cubin",
			"ptx/a.o ptx/b.o",
		},
		options: []string{"", "-v", "-dump-callgraph", "-dump-callgraph-no-demangle", "-g", "-r", "-time=times.csv",
			"-kernels-used=ka,k_ext_unused", "-variables-used=gvar,d_ext_unused",
			"-use-host-info", "-ignore-host-info", "-preserve-relocs", "-extrawarn -suppress-stack-size-warning",
			"-w -disable-infos", "-Werror"},
		archs: []string{"sm_80"},
	},
	{
		name: "other inputs without -dlto",
		inputs: []string{
			"rdc/a.o rdc/b.o DEVRT",
			"rdc/cdp.o DEVRT",
			"rdc/cdp.o",
			"rdc/w1.o rdc/w2.o",
			"rdc/a.o cubin/b.cubin",
			"rdc/a.o rdc/b.fatbin",
			"rdc/a.o ar/libnative.a",
			"rdc/a.o again/b.cubin",
			"nohr-rdc/hostref.o",
			"rdc/hostref.o nohr-rdc/b.o",
			"debug/a.o debug/b.o -g",
			"lines/a.o lines/b.o",
			"both/a.o both/b.o",
			"rdc/launch.o rdc/names.o",
			"rdc/a.o host/host.o rdc/b.o host/libhost.a",
			"dead/native.o",
		},
		options: []string{"-v", "-keep-system-libraries"},
	},
	{
		name: "what host code refers to",
		inputs: []string{
			"LTO FORM/hostref.o FORM/names.o DEVRT",
			"LTO nohr/hostref.o DEVRT",
			"LTO FORM/hostref.o nohr/b.o DEVRT",
			"LTO FORM/launch.o FORM/a.o FORM/b.o DEVRT",
			"LTO ltoir/hostref.ltoir",
			"dead/native.o dead/launcher.o",
			"LTO FORM-extra/dead.o dead/launcher.o rdc/r3_printf.o DEVRT",
		},
		options: []string{"", "-kernels-used=k_ext_unused,run", "-variables-used=d_ext_unused,level",
			"-kernels-used=ka -variables-used=gvar -use-host-info", "-kernels-used=kb -ignore-host-info"},
		archs: []string{"sm_80", "sm_100"},
	},
	{
		name: "architectures",
		inputs: []string{
			"LTO FORM/a.o lto75/b.o DEVRT",
			"LTO FORM/a.o lto120/b.o DEVRT",
			"LTO FORM/a.o lto120/b.fatbin DEVRT",
			"LTO lto120/b.o DEVRT",
			"LTO both/a.o both/b.o DEVRT",
			"LTO FORM/a.o irptx/b.o DEVRT",
			"LTO FORM/a.o lto75sm/b.o DEVRT",
			"irptx/b.o",
			"lto75sm/b.o",
			"LTO FORM/a.o other/b.cubin DEVRT",
			"rdc/a.o other/b.o",
			"rdc/a.o other/b.cubin",
			"LTO other/b.o",
		},
		options: []string{"-r", "-report-arch", "-Werror"},
	},
	{
		name: "only native code, or nothing",
		inputs: []string{
			"LTO rdc/a.o rdc/b.o DEVRT",
			"LTO cubin/a.cubin cubin/b.cubin",
			"LTO ptx/a.o ptx/b.o",
			"LTO host/host.o DEVRT",
			"LTO bad/empty.o",
			"LTO $LIB/libcudadevrt.a",
			"host/host.o",
			"ar/libempty.a",
		},
		options: []string{"", "-emit-ptx", "-r", "-Werror", "-w", "-disable-infos"},
		archs:   []string{"sm_90"},
	},
	{
		name: "options about messages",
		inputs: []string{
			"rdc/a.o old.o=other/b.o rdc/b.o",
			"rdc/a.o ptx/b.o old.o=other/b.o",
			"LTO FORM/a.o old.o=other/b.o FORM/b.o DEVRT",
			"LTO FORM/a.o ptx/b.o old.o=other/b.o",
			"LTO ptx/b.o rdc/a.o",
			"rdc/r1_calls.o rdc/r2_def.o",
			"rdc/r1_calls.o rdc/r2_def.o ptx/b.o",
			"LTO FORM/r1_calls.o rdc/r2_def.o",
			"rdc/a.o rdc/b.o ar/libold.a",
			"rdc/a.o rdc/b.o +ar/libother.a -L. -lother",
			"rdc/a.o rdc/b.o -maxrregcount=24 -maxrregcount=32",
		},
		options: []string{"", "-w", "-Werror", "-disable-infos", "-Werror -disable-infos -w",
			"-Werror -suppress-arch-warning -suppress-stack-size-warning"},
		archs: []string{"sm_90"},
	},
	{
		name: "inputs that are broken, empty or of no use",
		inputs: []string{
			"bad/empty.o", "bad/empty.ltoir", "bad/empty.cubin", "bad/empty.fatbin", "bad/empty.a", "bad/empty.ptx",
			"bad/short.o", "bad/short.xyz",
			"bad/text.o", "bad/text.txt", "bad/text.cubin", "bad/text.fatbin", "bad/text.ltoir", "bad/text.bc", "bad/text.a",
			"bad/text", "bad/text.ptx",
			"bad/host.cubin", "bad/cut.o", "bad/cut.cubin", "bad/cut.ltoir", "bad/cut.fatbin", "nosuch.o",
			"host/lib.so", "ar/libcubin.a", "ar/libempty.a", "ar/libmagic.a", "ptx/b.ptx", "cubin/b", "ltoir/b.xyz",
			"ltoir/renamed.o", "stored/renamed.o", "linked/b.o", "linked/b.cubin",
			"-lnosuch", "+ar/libhidden.a +ar/libhidden.so -L. -lhidden", "+ar/libother.a -L. -lother",
		},
		options: []string{"rdc/a.o -r", "LTO FORM/a.o -r"},
		archs:   []string{"sm_90"},
	},
	{
		name: "splitting",
		inputs: []string{
			"LTO FORM/many1.o FORM/many2.o DEVRT -split-compile=2",
			"LTO FORM/many1.o FORM/many2.o DEVRT -split-compile-extended=2",
			"LTO FORM/many1.o FORM/many2.o DEVRT -split-compile-extended=2 -force-whole-lto",
			"LTO FORM/many1.o FORM/many2.o DEVRT -split-compile-extended=2 -emit-ptx",
			"LTO FORM/a.o FORM/b.o DEVRT -split-compile=4",
			"LTO FORM/a.o FORM/b.o DEVRT -split-compile-extended=4",
			"LTO FORM/a.o FORM/b.o DEVRT -split-compile=2 -split-compile-extended=4",
			"LTO FORM/a.o FORM/b.o DEVRT -split-compile=2 -split-compile-extended=4 -emit-ptx",
			"LTO FORM/a.o rdc/b.o -split-compile=4",
			"LTO FORM/a.o rdc/b.o -split-compile-extended=4 -v",
		},
		archs: []string{"sm_80", "sm_100"},
	},
	{
		name:   "options of compilation",
		inputs: []string{"LTO FORM/a.o rdc/b.o DEVRT", "LTO FORM/a.o FORM/b.o DEVRT"},
		options: []string{"-maxrregcount=24", "-Ofc=min", "-Ofc=max", "-Ofc=0", "-Xptxas=-v", "-Xptxas=-O1,-warn-spills",
			"-Xnvvm=-opt=0", "-Xnvvm=-ftz=1 -emit-ptx",
			"-Xnvvm=-prec-sqrt=0", "-device-stack-protector=true", "-arch=compute_$N", "-arch=sm_120",
			"-cuda-api-version=13.0", "-verbose-tkinfo=true", "-force-rela",
			"-disable-smem-reservation=true", "-enable-extended-smem=true"},
		archs: []string{"sm_80", "sm_100"},
	},
	{
		name: "options that the objects carry",
		inputs: []string{
			"LTO opt/ftz1.fatbin opt/plain.fatbin", "LTO opt/ftz1.fatbin opt/ftz0.fatbin",
			"LTO opt/div1.fatbin opt/div0.fatbin", "LTO opt/div1.fatbin opt/plain.fatbin",
			"LTO opt/sqrt1.fatbin opt/sqrt0.fatbin", "LTO opt/fma1.fatbin opt/fma0.fatbin",
			"LTO opt/reg32.fatbin opt/reg40.fatbin", "LTO opt/reg32.fatbin opt/plain.fatbin",
			"LTO opt/reg32.fatbin opt/reg32b.fatbin", "LTO opt/line.fatbin opt/plain.fatbin",
			"LTO opt/line.fatbin opt/lineb.fatbin", "LTO opt/inline.fatbin opt/plain.fatbin",
			"LTO opt/split2.fatbin opt/split3.fatbin", "LTO opt/split2.fatbin opt/plain.fatbin",
			"LTO opt/odd.fatbin opt/plain.fatbin", "LTO opt/all.fatbin opt/none.fatbin",
			"LTO opt/ftz1.fatbin ltoir/hostref.ltoir", "LTO FORM-maxreg/w1.o FORM/w2.o DEVRT",
			"LTO FORM-lineinfo/w1.o FORM/w2.o DEVRT", "LTO FORM-fastmath/w1.o FORM/w2.o DEVRT",
			"LTO FORM-maxreg/w1.o rdc/w2.o DEVRT", "LTO FORM-fastmath/w1.o rdc/w2.o DEVRT",
		},
		options: []string{"-maxrregcount=48 -disable-infos -w", "-emit-ptx -Xnvvm=-opt=3", "-split-compile=4 -Werror"},
		archs:   []string{"sm_90"},
	},
}
