//go:build realtools

package modes

const messageGroup = "messages"

// messages are the texts of nvlink, and a command line that provokes each. RAW
// lines are complete as they are.
//
// What nvlink says when libnvvm fails in ways in which the real one cannot be
// made to fail, test/suites/spy provokes: functions that are missing or answer with an
// error, PTX that is empty or wrong, crashes and hangs.
var messages = []struct {
	text, line string
	arch       string // the target, or empty for the first one
	only       string // the releases, or empty for all
}{
	// libnvvm and ptxas.
	{text: "-nvvmpath should be specified with -lto", line: "-dlto FORM/a.o FORM/b.o DEVRT"},
	{text: "elfLink linker library load error", line: "-dlto -nvvmpath=nowhere FORM/a.o FORM/b.o DEVRT"},
	{text: "libnvvm : error: -bogus is an unsupported optionNVVM_ERROR_INVALID_OPTION",
		line: "LTO FORM/a.o FORM/b.o -Xnvvm=-bogus DEVRT"},
	{text: "elfLink JIT compile failed", line: "LTO FORM/a.o FORM/b.o -Xnvvm=-opt=3,-opt=2 DEVRT"},
	{text: "symbol multiply defined!", line: "LTO FORM/a.o FORM/b.o FORM/dup.o DEVRT"},
	{text: "parse Malformed block", line: "LTO bad/cut.ltoir"},
	{text: "Unresolved extern function '_Z4bfuni'", line: "LTO FORM/a.o"},
	{text: "Undefined reference to '_Z4bfuni' in 'lto.cubin'", line: "LTO FORM/a.o DEVRT"},
	{text: "Unresolved extern function '__cudaCDP2", line: "LTO FORM/cdp.o DEVRT -force-whole-lto"},
	{text: "ptxas fatal   : Unknown option 'bogus'", line: "LTO FORM/a.o FORM/b.o -Xptxas=-bogus DEVRT"},
	{text: "uses too much shared data", line: "LTO FORM/bigsm.o FORM/bigsm2.o DEVRT"},
	{text: ".debug_abbrev section not found", line: "LTO FORM/a.o FORM/b.o -g DEVRT"},

	{text: "ptxas application ptx input, line 4; error   : Unknown symbol '%r1'", line: "rdc/a.o bad/code.fatbin"},
	{text: "ptxas fatal   : Ptx assembly aborted due to errors", line: "LTO FORM/a.o bad/code.fatbin rdc/b.o"},
	{text: "Unresolved extern variable 'nowhere' in whole program compilation, ignoring extern qualifier",
		line: "LTO FORM-extra/variable.o DEVRT"},
	{text: "Conflicting options '--device-debug' and '--Ofast-compile=<min,mid,max>' specified",
		line: "LTO FORM/a.o FORM/b.o -Ofc=mid -g DEVRT"},
	{text: "incompatible redefinition for option 'gpu-name'",
		line: "LTO FORM/a.o FORM/b.o -Xptxas=--gpu-name=sm_86 DEVRT"},
	{text: "NVVM_ERROR_COMPILATION", line: "LTO FORM/a.o FORM/b.o FORM/dup.o DEVRT -w -disable-infos"},

	// Options.
	{text: "Cicc option values for '-ftz' do not match", line: "LTO FORM/w1.o FORM-fastmath/w2.o DEVRT"},
	{text: "Cicc option values for '-prec-div' do not match", line: "LTO opt/div1.fatbin opt/div0.fatbin"},
	{text: "Cicc option values for '-prec-sqrt' do not match", line: "LTO opt/sqrt1.fatbin opt/sqrt0.fatbin"},
	{text: "Cicc option values for '-fmad' do not match", line: "LTO opt/fma1.fatbin opt/fma0.fatbin"},
	{text: "Cicc option values for '-split-compile' do not match", line: "LTO opt/split2.fatbin opt/split3.fatbin"},
	{text: "Cicc option values for '-maxrregcount' do not match", line: "LTO opt/reg32.fatbin opt/reg40.fatbin"},
	{text: "will build everything with '-maxrregcount=32'", line: "LTO FORM/w1.o FORM-maxreg/w2.o DEVRT"},
	{text: "will build everything with '-lineinfo'", line: "LTO FORM/w1.o FORM-lineinfo/w2.o DEVRT"},
	{text: "using '-split-compile-extended'",
		line: "LTO FORM/a.o FORM/b.o -split-compile=2 -split-compile-extended=2 DEVRT"},
	{text: "using '-split-compile-extended'", line: "LTO opt/split2.fatbin opt/plain.fatbin -split-compile-extended=4"},
	{text: "using '-split-compile'", line: "LTO FORM/a.o FORM/b.o -emit-ptx -split-compile-extended=2 DEVRT"},
	{text: "ignore -use-host-info because -kernels-used or -variables-used is specified",
		line: "rdc/a.o rdc/b.o -use-host-info -kernels-used=ka"},
	{text: "Conflicting options '-use-host-info' and '-ignore-host-info'",
		line: "rdc/a.o rdc/b.o -use-host-info -ignore-host-info"},
	{text: "Conflicting options '-force-partial-lto' and '-force-whole-lto'",
		line: "LTO FORM/a.o FORM/b.o -force-partial-lto -force-whole-lto"},
	{text: "Conflicting options '-force-partial-lto' and '-force-whole-lto'",
		line: "LTO FORM/a.o FORM/b.o -r -force-whole-lto"},
	{text: "Conflicting options '-force-whole-lto' and 'no -dlto'", line: "rdc/a.o rdc/b.o -force-whole-lto"},
	{text: "Conflicting options '-force-partial-lto' and 'no -dlto'", line: "rdc/a.o rdc/b.o -force-partial-lto"},
	{text: "Conflicting options '-emit-ptx' and 'no -dlto'", line: "rdc/a.o rdc/b.o -emit-ptx"},
	{text: "Conflicting options '-suppress-debug-info' and 'no -g'", line: "rdc/a.o rdc/b.o -suppress-debug-info"},
	{text: "Link target of 'lto_80' is virtual target", line: "LTO FORM/a.o FORM/b.o -arch=lto_80"},
	{text: "incompatible redefinition for option 'arch'", line: "RAW -arch=sm_80 -arch=sm_90 rdc/a.o rdc/b.o -o linked"},
	{text: "Value 'sm_99' is not defined for option 'arch'", line: "RAW -arch=sm_99 rdc/a.o -o linked"},
	{text: "Unknown arch name '(null)'", line: "RAW rdc/a.o -o linked"},
	{text: "No input files specified", line: "RAW -arch=sm_80 -o linked"},
	{text: "Must specify output file with -o option", line: "RAW -arch=sm_80 rdc/a.o"},
	{text: "Invalid argument for option '--Ofast-compile'", line: "LTO FORM/a.o FORM/b.o -Ofc=fast DEVRT"},
	{text: "'-o': expected true or false", line: "RAW -arch=sm_80 rdc/a.o -device-stack-protector -o linked"},
	{text: "--cuda-api-version value cannot be parsed", line: "LTO FORM/a.o FORM/b.o -cuda-api-version=abc DEVRT"},
	{text: "--cuda-api-version major number must be == toolkit version",
		line: "LTO FORM/a.o FORM/b.o -cuda-api-version=12.0 DEVRT"},
	{text: "Unknown option 'frobnicate'", line: "rdc/a.o -frobnicate"},
	{text: "Unknown option '-frobnicate'", line: "rdc/a.o --frobnicate"},
	{text: "Unknown option 'vkeep'", line: "LTO FORM/a.o FORM/b.o DEVRT -vkeep"},
	{text: "Input files are not allowed with -ghls option", line: "rdc/a.o -ghls=lcs-aug"},
	{text: "Stray '' character", line: `LTO FORM/a.o FORM/b.o -Xnvvm=-opt=3\, DEVRT`},

	// Inputs.
	{text: "cubin not an elf?", line: "bad/text.cubin"},
	{text: "cubin not a device elf?", line: "bad/host.cubin"},
	{text: "fatbin wrong format?", line: "bad/text.fatbin"},
	{text: "should only see nvvm files when -lto", line: "ltoir/b.ltoir"},
	{text: "should only see nvvm files when -lto", line: "ltoir/b.nvvm"},
	{text: "should never see bc files", line: "LTO bad/text.bc"},
	{text: "LTO objects found, use -dlto", line: "FORM/a.o FORM/b.o"},
	{text: "LTO objects found, use -dlto", line: "FORM/b.fatbin"},
	{text: "Could not open input file 'nosuch.o'", line: "rdc/a.o nosuch.o"},
	{text: "Could not open input file 'short.o'", line: "rdc/a.o bad/short.o"},
	{text: "Could not find fatbin in 'cut.o'", line: "bad/cut.o"},
	{text: "elfLink internal error", line: "LTO bad/cut.o"},
	{text: "elfLink nvvm error", line: "LTO bad/text.ltoir"},
	{text: "archive member size exceeds library bounds", line: "rdc/b.o bad/cut.a", only: "13.4"}, // 13.0 may crash
	{text: "unexpected archive format", line: "rdc/b.o bad/garbage.a"},
	{text: "Skipping incompatible './libother.a' when searching for -lother", line: "rdc/b.o +ar/libother.a -L. -lother"},
	{text: "SM Arch ('sm_80') not found in 'b.o'", line: "LTO FORM/a.o lto120/b.o DEVRT"},
	{text: "SM Arch ('sm_80') not found in 'b.o' (target: sm_80)", line: "other/b.o -report-arch"},
	{text: "nvlink error   : SM Arch ('sm_80') not found in 'b.o'", line: "rdc/a.o other/b.o -Werror"},
	{text: "SM Arch ('sm_80') not found in 'b.fatbin'", line: "LTO FORM/a.o lto120/b.fatbin rdc/b.o"},
	{text: "elfLink internal error", line: "other/b.o rdc/a.o -Werror"},
	{text: "elfLink fatbinary error", line: "other/b.o rdc/b.fatbin -Werror"},
	{text: "arch does not match target 'sm_80'", line: "other/b.cubin"},
	{text: "cannot read nvcompat", line: "rdc/a.o other/b.cubin", arch: "sm_100", only: "13.1 13.2 13.3 13.4"},
	{text: "Output is limited to run on SM Arch '100' only", line: "other/b.cubin", arch: "sm_100"},
	{text: "Ignoring -dlto option because no LTO objects found", line: "LTO rdc/a.o rdc/b.o"},
	{text: "nvlink error   : Ignoring -dlto option because no LTO objects found", line: "LTO rdc/a.o rdc/b.o -Werror"},
	{text: "merge_elf failed", line: "LTO rdc/a.o rdc/b.o -Werror"},
	{text: "requested LTO but 'b.o' not built for LTO so doing partial LTO",
		line: "LTO FORM/a.o rdc/b.o -disable-infos -w -Werror"},
	{text: "requested LTO but 'mydevrt.a:cuda_device_runtime.o' not built for LTO",
		line: "LTO FORM/a.o FORM/b.o ar/mydevrt.a"},
	{text: "unexpected object after cudadevrt", line: "LTO FORM/a.o $LIB/libcudadevrt.a FORM/b.o -r"},
	{text: "expected libcudadevrt object", line: "LTO FORM/a.o FORM/b.o"},

	// The merge.
	{text: "Undefined reference to '_Z4bfuni' in 'a.o'", line: "rdc/a.o"},
	{text: "Multiple definition of '_Z4bfuni' in 'dup.o', first defined in 'b.o'", line: "rdc/a.o rdc/b.o rdc/dup.o"},
	{text: "Multiple definition of '_Z4bfuni' in 'libdup.a:b.o', first defined in 'b.o'", line: "rdc/b.o ar/libdup.a"},
	{text: "Multiple definition of '_Z4bfuni'", line: "LTO FORM/b.o rdc/dup.o"},
	{text: "Multiple definition of '_Z4bfuni'", line: "LTO rdc/dup.o FORM/b.o"},
	{text: "nvlink error   : Entry function '_Z4kbigPi' uses too much shared data", line: "rdc/bigsm.o rdc/bigsm2.o"},
	{text: "Stack size for entry function", line: "rdc/r1_calls.o rdc/r2_def.o"},
	{text: "Function properties for '_Z2kaPi'", line: "rdc/a.o rdc/b.o -v"},
	{text: "callgraph for sm_80", line: "rdc/a.o rdc/b.o -dump-callgraph"},
	{text: "newer than toolkit (134 vs 130)", line: "13.4:rdc/b.o", only: "13.0"},
	{text: "Object 'a.o' has cuda-api-version of 134 which is greater than version on link line (130)",
		line: "rdc/a.o rdc/b.o -cuda-api-version=13.0", only: "13.4"},
	{text: "ptxas fatal   : Invalid value '13.9' for option '--cuda-api-version'",
		line: "LTO FORM/a.o FORM/b.o -cuda-api-version=13.9"},
	{text: "elfLink nvvm error", line: "LTO 13.4:FORM/b.o", only: "13.0"},
}
