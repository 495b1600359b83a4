//go:build realtools

package edits

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// A change is one thing that people do to a source file, whose name is @ here.
type change struct {
	name     string
	from, to string
	all      bool   // every place; otherwise the first one
	top      string // declarations at the top
	more     string // is put behind the text
}

const (
	parameters = "(float x, float y, float z, unsigned i, int n, const float *p)"
	gone       = "a function gone" // others may call it
	launch     = "  @_k0<<<64, 256>>>(o, p, n);\n"
)

// changes are what each file of the program can be turned into, if it has what is to
// be changed.
var changes = []change{
	{name: "nothing"},
	{name: "a comment", top: "// said here"},
	{name: "a leaf", from: "return x + y", to: "return 1.5f * x + y"},
	{name: "all functions", from: "return x + y", to: "return 2.5f * x + y", all: true},
	{name: "a kernel", from: "out[blockIdx.x] = s;", to: "out[blockIdx.x] = s + 0.5f;"},
	{name: "all kernels", from: "float s = block_sum(", to: "float s = 2 + block_sum(", all: true},
	{name: "a new function", from: "  float s =", to: "  x += fresh(i);\n  float s =",
		top: "#include <cstdio>\nstatic __device__ float fresh(int);",
		more: "static __device__ int once = 3;\nstatic __device__ float fresh(int i) { printf(\"%d\\n\", once += i); " +
			"return sinf(once); }\n"},
	{name: "a function that nobody calls",
		more: "__device__ int @_unused = 4;\n__device__ int @_nobody(int i) { return @_unused *= i; }\n"},
	{name: "a new kernel", from: launch, to: launch + "  @_new<<<1, 1>>>(o);\n", top: "__global__ void @_new(float *o);",
		more: "__global__ void @_new(float *o) { *o = @_f1(*o, 1, 2, 3, 4, o); }\n"},
	{name: "a kernel that is not launched", from: launch},
	{name: "a kernel of a name that others have", from: launch, to: launch + "  same<<<1, 1>>>(o);\n",
		top: "static __global__ void same(float *o) { static __device__ float n = sizeof \"@\"; o[1] = n += *o; }"},
	{name: "a template kernel", from: launch, to: launch + "  both<3><<<1, 1>>>(o);\n",
		top: "template <int I> __device__ float kept = I;\ntemplate <int I> __global__ void both(float *o) { *o += " +
			"kept<I>; kept<I> = o[1]; }"},
	{name: "a function pointer", from: "  float s =", to: "  if (n == 7) z += @_pointer(x, y, z, i, n, p);\n  float s =",
		top:  "__device__ float @_other" + parameters + ";\n__device__ float (*@_pointer)" + parameters + " = @_other;",
		more: "__device__ float @_other" + parameters + " { @_pointer = nullptr; return x * i; }\n"},
	{name: "an initial value", from: "__device__ float @_g;", to: "__device__ float @_g = 4.5f;"},
	{name: "another size", from: "_c[8];", to: "_c[24];"},
	{name: "a variable for the host", from: launch, to: launch + "  cudaMemcpyToSymbol(@_h, &n, 4);\n",
		top: "__device__ int @_h = 3;"},
	{name: "a table", from: "_table[64];", to: "_table[64] = {1, 2, 3};"},
	{name: "a larger table", from: "_table[64];", to: "_table[80];"},
	{name: "constants", from: "_c[16];", to: "_c[16] = {5, 6, 7};"},
	{name: gone, from: "__device__ float @_f0(", to: "__device__ float @_gone("},
}

// apply changes the text of a file, if it has what is to be changed.
func (c change) apply(text, name string) (changed string, ok bool) {
	at := strings.NewReplacer("@", name)
	times := 1
	if c.all {
		times = -1
	}
	from := at.Replace(c.from)
	changed = strings.Replace(text, from, at.Replace(c.to), times)
	return at.Replace(c.top) + "\n" + changed + at.Replace(c.more), strings.Contains(text, from)
}

// A file is a module or a library with what it can be turned into.
type file struct {
	name     string
	variants []variant // the first is the file as it was generated
}

// A variant is a file after a change.
type variant struct{ change, object string }

// compileProgram compiles a generated program in all its variants.
func compileProgram(t *testing.T, tk kit.Toolkit) []file {
	t.Helper()
	dir := t.TempDir()
	if _, err := kit.Generate(dir, "--modules", "6", "--libs", "2", "--functions", "2", "--size", "1"); err != nil {
		t.Fatal(err)
	}
	header := read(t, filepath.Join(dir, "common.h"))
	var files []file
	var sources []string
	for _, name := range []string{"lib0", "lib1", "m0", "m1", "m2", "m3", "m4", "m5"} {
		text := read(t, filepath.Join(dir, name+".cu"))
		f := file{name: name}
		for i, c := range changes {
			if changed, ok := c.apply(text, name); ok {
				// The names of files are part of names in the program, so they stay.
				folder := filepath.Join(dir, fmt.Sprint(i))
				write(t, filepath.Join(folder, "common.h"), header)
				write(t, filepath.Join(folder, name+".cu"), changed)
				sources = append(sources, filepath.Join(folder, name+".cu"))
				f.variants = append(f.variants, variant{change: c.name})
			}
		}
		files = append(files, f)
	}
	objects, err := tk.Compile(kit.Stored, sources...)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for i := range f.variants {
			f.variants[i].object, objects = objects[0], objects[1:]
		}
	}
	return files
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
