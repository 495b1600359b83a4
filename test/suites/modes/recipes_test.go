//go:build realtools

package modes

// recipes say how the files are made that the corpus lacks: a shell script that
// writes $OUT. {src/FILE} is a source of the corpus and {KIND/FILE} a file by
// its name in command lines.
var recipes = map[string]string{
	// Native code.
	"rdc/hostref.o":  dc("hostref", everySM),
	"rdc/cdp.o":      dc("cdp", everySM),
	"rdc/dup.o":      dc("dup", everySM),
	"rdc/launch.o":   dc("launch", everySM),
	"rdc/names.o":    dc("names", everySM),
	"rdc/r1_calls.o": dc("r1_calls", everySM),
	"rdc/r2_def.o":   dc("r2_def", everySM),
	"rdc/bigsm.o":    dc("bigsm", everySM),
	"rdc/bigsm2.o":   dc("bigsm2", everySM),
	"rdc/w1.o":       dc("w1", everySM),
	"rdc/w2.o":       dc("w2", everySM),
	// A kernel that nobody launches calls a function that nobody defines.
	"dead/native.o": "echo '" + deadKernel + "' >dead.cu; nvcc -dc " + everySM + " dead.cu -o $OUT",
	// Host code that launches it, without device code for any target.
	"dead/launcher.o": "echo '" + deadLauncher +
		"' >launcher.cu; nvcc -dc -gencode arch=compute_75,code=sm_75 launcher.cu -o $OUT",
	"debug/b.o":      dc("b", everySM+" -G"),
	"debug/a.o":      dc("a", everySM+" -G"),
	"lines/a.o":      dc("a", everySM+" -lineinfo"),
	"lines/b.o":      dc("b", everySM+" -lineinfo"),
	"cubin/a.cubin":  "nvcc -cubin -rdc=true -arch=$ARCH {src/a.cu} -o $OUT",
	"cubin/b.cubin":  "nvcc -cubin -rdc=true -arch=$ARCH {src/b.cu} -o $OUT",
	"cubin/b.o":      "cp {cubin/b.cubin} $OUT",
	"cubin/b":        "cp {cubin/b.cubin} $OUT",
	"rdc/b.fatbin":   "nvcc -fatbin -rdc=true " + everySM + " {src/b.cu} -o $OUT",
	"linked/b.cubin": "nvcc -cubin -arch=$ARCH {src/b.cu} -o $OUT",
	"linked/b.o":     "nvcc -c -arch=$ARCH {src/b.cu} -o $OUT",
	"other/b.cubin":  "nvcc -cubin -rdc=true -arch=sm_75 {src/b.cu} -o $OUT",
	"other/b.o":      dc("b", "-gencode arch=compute_75,code=sm_75"),
	"again/b.cubin":  "nvlink -r -arch=$ARCH {rdc/b.o} -o $OUT",
	"again/b.o":      "cp {again/b.cubin} $OUT",
	"ptx/a.o":        dc("a", "-gencode arch=compute_75,code=compute_75"),
	"ptx/b.o":        dc("b", "-gencode arch=compute_75,code=compute_75"),
	"ptx/b.fatbin":   "nvcc -fatbin -rdc=true -gencode arch=compute_75,code=compute_75 {src/b.cu} -o $OUT",
	"ptx/b.ptx":      "nvcc -ptx -rdc=true -arch=compute_75 {src/b.cu} -o $OUT",
	"ptx/" + ofPTX:   "ptxas -arch=$ARCH -m64 -c {ptx/b.ptx} -o $OUT",

	// LTO-IR.
	"lto75/b.o":        dc("b", "-gencode arch=compute_75,code=lto_75"),
	"lto120/b.o":       dc("b", "-gencode arch=compute_120,code=lto_120"),
	"lto120/b.fatbin":  "nvcc -fatbin -rdc=true -gencode arch=compute_120,code=lto_120 {src/b.cu} -o $OUT",
	"both/a.o":         dc("a", everySM+" "+everyLTO),
	"both/b.o":         dc("b", everySM+" "+everyLTO),
	"irptx/b.o":        dc("b", "-gencode arch=compute_75,code=[lto_75,compute_75]"),
	"lto75sm/b.o":      dc("b", "-gencode arch=compute_75,code=lto_75 "+everySM),
	"ltoir/b.nvvm":     "cp {ltoir/b.ltoir} $OUT",
	"ltoir/b.xyz":      "cp {ltoir/b.ltoir} $OUT",
	"ltoir/renamed.o":  "cp {ltoir/b.ltoir} $OUT",
	"stored/renamed.o": "cp {stored/b.fatbin} $OUT",
	"empty/ir.o": "echo >" + emptySource + ".cu; nvcc -dc -no-compress -gencode arch=compute_75,code=lto_75 " +
		emptySource + ".cu -o $OUT",

	// Options that the compiler recorded.
	"opt/plain.fatbin":  recorded("", "b"),
	"opt/none.fatbin":   recorded("-opt-info", "b"),
	"opt/ftz1.fatbin":   recorded("-ftz=1", "a"),
	"opt/ftz0.fatbin":   recorded("-ftz=0", "b"),
	"opt/div1.fatbin":   recorded("-prec_div=1", "a"),
	"opt/div0.fatbin":   recorded("-prec_div=0", "b"),
	"opt/sqrt1.fatbin":  recorded("-prec_sqrt=1", "a"),
	"opt/sqrt0.fatbin":  recorded("-prec_sqrt=0", "b"),
	"opt/fma1.fatbin":   recorded("-fmad=1", "a"),
	"opt/fma0.fatbin":   recorded("-fmad=0", "b"),
	"opt/reg32.fatbin":  recorded("-maxreg 32", "a"),
	"opt/reg32b.fatbin": recorded("-maxreg 32", "b"),
	"opt/reg40.fatbin":  recorded("-maxreg 40", "b"),
	"opt/line.fatbin":   recorded("-generate-line-info", "a"),
	"opt/lineb.fatbin":  recorded("-generate-line-info", "b"),
	"opt/inline.fatbin": recorded("-inline-info", "a"),
	"opt/split2.fatbin": recorded("-split-compile 2", "a"),
	"opt/split3.fatbin": recorded("-split-compile 3", "b"),
	"opt/odd.fatbin":    recorded("-xx-ftz=1 -ftz=0 -maxreg=32 -prec_div=zz", "a"),
	"opt/all.fatbin": recorded(
		"-generate-line-info -inline-info -maxreg 32 -ftz=1 -prec_div=0 -prec_sqrt=0 -fmad=0 -split-compile 2", "a"),

	// Without references of the host.
	"nohr/hostref.o":     "objcopy -R '.nvHR*' {stored/hostref.o} $OUT",
	"nohr/b.o":           "objcopy -R '.nvHR*' {stored/b.o} $OUT",
	"nohr-rdc/hostref.o": "objcopy -R '.nvHR*' {rdc/hostref.o} $OUT",
	"nohr-rdc/b.o":       "objcopy -R '.nvHR*' {rdc/b.o} $OUT",

	// What spoils a large program.
	"stored-extra/undefined.o":  spoiling(undefinedCall, "-no-compress"),
	"default-extra/undefined.o": spoiling(undefinedCall, ""),
	"stored-extra/duplicate.o":  spoiling(secondDefinition, "-no-compress"),
	"default-extra/duplicate.o": spoiling(secondDefinition, ""),

	"stored-extra/dead.o":  spoiling(unlaunched, "-no-compress"),
	"default-extra/dead.o": spoiling(unlaunched, ""),
	// A variable that nobody defines.
	"stored-extra/variable.o":  spoiling(undefinedVariable, "-no-compress"),
	"default-extra/variable.o": spoiling(undefinedVariable, ""),

	// Archives.
	"ar/libnative.a":     "ar rcs $OUT {rdc/b.o} {rdc/r3_printf.o}",
	"ar/libmixed.a":      "ar rcs $OUT {stored/b.o} {rdc/r3_printf.o}",
	"ar/libir.a":         "ar rcs $OUT {stored/b.o} {stored/r3_printf.o}",
	"ar/libcubin.a":      "ar rcs $OUT {cubin/b.cubin}",
	"ar/libempty.a":      "ar rcs $OUT",
	"ar/libmagic.a":      `printf '!<arch>\n' >$OUT`,
	"ar/libptx.a":        "ar rcs $OUT {ptx/b.o}",
	"ar/libdup.a":        "ar rcs $OUT {rdc/b.o}",
	"ar/libold.a":        "ar rcs $OUT {other/b.o} {rdc/r3_printf.o}",
	"ar/mydevrt.a":       "cp $LIB/libcudadevrt.a $OUT",
	"ar/libhidden.a":     "ar rcs $OUT {stored/b.o}",
	"ar/libhidden.so":    "echo shared libraries hide archives of the same name from the search of nvlink >$OUT",
	"ar/libother.a":      "echo 'int x;' >x.c; aarch64-linux-gnu-gcc -c x.c; ar rcs $OUT x.o",
	"devrt/bcudadevrt.o": "cp {rdc/b.o} $OUT",

	// What is broken.
	"bad/empty.o":      ": >$OUT",
	"bad/empty.ltoir":  ": >$OUT",
	"bad/empty.cubin":  ": >$OUT",
	"bad/empty.fatbin": ": >$OUT",
	"bad/empty.a":      ": >$OUT",
	"bad/empty.ptx":    ": >$OUT",
	"bad/short.o":      "echo short >$OUT",
	"bad/short.xyz":    "echo short >$OUT",
	"bad/text.o":       text,
	"bad/text.txt":     text,
	"bad/text.cubin":   text,
	"bad/text.fatbin":  text,
	"bad/text.ltoir":   text,
	"bad/text.bc":      text,
	"bad/text.a":       text,
	"bad/text":         text,
	"bad/text.ptx":     text,
	"bad/host.cubin":   "cp {host/host.o} $OUT",
	"bad/cut.o":        "head -c 9000 {stored/b.o} >$OUT",
	"bad/cut.cubin":    "head -c 1500 {cubin/b.cubin} >$OUT",
	"bad/cut.ltoir":    "head -c 1200 {ltoir/b.ltoir} >$OUT",
	"bad/cut.fatbin":   "head -c 800 {rdc/b.fatbin} >$OUT",
	"bad/cut.a":        "head -c 9000 {ar/libir.a} >$OUT",
	"bad/garbage.a":    "cp {ar/libdup.a} $OUT; " + text[:len(text)-len(">$OUT")] + ">>$OUT",
	"bad/code.fatbin": `printf '.version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k() { mov.u32 ` +
		`%%r1, 1; ret; }\n' >k.ptx; fatbinary -64 --image3=kind=ptx,sm=75,file=k.ptx --create=$OUT --device-c`,
	"host/lib.so": "gcc -shared -x c /dev/null -o $OUT",
}

// emptySource is the name of a source without code; module IDs have it in them.
const emptySource = "nothing_in_it"

const (
	everySM = "-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode " +
		"arch=compute_100,code=sm_100"
	everyLTO = "-gencode arch=compute_80,code=lto_80 -gencode arch=compute_90,code=lto_90 -gencode " +
		"arch=compute_100,code=lto_100"
	text = "echo this file has more than the fifty-six bytes that nvlink wants a file to have >$OUT"
)

const (
	deadKernel = "extern __device__ int nowhere(int); __device__ int gvar; __device__ int bfun(int x) { " +
		"return x; } __global__ void dead(int *p) { *p = nowhere(3); } __global__ void alive(int *p) { *p = 1; } void " +
		"launch() { alive<<<1, 1>>>(0); }"
	deadLauncher  = "extern __global__ void dead(int *); __device__ int unused; void launch2() { dead<<<1, 1>>>(0); }"
	undefinedCall = "extern __device__ float nowhere_at(float); __global__ void lost(float *p) { p[0] = " +
		"nowhere_at(p[1]); } void launch() { lost<<<1, 1>>>(0); }"
	unlaunched = "__global__ void dead(int *p) { *p = 3; } __global__ void alive(int *p) { *p = 1; } void " +
		"launch() { alive<<<1, 1>>>(0); }"
	undefinedVariable = "extern __device__ int nowhere; __global__ void lost(int *p) { *p = nowhere; } void " +
		"launch() { lost<<<1, 1>>>(0); }"
	secondDefinition = "__device__ float m17_f1(float x, float, float, unsigned, int, const float *) { return x; }"
)

// spoiling compiles a source of one line.
func spoiling(source, option string) string {
	return "echo '" + source + "' >extra.cu; nvcc -dc " + option + " -gencode arch=compute_75,code=lto_75 extra.cu -o $OUT"
}

// dc compiles a source of the corpus to an object.
func dc(source, options string) string {
	return "nvcc -dc " + options + " {src/" + source + ".cu} -o $OUT"
}

// recorded is a fat binary of LTO-IR with the given options of the compiler.
func recorded(options, module string) string {
	return `fatbinary -64 $COMPRESS --cicc-cmdline="` + options + `" --image3=kind=nvvm,sm=75,file={ltoir/` + module +
		`.ltoir} --create=$OUT --device-c`
}
