//go:build realtools

// Package clang links what clang and rustc compile, with the real compilers and libLLVM.
// The checks that the engine has to pass, by number, and where they are:
//
//	 1  full LTO of the example             Test01FullLTO
//	 2  ThinLTO in one process, apart, DTLTO Test02ThinLTO; TestDistribute in test/suites/reapi
//	 3  locals, shared memory, aliases      Test03LocalsSharedAliases
//	 4  names that PTX does not have        Test04Names; strings and comments: TestRepairNames in internal/engine
//	 5  what is removed, and that it's said Test05Removal; patterns: TestKeep in internal/plan
//	 6  damaged inputs, a killed worker     Test06Damaged, TestWorkerKilled
//	 7  versions and architectures          Test07Versions
//	 8  floating point                      Test08FloatingPoint
//	 9  same bytes, however many threads    Test09Deterministic
//	10  objects, archives, rustc's bitcode  Test10Objects, Test10Rust
//	11  times of each step                  go run ./test/bench/clang, and docs/clang-measured.md
package clang

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/internal/object/objecttest"
	"github.com/warpld/warpld/test/kit"
)

const (
	clang22 = "clang++-22"
	clang19 = "clang++-19"
	arch    = "sm_90"
)

// toolkit is the one that clang compiles against and that assembles.
func toolkit(tb testing.TB) kit.Toolkit {
	tb.Helper()
	found, err := toolkits()
	if err != nil {
		tb.Fatal(err)
	}
	return found[0]
}

var toolkits = sync.OnceValues(kit.FindToolkits)

// compiled are the results of compile, and work is where they are.
var (
	compiled = map[string]string{}
	work     string
)

func TestMain(m *testing.M) {
	var err error
	if work, err = os.MkdirTemp("", "warpld-clang-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(work)
	os.Exit(code)
}

// compile compiles a source of testdata, once, and gives the path of the result.
func compile(tb testing.TB, compiler, source, output string, flags ...string) string {
	tb.Helper()
	key := fmt.Sprint(compiler, source, output, flags)
	if path := compiled[key]; path != "" {
		return path
	}
	dir, err := os.MkdirTemp(work, "")
	if err != nil {
		tb.Fatal(err)
	}
	if !filepath.IsAbs(source) {
		source = filepath.Join("testdata", source)
	}
	path, err := toolkit(tb).Clang(compiler, dir, source, output, flags...)
	if err != nil {
		tb.Fatal(err)
	}
	compiled[key] = path
	return path
}

func run(tb testing.TB, program string, args ...string) string {
	tb.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		tb.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
	return string(out)
}

// bitcode are the flags for bitcode by itself.
func bitcode(flags ...string) []string {
	return append([]string{"--cuda-device-only", "-foffload-lto", "-fwhole-program-vtables"}, flags...)
}

// sample compiles the three modules of the main example.
func sample(tb testing.TB, extension string, flags ...string) []string {
	var files []string
	for _, name := range []string{"a", "b", "c"} {
		files = append(files, compile(tb, clang22, name+".cu", name+extension, flags...))
	}
	return files
}

// link links and gives what the linker did.
func link(tb testing.TB, inputs []string, args ...string) kit.Result {
	tb.Helper()
	job := kit.NewJob(tb, inputs, append([]string{"-dlto", "-arch=" + arch, "-o", "out"}, args...)...)
	for _, input := range inputs {
		job.Args = append(job.Args, filepath.Base(input))
	}
	result, err := kit.Warpld(tb, "--warpld-verbose --warpld-time-limit=100 --warpld-cuda="+toolkit(tb).Root).Run(job)
	if err != nil {
		tb.Fatal(err)
	}
	return result
}

// mustLink gives the output.
func mustLink(tb testing.TB, inputs []string, args ...string) []byte {
	tb.Helper()
	r := link(tb, inputs, args...)
	if r.Exit != 0 {
		tb.Fatalf("exit %d\n%s", r.Exit, r.Stderr)
	}
	return r.Files["out"]
}

// refused holds the message of a link that must fail against what it must say.
func refused(tb testing.TB, want string, inputs []string, args ...string) {
	tb.Helper()
	r := link(tb, inputs, args...)
	if r.Exit != 1 || !strings.Contains(r.Stderr, want) || len(r.Files) != 0 {
		tb.Errorf("exit %d, %d files, want %q\n%s", r.Exit, len(r.Files), want, r.Stderr)
	}
}

// traces are the lines about what was removed.
func traces(stderr string) (lines []string) {
	for line := range strings.Lines(stderr) {
		if at := strings.Index(line, "no reference to "); at >= 0 {
			lines = append(lines, strings.TrimSpace(line[at+len("no reference to "):]))
		}
	}
	return lines
}

// instructions counts those of each kernel, but for NOPs.
func instructions(tb testing.TB, cubin []byte) map[string]int {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "x.cubin")
	if err := os.WriteFile(path, cubin, 0o666); err != nil {
		tb.Fatal(err)
	}
	counts, err := toolkit(tb).Instructions(path)
	if err != nil {
		tb.Fatal(err)
	}
	return counts
}

// symbols gives the names of a cubin's symbols and the sizes of its sections.
func symbols(tb testing.TB, cubin []byte) (names map[string]bool, sections map[string]uint64) {
	tb.Helper()
	f, err := elf64.Open(bytes.NewReader(cubin), int64(len(cubin)))
	if err != nil {
		tb.Fatal(err)
	}
	names, sections = map[string]bool{}, map[string]uint64{}
	for i := range f.Sections {
		sections[f.Sections[i].Name] = f.Sections[i].Size
	}
	table, err := f.Symbols(f.Section(".symtab"), 1<<28)
	if err != nil {
		tb.Fatal(err)
	}
	for _, y := range table.All() {
		names[y.Name] = true
	}
	return names, sections
}

// Check 1: full LTO of the example.
func Test01FullLTO(t *testing.T) {
	out := mustLink(t, sample(t, ".bc", bitcode()...), "-kernels-used=kern_live", "-variables-used=host_only_global")
	counts := instructions(t, out)
	if len(counts) != 2 || counts["kern_live"] == 0 || counts["kern_live"] > 42 || counts["kern_live2"] == 0 {
		t.Errorf("instructions: %v", counts)
	}
	names, _ := symbols(t, out)
	if names["dead_global"] || names["dead_const"] || !names["host_only_global"] {
		t.Errorf("symbols: %v", names)
	}
	t.Logf("instructions: %v", counts)
}

// thin are the flags for bitcode that goes with ThinLTO.
func thin(flags ...string) []string {
	return append(kit.ThinFlags[:len(kit.ThinFlags):len(kit.ThinFlags)], flags...)
}

// Check 2: ThinLTO as separate actions makes the same PTX as in one process, but for the
// names. LLVM's own distribution (DTLTO) is in test/suites/reapi.
func Test02ThinLTO(t *testing.T) {
	files := sample(t, ".bc", thin()...)
	keep := t.TempDir()
	out := mustLink(t, files, "--warpld-lto=thin", "-kernels-used=kern_live", "-variables-used=host_only_global",
		"--warpld-keep", "--warpld-temp-dir="+keep)
	counts := instructions(t, out)
	if counts["kern_live"] == 0 || counts["kern_live"] > 50 || counts["kern_live2"] == 0 || counts["kern_dead"] != 0 {
		t.Errorf("instructions: %v", counts)
	}
	names, _ := symbols(t, out)
	if names["dead_global"] || names["dead_const"] || !names["host_only_global"] {
		t.Errorf("symbols: %v", names)
	}
	work, err := filepath.Glob(filepath.Join(keep, "*", "*-thin-link"))
	if err != nil || len(work) != 1 {
		t.Fatalf("%v, %v", work, err)
	}
	command := exec.Command("llvm-lto2-22", "run", "-filetype=asm", "-mcpu="+arch, "-mattr=+ptx88", "-O3",
		"-whole-program-visibility", "-o", "whole", "@resolutions")
	command.Dir = work[0]
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	apart := texts(t, filepath.Join(filepath.Dir(work[0]), "*-compile-thin.out", "lto.ptx"))
	if diff := cmp.Diff(texts(t, filepath.Join(work[0], "whole.[0-9]")), apart); diff != "" {
		t.Errorf("PTX (-in one process +as actions):\n%s", diff)
	}
}

// texts reads PTX files and gives what they have but for comments, sorted.
func texts(tb testing.TB, pattern string) []string {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		tb.Fatalf("%s: %v", pattern, err)
	}
	var list []string
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		var code strings.Builder
		for line := range strings.Lines(string(data)) {
			line, _, _ = strings.Cut(line, "//")
			if line = strings.TrimSpace(line); line != "" {
				fmt.Fprintln(&code, line)
			}
		}
		list = append(list, code.String())
	}
	slices.Sort(list)
	return list
}

// Check 3: local symbols with the same names, shared memory, aliases and
// weak functions. 1,024 bytes of shared memory are the system's.
func Test03LocalsSharedAliases(t *testing.T) {
	pair := func(name string, flags []string) []string {
		return []string{compile(t, clang22, name+"_p.cu", "p.bc", flags...),
			compile(t, clang22, name+"_q.cu", "q.bc", flags...)}
	}
	for lto, flags := range map[string][]string{"full": bitcode(), "thin": thin()} {
		counts := instructions(t, mustLink(t, pair("local", flags), "--warpld-lto="+lto))
		if counts["kp"] == 0 || counts["kq"] == 0 || counts["kind"] == 0 {
			t.Errorf("%s: %v", lto, counts)
		}
		_, sections := symbols(t, mustLink(t, pair("shared", flags), "--warpld-lto="+lto))
		for _, kernel := range []string{"kp", "kp2", "kq"} {
			if size := sections[".nv.shared."+kernel]; size != 1024+128 {
				t.Errorf("%s: %s has %d bytes of shared memory", lto, kernel, size)
			}
		}
	}
	relocatable := mustLink(t, pair("shared", bitcode()), "-r")
	if names, _ := symbols(t, relocatable); !names["red"] || !names["wk"] {
		t.Errorf("a result that can be linked again lacks functions: %v", names)
	}
}

// Check 4: names that PTX does not have. Two modules have local functions of one name,
// which both let others have.
func Test04Names(t *testing.T) {
	flags := map[string][]string{"full": bitcode(), "thin": thin(), "thin, prepared": thin("-nogpulib")}
	for lto, flags := range flags {
		lto, _, _ = strings.Cut(lto, ",")
		names, _ := symbols(t, mustLink(t, sample(t, ".bc", flags...), "--warpld-lto="+lto))
		for name := range names {
			if strings.Contains(name, ".llvm.") {
				t.Errorf("%s: %s", lto, name)
			}
		}
	}
	dotted := compile(t, clang22, "dotted.cu", "dotted.bc", bitcode()...)
	text := string(mustLink(t, []string{dotted}, "-emit-ptx", "-force-partial-lto"))
	if strings.Contains(text, "with.dots") || !strings.Contains(text, "with_$_dots") {
		t.Errorf("names with dots:\n%s", text)
	}
}

// Check 5: what is removed, and that it is said.
func Test05Removal(t *testing.T) {
	files := sample(t, ".bc", bitcode()...)
	everything := []string{"kern_dead", "kern_dead2", "kern_live", "kern_live2"}
	kernels := func(r kit.Result) []string {
		if r.Exit != 0 {
			t.Fatalf("exit %d\n%s", r.Exit, r.Stderr)
		}
		var names []string
		counts := instructions(t, r.Files["out"])
		for _, name := range everything {
			if counts[name] > 0 {
				names = append(names, name)
			}
		}
		return names
	}
	for _, test := range []struct {
		args           []string
		kernels, trace []string
	}{
		{nil, everything, nil},
		{[]string{"-kernels-used=kern_live"}, everything[2:],
			[]string{"kernel kern_dead", "kernel kern_dead2", "variable dead_const", "variable dead_global",
				"variable host_only_global"}},
		{[]string{"-kernels-used=n_dead2,n_live2", "-variables-used=only"}, []string{"kern_dead2", "kern_live2"},
			[]string{"kernel kern_dead", "kernel kern_live", "variable coef", "variable counter"}},
	} {
		r := link(t, files, test.args...)
		if diff := cmp.Diff(test.kernels, kernels(r)); diff != "" {
			t.Errorf("%q: kernels\n%s", test.args, diff)
		}
		if diff := cmp.Diff(test.trace, traces(r.Stderr)); diff != "" {
			t.Errorf("%q: traces\n%s", test.args, diff)
		}
		if names, _ := symbols(t, r.Files["out"]); test.args == nil &&
			!(names["dead_global"] && names["dead_const"] && names["host_only_global"]) {
			t.Errorf("a variable is missing though nothing is known of the host: %v", names)
		}
	}
}

// Check 7: versions and architectures.
func Test07Versions(t *testing.T) {
	future := filepath.Join(t.TempDir(), "future.bc")
	if err := os.WriteFile(future, objecttest.Bitcode(objecttest.BitcodeFile{Producer: "LLVM99.0.1"}), 0o666); err != nil {
		t.Fatal(err)
	}
	refused(t, "the bitcode in 'future.bc' was made by 'LLVM99.0.1'", []string{future})
	recent := sample(t, ".bc", bitcode()...)
	refused(t, "the bitcode in 'a.bc' was made by 'LLVM22.", recent, "--warpld-llvm=19")
	old := compile(t, clang19, "b.cu", "b.bc", "--cuda-device-only", "-emit-llvm")
	if counts := instructions(t, mustLink(t, []string{recent[0], old, recent[2]}, "-kernels-used=kern_live")); len(
		counts) != 2 {
		t.Errorf("with bitcode of LLVM 19: %v", counts)
	}
	if counts := instructions(t, mustLink(t, []string{old}, "--warpld-llvm=19", "-force-partial-lto",
		"-r")); counts["kern_dead2"] == 0 {
		t.Errorf("LLVM 19 on its own bitcode: %v", counts)
	}
	special := compile(t, clang22, "special.cu", "special.bc", append(bitcode(), "--cuda-gpu-arch=sm_100a")...)
	refused(t, "the bitcode in 'special.bc' is for 'sm_100a' and cannot be linked for 'sm_90'", append(recent, special))
	object := compile(t, clang22, "special.cu", "special.o", "-foffload-lto", "--cuda-gpu-arch=sm_100a")
	refused(t, "Input file 'special.o' arch does not match target 'sm_90'", append(recent, object))
}

var arithmetic = regexp.MustCompile(`\b(sqrt|div|fma|mul)\.[a-z.]*f32`)

// Check 8: floating point, as it is by itself and as the link wants it.
func Test08FloatingPoint(t *testing.T) {
	plain := compile(t, clang22, "fp.cu", "fp.bc", bitcode("-nogpulib")...)
	flushing := compile(t, clang22, "fp.cu", "fp.bc", bitcode("-nogpulib", "-fcuda-flush-denormals-to-zero")...)
	for _, test := range []struct{ file, option, want string }{
		{plain, "", "sqrt.rn.f32 sqrt.rn.f32 div.rn.f32 fma.rn.f32"},
		{plain, "-ftz=1", "sqrt.rn.ftz.f32 sqrt.rn.ftz.f32 div.rn.ftz.f32 fma.rn.ftz.f32"},
		{plain, "-prec-sqrt=0", "sqrt.approx.f32 sqrt.approx.f32 div.rn.f32 fma.rn.f32"},
		{plain, "-prec-div=0", "sqrt.rn.f32 sqrt.rn.f32 div.full.f32 fma.rn.f32"},
		{plain, "-fma=0", "sqrt.rn.f32 sqrt.rn.f32 div.rn.f32 mul.f32"},
		{flushing, "", "sqrt.rn.ftz.f32 sqrt.rn.ftz.f32 div.rn.ftz.f32 fma.rn.ftz.f32"},
		{flushing, "-ftz=0", "sqrt.rn.f32 sqrt.rn.f32 div.rn.f32 fma.rn.f32"},
	} {
		args := []string{"-emit-ptx"}
		if test.option != "" {
			args = append(args, "-Xnvvm="+test.option)
		}
		got := strings.Join(arithmetic.FindAllString(string(mustLink(t, []string{test.file}, args...)), -1), " ")
		if sortedWords(got) != sortedWords(test.want) {
			t.Errorf("%q: %s, want %s", test.option, got, test.want)
		}
	}
	other := compile(t, clang22, "calls.cu", "calls.bc", bitcode("-fcuda-flush-denormals-to-zero")...)
	refused(t, "Cicc option values for '-ftz' do not match", []string{plain, other})
}

// Check 9: the same inputs give the same bytes, however many tools run at once.
func Test09Deterministic(t *testing.T) {
	for lto, flags := range map[string][]string{"full": bitcode(), "thin": thin()} {
		files := sample(t, ".bc", flags...)
		first := mustLink(t, files, "--warpld-lto="+lto)
		for _, jobs := range []string{"1", "2", "8"} {
			if !bytes.Equal(first, mustLink(t, files, "--warpld-lto="+lto, "--warpld-jobs="+jobs)) {
				t.Errorf("%s LTO with %s jobs gives other bytes", lto, jobs)
			}
		}
	}
}

// Check 10: clang's objects, archives of them, bitcode that is called an object, and
// what the host registers in them.
func Test10Objects(t *testing.T) {
	objects := sample(t, ".o", "-foffload-lto", "-fwhole-program-vtables")
	want := instructions(t, mustLink(t, objects))
	if len(want) != 4 {
		t.Errorf("the host registers all kernels, but there are %v", want)
	}
	archive := filepath.Join(t.TempDir(), "lib.a")
	run(t, "ar", append([]string{"rc", archive}, objects...)...)
	if diff := cmp.Diff(want, instructions(t, mustLink(t, []string{archive}))); diff != "" {
		t.Errorf("from an archive:\n%s", diff)
	}
	joined := filepath.Join(t.TempDir(), "joined.o")
	run(t, "ld", append([]string{"-r", "-o", joined}, objects...)...)
	if diff := cmp.Diff(want, instructions(t, mustLink(t, []string{joined}))); diff != "" {
		t.Errorf("after ld -r:\n%s", diff)
	}
	bare := sample(t, ".o", bitcode()...)
	r := link(t, []string{objects[0], bare[1], objects[2]})
	if r.Exit != 0 || !strings.Contains(strings.Join(traces(r.Stderr), ","), "kernel kern_dead2") ||
		!strings.Contains(r.Stderr, "kernels of 'b.o' are removed") {
		t.Errorf("no host code names the kernels of b.o: exit %d\n%s", r.Exit, r.Stderr)
	}
	split := sample(t, ".bc", "--cuda-device-only", "-foffload-lto=thin", "-fwhole-program-vtables")
	if diff := cmp.Diff(want, instructions(t, mustLink(t, split))); diff != "" {
		t.Errorf("modules that clang has split:\n%s", diff)
	}
}

func sortedWords(s string) string {
	words := strings.Fields(s)
	counts := map[string]int{}
	for _, w := range words {
		counts[w]++
	}
	return fmt.Sprint(counts) // maps print in order
}

// TestThinCache: after a change in one function only the modules that have it, or import
// it, are compiled again.
func TestThinCache(t *testing.T) {
	const modules = 8
	dir := t.TempDir()
	cache := "WARPLD_CACHE_DIR=" + t.TempDir()
	var files []string
	for i := range modules {
		path := filepath.Join(dir, fmt.Sprintf("m%d.cu", i))
		if err := os.WriteFile(path, []byte(chain(i, modules, 1)), 0o666); err != nil {
			t.Fatal(err)
		}
		files = append(files, compile(t, clang22, path, fmt.Sprintf("m%d.bc", i), thin()...))
	}
	compiled := func(files []string) int {
		job := kit.NewJob(t, files, append([]string{"-dlto", "-arch=" + arch, "-o", "out"}, baseNames(files)...)...)
		linker := kit.Warpld(t, "--warpld-verbose --warpld-lto=thin --warpld-cuda="+toolkit(t).Root)
		linker.Env = []string{strings.Replace(linker.Env[0], "--warpld-cache=off", "", 1), cache}
		r, err := linker.Run(job)
		if err != nil || r.Exit != 0 {
			t.Fatalf("exit %d, %v\n%s", r.Exit, err, r.Stderr)
		}
		return strings.Count(r.Stderr, "compile-thin: /") - strings.Count(r.Stderr, "compile-thin: from the cache")
	}
	first, again := compiled(files), compiled(files)
	if err := os.WriteFile(filepath.Join(dir, "changed.cu"), []byte(chain(3, modules, 2)), 0o666); err != nil {
		t.Fatal(err)
	}
	files[3] = compile(t, clang22, filepath.Join(dir, "changed.cu"), "m3.bc", thin()...)
	changed := compiled(files)
	if first != modules || again != 0 || changed < 1 || changed > 3 {
		t.Errorf("compiled %d at first, %d without a change, %d after a change in one of %d modules", first, again,
			changed, modules)
	}
}

func baseNames(paths []string) (names []string) {
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	return names
}

// chain is a module with a kernel that calls into the next one.
func chain(i, modules, factor int) string {
	next := (i + 1) % modules
	return fmt.Sprintf(`extern "C" __device__ float f%[2]d(float x);
extern "C" __device__ float f%[1]d(float x) { return x * %[3]d.0f + %[1]d.0f; }
extern "C" __global__ void k%[1]d(float* out) { out[threadIdx.x] = f%[2]d(out[threadIdx.x]); }
`, i, next, factor)
}

// TestUndefined: a missing function is named with the object that needs it.
func TestUndefined(t *testing.T) {
	calls := compile(t, clang22, "calls.cu", "calls.bc", bitcode()...)
	r := link(t, []string{calls})
	if r.Exit != 255 || !strings.Contains(r.Stderr, "Undefined reference to 'scale' in 'llvm.cubin'") ||
		!strings.Contains(r.Stderr, "referred to by calls.bc") {
		t.Errorf("exit %d\n%s", r.Exit, r.Stderr)
	}
	twice := compile(t, clang22, "calls.cu", "again.bc", bitcode()...)
	r = link(t, []string{calls, twice})
	if r.Exit != 1 || !strings.Contains(r.Stderr, "symbol multiply defined") ||
		!strings.Contains(r.Stderr, "defined in calls.bc, again.bc") {
		t.Errorf("exit %d\n%s", r.Exit, r.Stderr)
	}
}

// TestUndefinedVariable: a missing variable is an error, as it is for clang's own linker.
// ptxas would make a variable of it, in which kernels find zeros.
func TestUndefinedVariable(t *testing.T) {
	object := func(source, lto string) string {
		flags := []string{"-foffload-lto=" + lto, "-fno-split-lto-unit"}
		return compile(t, clang22, source+".cu", source+".o", flags...)
	}
	for _, lto := range []string{"full", "thin"} {
		lacks, renamed := object("lacks", lto), object("renamed", lto)
		externs, elsewhere := object("externs", lto), object("elsewhere", lto)
		for _, test := range []struct {
			args []string
			note string
		}{{nil, "it is used by klacks"}, {[]string{"-arch=sm_100"}, ""}, {[]string{"-force-whole-lto"}, ""}} {
			r := link(t, []string{lacks}, append(test.args, "--warpld-lto="+lto)...)
			if r.Exit != 255 || len(r.Files) != 0 || !strings.Contains(r.Stderr,
				"nvlink error   : Undefined reference to '_ZN5table7missingE' in 'llvm.cubin'\n"+
					"    note: _ZN5table7missingE is table::missing\n") ||
				!strings.Contains(r.Stderr, "note: referred to by lacks.o") || !strings.Contains(r.Stderr, test.note) {
				t.Errorf("%s %q: exit %d\n%s", lto, test.args, r.Exit, r.Stderr)
			}
		}
		r := link(t, []string{renamed}, "--warpld-lto="+lto)
		if r.Exit != 255 || !strings.Contains(r.Stderr, "note: clang defines it as '_ZL11coefficient__static__") {
			t.Errorf("%s: exit %d\n%s", lto, r.Exit, r.Stderr)
		}
		counts := instructions(t, mustLink(t, []string{externs, elsewhere}, "--warpld-lto="+lto))
		if counts["kexterns"] == 0 {
			t.Errorf("%s: %v", lto, counts)
		}
		r = link(t, []string{externs}, "--warpld-lto="+lto)
		if r.Exit != 255 || !strings.Contains(r.Stderr, "Undefined reference to 'elsewhere'") ||
			strings.Count(r.Stderr, "nvlink error") != 1 {
			t.Errorf("%s: exit %d\n%s", lto, r.Exit, r.Stderr)
		}
		mustLink(t, []string{lacks}, "-r", "--warpld-lto="+lto)
	}
}

// TestMixed links clang's bitcode with what nvcc compiled, as code, as PTX and as
// LTO-IR, with calls in both directions, and with clang's own native code.
func TestMixed(t *testing.T) {
	calls := compile(t, clang22, "calls.cu", "calls.o", "-foffload-lto")
	number := strings.TrimPrefix(arch, "sm_")
	for kind, code := range map[string]string{"code": "sm_" + number, "PTX": "compute_" + number, "LTO-IR": "lto_" +
		number} {
		back := filepath.Join(t.TempDir(), "back.o")
		run(t, toolkit(t).Tool("nvcc"), "-dc", "-gencode", "arch=compute_"+number+",code="+code,
			filepath.Join("testdata", "back.cu"), "-o", back)
		counts := instructions(t, mustLink(t, []string{calls, back}))
		if counts["kcalls"] == 0 || counts["kback"] == 0 {
			t.Errorf("with %s of nvcc: %v", kind, counts)
		}
	}
	native := compile(t, clang22, "native.cu", "native.o")
	if counts := instructions(t, mustLink(t, []string{calls, native})); counts["kcalls"] == 0 {
		t.Errorf("with code of clang: %v", counts)
	}
}

// TestLineInfo: line tables survive, and ptxas is told of them.
func TestLineInfo(t *testing.T) {
	lines := compile(t, clang22, "calls.cu", "calls.bc", bitcode("-gline-tables-only")...)
	native := compile(t, clang22, "native.cu", "native.bc", bitcode("-gline-tables-only")...)
	if _, sections := symbols(t, mustLink(t, []string{lines, native})); sections[".debug_line"] == 0 {
		t.Errorf("sections: %v", sections)
	}
}

// TestOptions: LLVM's own options reach it, and a wrong one is a message.
func TestOptions(t *testing.T) {
	files := sample(t, ".bc", bitcode()...)
	without := mustLink(t, files, "-emit-ptx")
	if bytes.Equal(without, mustLink(t, files, "-emit-ptx",
		"--warpld-llvm-options=-inline-threshold=100,-nvptx-prec-divf32=0")) {
		t.Error("an option for LLVM made no difference")
	}
	refused(t, "--warpld-llvm-options has an option that this LLVM does not know", files,
		"--warpld-llvm-options=-no-such-option")
	r := link(t, files, "-Xnvvm=-frobnicate")
	if r.Exit != 0 || !strings.Contains(r.Stderr, "-Xnvvm '-frobnicate' has no meaning for LLVM bitcode") {
		t.Errorf("exit %d\n%s", r.Exit, r.Stderr)
	}
}

// TestGenerate: -r makes bitcode of bitcode, which gives the same program when it is
// linked again.
func TestGenerate(t *testing.T) {
	files := sample(t, ".bc", bitcode()...)
	merged := filepath.Join(t.TempDir(), "merged.bc")
	job := kit.NewJob(t, files[:2], "-dlto", "-r", "-arch="+arch, "-o", "merged.bc", "a.bc", "b.bc")
	r, err := kit.Warpld(t, "--warpld-cuda="+toolkit(t).Root).Run(job)
	if err != nil || r.Exit != 0 {
		t.Fatalf("exit %d, %v\n%s", r.Exit, err, r.Stderr)
	}
	if err := os.WriteFile(merged, r.Files["merged.bc"], 0o666); err != nil {
		t.Fatal(err)
	}
	want := instructions(t, mustLink(t, files, "-kernels-used=kern_live"))
	if diff := cmp.Diff(want, instructions(t,
		mustLink(t, []string{merged, files[2]}, "-kernels-used=kern_live"))); diff != "" {
		t.Error(diff)
	}
}

// TestRemarks: LLVM says what it inlined and resolved, and ptxas what it spilled.
func TestRemarks(t *testing.T) {
	for lto, flags := range map[string][]string{"full": bitcode(), "thin": thin()} {
		files := append(sample(t, ".bc", flags...), compile(t, clang22, "spills.cu", "spills.bc", flags...))
		r := link(t, files, "--warpld-remarks=remarks", "-maxrregcount=32", "--warning-as-error", "--warpld-lto="+lto)
		if r.Exit != 0 || strings.Contains(r.Stderr, "bytes spill") {
			t.Fatalf("%s: exit %d\n%s", lto, r.Exit, r.Stderr)
		}
		text := string(r.Files["remarks"])
		for _, want := range []string{"'_Z10make_shapePvf' inlined into 'kern_live'", "devirtualized", "not inlined into",
			"'spills' spills registers to memory: "} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no remark has %q:\n%s", lto, want, text)
			}
		}
	}
}

// TestDriver: clang builds a program and calls warpld as its own linker of device code.
func TestDriver(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(kit.Binary(t), filepath.Join(dir, "clang-nvlink-wrapper")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("COMPILER_PATH", dir)
	t.Setenv("WARPLD_FLAGS", "--warpld-cache=off")
	t.Setenv("CUDA_HOME", toolkit(t).Root) // clang doesn't pass on --cuda-path where it only links
	for lto, flags := range map[string][]string{"full": {"-foffload-lto"},
		"thin": {"-foffload-lto=thin", "-fno-split-lto-unit"}} {
		flags = append(flags, "-fwhole-program-vtables")
		objects := append(sample(t, ".o", flags...), compile(t, clang22, "main.cu", "main.o", flags...))
		program := filepath.Join(dir, lto)
		args := append([]string{"--cuda-path=" + toolkit(t).Root, "--offload-new-driver", "--offload-arch=" + arch,
			"-fgpu-rdc", "-O2", "-w", "-Wno-unknown-cuda-version",
			"-L" + toolkit(t).Lib(), "-lcudart", "-o", program}, append(flags, objects...)...)
		run(t, clang22, args...)
		data, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		if counts := instructions(t, data); counts["kern_live"] == 0 || counts["kern_live"] > 66 ||
			counts["kern_dead2"] == 0 {
			t.Errorf("%s: %v", lto, counts)
		}
	}
}

// TestKeep: the commands that --verbose-keep prints make the output anew.
func TestKeep(t *testing.T) {
	for name, test := range map[string]struct {
		lto   string
		flags []string
		made  string // what is removed before
	}{
		"full LTO":                     {"full", bitcode(), "llvm/lto.*"},
		"ThinLTO":                      {"thin", thin(), "llvm/*/lto.*"},
		"ThinLTO of modules to change": {"thin", thin("-nogpulib"), "llvm/summary-*/*"},
	} {
		dir := t.TempDir()
		output := filepath.Join(dir, "out.cubin")
		args := append([]string{"-dlto", "-arch=" + arch, "-o", output, "--verbose-keep", "--warpld-cache=off",
			"--warpld-lto=" + test.lto,
			"-kernels-used=kern_live", "--warpld-cuda=" + toolkit(t).Root}, sample(t, ".bc", test.flags...)...)
		commands := run(t, kit.Binary(t), args...)
		keep := output + ".keep"
		made, err := filepath.Glob(filepath.Join(keep, test.made))
		if err != nil || len(made) == 0 {
			t.Fatalf("%s: nothing is called %s", name, test.made)
		}
		for _, path := range made {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		script := exec.Command("sh", "-e", "-c", commands)
		script.Dir = keep
		if out, err := script.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s\n%s", name, err, commands, out)
		}
		first, err := os.ReadFile(output)
		if err != nil {
			t.Fatal(err)
		}
		again, err := os.ReadFile(filepath.Join(keep, "out.cubin"))
		if err != nil || !bytes.Equal(first, again) {
			t.Errorf("%s: the commands made another output (%v)\n%s", name, err, commands)
		}
	}
}

// TestNvccLinksLeaveLLVMAlone: a link without bitcode works where no libLLVM is.
func TestNvccLinksLeaveLLVMAlone(t *testing.T) {
	back := filepath.Join(t.TempDir(), "native.o")
	number := strings.TrimPrefix(arch, "sm_")
	run(t, toolkit(t).Tool("nvcc"), "-dc", "-gencode", "arch=compute_"+number+",code=lto_"+number,
		filepath.Join("testdata", "native.cu"), "-o", back)
	mustLink(t, []string{back}, "--warpld-llvm=/nonexistent")
	files := sample(t, ".bc", bitcode()...)
	refused(t, "cannot find libLLVM", files, "--warpld-llvm=/nonexistent")
}
