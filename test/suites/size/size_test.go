//go:build realtools

// Package size checks what `warpld size`, `gate` and `check` read out of real files against
// the toolkit's cuobjdump, and looks at the page of sizes in a browser.
package size

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/size"
	"github.com/warpld/warpld/test/kit"
)

const library = `
template <class T> __global__ void scale(T *p, T f) { p[threadIdx.x] *= f; }
static __constant__ float table[4] = {1, 2, 3, 4};
static __device__ int counter;
__global__ void add(float *p) { p[threadIdx.x] += table[threadIdx.x & 3]; atomicAdd(&counter, 1); }
void NAME(float *p, int *q) { add<<<1, 32>>>(p); scale<<<1, 32>>>(p, 2.f); scale<<<1, 32>>>(q, 3); }
`

// run runs a command in a folder and returns what it prints.
func run(t *testing.T, dir, tool string, args ...string) string {
	t.Helper()
	cmd := exec.Command(tool, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", tool, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// measure runs warpld size --json.
func measure(t *testing.T, dir string, files ...string) *size.Document {
	t.Helper()
	out := run(t, dir, kit.Binary(t), append([]string{"size", "--json"}, files...)...)
	d, err := size.Read(strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	var parts int64
	for _, p := range d.Parts {
		parts += p.Bytes
	}
	if parts != d.Device {
		t.Errorf("%s: %d of %d bytes are accounted for", files, parts, d.Device)
	}
	return d
}

// build makes a shared library of two units for three architectures and PTX, an executable
// and a library of relocatable code, and returns all files.
func build(t *testing.T, tk kit.Toolkit, dir string) []string {
	t.Helper()
	for _, name := range []string{"one", "two"} {
		text := strings.ReplaceAll(library, "NAME", name)
		if name == "two" {
			text = strings.ReplaceAll(text, "void add(", "void add2(")
			text = strings.ReplaceAll(text, "add<<<", "add2<<<") + "int main() { return 0; }\n"
		}
		if err := os.WriteFile(filepath.Join(dir, name+".cu"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	archs := []string{"-gencode", "arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=[sm_90,compute_90]",
		"-Xcompiler", "-fPIC", "-cudart", "shared"}
	nvcc := func(args ...string) { run(t, dir, tk.Tool("nvcc"), append(args, archs...)...) }
	nvcc("-c", "one.cu")
	nvcc("-c", "two.cu", "-lineinfo")
	nvcc("-shared", "one.o", "two.o", "-o", "lib.so")
	nvcc("one.o", "two.o", "-o", "prog")
	nvcc("-dc", "one.cu", "-o", "rdc1.o")
	nvcc("-dc", "two.cu", "-o", "rdc2.o")
	nvcc("-dlink", "rdc1.o", "rdc2.o", "-o", "dlink.o")
	nvcc("-shared", "rdc1.o", "rdc2.o", "-o", "rdc.so")
	run(t, dir, "ar", "rc", "lib.a", "one.o", "rdc2.o")
	return []string{"one.o", "two.o", "lib.so", "prog", "rdc1.o", "dlink.o", "rdc.so", "lib.a"}
}

// The members, and the resources of every kernel, are those that cuobjdump lists, in files
// of every kind; every byte is accounted for.
func TestCuobjdump(t *testing.T) {
	for _, tk := range kit.Toolkits(t) {
		t.Run(tk.Release(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := build(t, tk, dir)
			corpus, err := filepath.Glob(filepath.Join(os.Getenv("WARPLD_TEST_FILES"), tk.Release(), "*"))
			if err != nil || len(corpus) == 0 {
				t.Fatalf("WARPLD_TEST_FILES has no files: %v", err)
			}
			for _, file := range corpus {
				if slices.Contains([]string{".o", ".fatbin", ".cubin"}, filepath.Ext(file)) &&
					filepath.Base(file) != "no-device-code.o" {
					files = append(files, file)
				}
			}
			checked := 0
			for _, file := range files {
				checked += compare(t, tk, dir, file)
			}
			t.Logf("%d files, %d kernels as cuobjdump has them", len(files), checked)
			if checked < 20 {
				t.Errorf("only %d kernels", checked)
			}
		})
	}
}

var (
	member   = regexp.MustCompile(`(?m)^(ELF|PTX) file +\d+: \S+?\.(sm_\w+)\.(?:cubin|ptx)$`)
	function = regexp.MustCompile(`(?m)^ Function (\S+):\n +REG:(\d+) STACK:(\d+) SHARED:(\d+)`)
	archLine = regexp.MustCompile(`(?m)^arch = (sm_\w+)$`)
)

// compare compares one file with what cuobjdump prints, and returns how many kernels it
// has.
func compare(t *testing.T, tk kit.Toolkit, dir, file string) int {
	t.Helper()
	d := measure(t, dir, file)
	got := map[string]int{}
	for _, a := range d.Archs {
		switch a.Kind {
		case size.KindSASS:
			got["ELF "+a.Arch] += a.Pieces
		case size.KindPTX:
			got["PTX sm_"+strings.TrimPrefix(a.Arch, "compute_")] += a.Pieces
		}
	}
	if filepath.Ext(file) != ".cubin" { // cuobjdump does not list a cubin in itself
		want := map[string]int{}
		for _, option := range []string{"-lelf", "-lptx"} {
			for _, m := range member.FindAllStringSubmatch(list(t, tk, dir, option, file), -1) {
				want[m[1]+" "+m[2]]++
			}
		}
		unlisted := 0 // of linked files cuobjdump does not list what waits for a device link
		for _, u := range d.Units {
			if strings.Contains(u.Name, "#rdc") {
				unlisted += u.Pieces
			}
		}
		if (unlisted == 0 && fmt.Sprint(got) != fmt.Sprint(want)) || sum(got) != sum(want)+unlisted {
			t.Errorf("%s has %v, cuobjdump lists %v without %d", file, got, want, unlisted)
		}
	}
	return compareResources(t, d, file, list(t, tk, dir, "-res-usage", file))
}

func sum(counts map[string]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

// list runs cuobjdump, which fails where a file has nothing of what it is asked for.
func list(t *testing.T, tk kit.Toolkit, dir, option, file string) string {
	t.Helper()
	cmd := exec.Command(tk.Tool("cuobjdump"), option, file)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "does not contain device code") {
		t.Fatalf("cuobjdump %s %s: %v\n%s", option, file, err, out)
	}
	return string(out)
}

// compareResources compares registers, stack and shared memory. A kernel that several units
// have is listed once by us, with the resources of the first.
func compareResources(t *testing.T, d *size.Document, file, text string) int {
	t.Helper()
	want := map[string]string{}
	for _, part := range strings.Split(text, "Fatbin elf code:") {
		arch := ""
		if m := archLine.FindStringSubmatch(part); m != nil {
			arch = m[1]
		}
		for _, m := range function.FindAllStringSubmatch(part, -1) {
			if key := arch + " " + m[1]; want[key] == "" {
				want[key] = m[2] + " " + m[3] + " " + m[4]
			}
		}
	}
	kernels := 0
	for _, k := range d.Kernels {
		if !k.Kernel {
			continue
		}
		kernels++
		arch := k.Arch
		if filepath.Ext(file) == ".cubin" {
			arch = ""
		}
		if got := fmt.Sprintf("%d %d %d", k.Registers, k.Stack, k.Shared); got != want[arch+" "+k.Name] {
			t.Errorf("%s: %s for %s has registers, stack, shared %s; cuobjdump prints %q", file, k.Name, k.Arch, got,
				want[arch+" "+k.Name])
		}
	}
	return kernels
}

// Three units with five equal kernels: two of three copies are there again, and after a
// device link none is. The link's objects are one program, in which nothing is wrong.
func TestDuplicates(t *testing.T) {
	tk := kit.Toolkits(t)[0]
	dir := t.TempDir()
	header := "template <int N> __global__ void k(float *p) { for (int i = 0; i < N; i++) p[i] = p[i] * N + 1; }\n"
	for i := range 3 {
		text := header + fmt.Sprintf("void unit%d(float *p) {", i)
		for n := range 5 {
			text += fmt.Sprintf(" k<%d><<<1, 1>>>(p);", 100+n)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("u%d.cu", i)), []byte(text+" }\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run(t, dir, tk.Tool("nvcc"), "-arch=sm_80", "-dc", "u0.cu", "u1.cu", "u2.cu")
	before := measure(t, dir, "u0.o", "u1.o", "u2.o").Duplicates
	if before.Code == 0 || before.Extra*3 != before.Code*2 || before.Link < before.Extra {
		t.Errorf("before: %+v", before)
	}
	run(t, dir, tk.Tool("nvcc"), "-arch=sm_80", "-dlink", "u0.o", "u1.o", "u2.o", "-o", "dlink.o")
	after := measure(t, dir, "dlink.o").Duplicates
	if after.Code*3 != before.Code || after.Extra != 0 || after.Link != 0 {
		t.Errorf("after: %+v, before: %+v", after, before)
	}
	t.Logf("%d of %d bytes are there again before, %d of %d after a device link", before.Extra, before.Code, after.Extra,
		after.Code)
	text := run(t, dir, kit.Binary(t), "check", "u0.o", "u1.o", "u2.o", "dlink.o")
	if !strings.Contains(text, "nothing is wrong") {
		t.Error(text)
	}
	cmd := exec.Command(kit.Binary(t), "check", "u0.o", "u1.o")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no device link has linked") {
		t.Errorf("%v: %s", err, out)
	}
}

// A rebuild in another folder and another order passes the gate.
func TestRebuild(t *testing.T) {
	tk := kit.Toolkits(t)[0]
	base := filepath.Join(t.TempDir(), "kernels.json")
	text := "namespace { __global__ void hidden(int *p) { *p = 1; } }\n" +
		"static __global__ void alone(int *p) { *p = 2; }\nvoid f(int *p) { hidden<<<1, 1>>>(p); alone<<<1, 1>>>(p); }\n"
	for i, option := range []string{"--update", "--ratchet"} {
		dir := filepath.Join(t.TempDir(), fmt.Sprintf("build%d", i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"x.cu", "y.cu"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		run(t, dir, tk.Tool("nvcc"), "-arch=sm_80", "-c", "x.cu", "y.cu")
		files := []string{"x.o", "y.o"}
		if i == 1 {
			slices.Reverse(files)
		}
		run(t, dir, kit.Binary(t), append([]string{"gate", option, "--baseline=" + base}, files...)...)
	}
}

// A browser finds nothing to complain of in the page, nor does axe-core.
func TestPage(t *testing.T) {
	tk := kit.Toolkits(t)[0]
	dir := t.TempDir()
	objects, err := filepath.Glob(filepath.Join(os.Getenv("WARPLD_TEST_CORPUS"), tk.Release(), "rdc", "*.o"))
	if err != nil || len(objects) == 0 {
		t.Fatalf("no objects: %v", err)
	}
	page := filepath.Join(dir, "size.html")
	run(t, dir, kit.Binary(t), append([]string{"size", "--html=" + page}, objects...)...)
	modules := filepath.Join(os.Getenv("WARPLD_TOOLS"), "report")
	cmd := exec.Command("node", "../report/look.mjs", modules, page, filepath.Join(dir, "size"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\ntest/report/install installs what is needed beside Chromium", err)
	}
	var complaints []string
	if err := json.Unmarshal(out, &complaints); err != nil {
		t.Fatal(err)
	}
	for _, complaint := range complaints {
		t.Error(complaint)
	}
	root, err := kit.Repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"light", "dark", "phone"} {
		made, err := os.ReadFile(filepath.Join(dir, "size-"+form+".png"))
		if err != nil {
			t.Fatal(err)
		}
		shown := filepath.Join(root, "docs", "report", "size-"+form+".png")
		if os.Getenv("WARPLD_UPDATE_DOCS") != "" {
			if err := os.WriteFile(shown, made, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.Stat(shown); err != nil {
			t.Errorf("%v; WARPLD_UPDATE_DOCS=1 takes the pictures", err)
		}
	}
}

// Real wheels: WARPLD_TEST_WHEELS names a folder of them.
func TestWheels(t *testing.T) {
	folder := os.Getenv("WARPLD_TEST_WHEELS")
	if folder == "" {
		return // the long form
	}
	wheels, err := filepath.Glob(filepath.Join(folder, "*.whl"))
	if err != nil || len(wheels) == 0 {
		t.Fatalf("no wheels in %s: %v", folder, err)
	}
	for _, wheel := range wheels {
		d := measure(t, folder, wheel)
		t.Logf("%s: %d bytes of device code, all accounted for; %d functions, %d problems", filepath.Base(wheel), d.Device,
			len(d.Kernels), len(d.Problems))
	}
}
