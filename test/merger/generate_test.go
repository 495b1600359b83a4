//go:build realtools

package merger

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// generatedPrograms is how many programs are made and linked, unless
// WARPLD_TEST_MERGER_GENERATED says otherwise.
const generatedPrograms = 20

// A generator makes a random program of several CUDA files, of the features that
// a merger has to deal with: calls, pointers to functions, virtual functions,
// variables of every kind and linkage, shared memory, constants, recursion,
// system calls, textures, and inline functions that several files have.
type generator struct {
	r     *rand.Rand
	files int
	// What the files may use, by name. A function is called with an int.
	functions []entity
	variables []entity
	dynamic   bool
}

// An entity is something that one file defines and others may refer to.
type entity struct {
	name string
	file int
	// declare is for the other files; empty: it is static.
	declare string
	define  string
	use     string // an expression of type int
}

// generate gives the texts of the files.
func generate(seed uint64) []string {
	g := &generator{r: rand.New(rand.NewPCG(seed, 11))}
	g.files = 1 + g.r.IntN(4)
	g.dynamic = g.maybe(3)
	for i := range 1 + g.r.IntN(8) {
		g.variables = append(g.variables, g.variable(i))
	}
	for i := range 1 + g.r.IntN(10) {
		g.functions = append(g.functions, g.function(i))
	}
	var texts []string
	for file := range g.files {
		texts = append(texts, g.text(file))
	}
	return texts
}

func (g *generator) maybe(oneIn int) bool { return g.r.IntN(oneIn) == 0 }

func (g *generator) pick(choices ...string) string { return choices[g.r.IntN(len(choices))] }

// variable makes one of any kind and linkage.
func (g *generator) variable(i int) entity {
	e := entity{name: fmt.Sprintf("v%d", i), file: g.r.IntN(g.files)}
	kind, typ := g.pick("__device__", "__device__", "__constant__", "__managed__"), g.pick("int", "int", "double", "char", "short", "long long")
	length := 1 + g.r.IntN(20)
	value := ""
	if g.maybe(2) {
		value = fmt.Sprintf(" = {%d}", 1+g.r.IntN(100))
	}
	linkage := ""
	if g.maybe(4) {
		linkage = "static "
	} else {
		e.declare = fmt.Sprintf("extern %s %s %s[%d];", kind, typ, e.name, length)
	}
	e.define = fmt.Sprintf("%s%s %s %s[%d]%s;", linkage, kind, typ, e.name, length, value)
	e.use = fmt.Sprintf("(int)%s[x & %d]", e.name, length-1)
	return e
}

// function makes a device function that uses what exists already.
func (g *generator) function(i int) entity {
	e := entity{name: fmt.Sprintf("f%d", i), file: g.r.IntN(g.files)}
	e.use = e.name + "(x)"
	linkage := "__device__ __noinline__"
	if g.maybe(5) {
		linkage = "static " + linkage
	} else {
		e.declare = fmt.Sprintf("__device__ int %s(int);", e.name)
	}
	body := g.body(e.file, e.name)
	if g.maybe(8) {
		body = fmt.Sprintf("  if (x > 3) x += %s(x - 1);\n", e.name) + body
	}
	e.define = fmt.Sprintf("%s int %s(int x) {\n%s  return x;\n}", linkage, e.name, body)
	if e.declare != "" && g.maybe(3) {
		e.define += fmt.Sprintf("\n__device__ int (*p%s)(int) = %s;", e.name, e.name)
		e.use = g.pick(e.use, e.use, "p"+e.name+"(x)")
		e.declare += fmt.Sprintf("\nextern __device__ int (*p%s)(int);", e.name)
	}
	return e
}

// body is statements that change x.
func (g *generator) body(file int, owner string) string {
	var b strings.Builder
	for range 1 + g.r.IntN(4) {
		fmt.Fprintf(&b, "  %s\n", g.statement(file, owner))
	}
	return b.String()
}

func (g *generator) statement(file int, owner string) string {
	n := g.r.IntN(1000)
	switch g.r.IntN(12) {
	case 0, 1, 2:
		return "x += " + g.seen(file, g.functions) + ";"
	case 3, 4:
		return "x += " + g.seen(file, g.variables) + ";"
	case 5:
		return g.shared(n)
	case 6:
		if g.dynamic {
			return "dynamic[x & 7] = x; __syncthreads(); x += dynamic[(x + 1) & 7];"
		}
		return fmt.Sprintf("x ^= %d;", n)
	case 7:
		return g.pick(fmt.Sprintf("printf(\"%s %%d\\n\", x);", owner), "{ int *m = (int *)malloc(x); if (m) { *m = x; x += *m; free(m); } }", "assert(x != 1);")
	case 8:
		return fmt.Sprintf("{ int a[%d]; for (int i = 0; i < %d; i++) a[i] = x + i; x = a[x & %d]; }", 2+n%60, 2+n%60, 1+n%60)
	case 9:
		return g.pick("x += inlined<3>(x);", "x += inlined<5>(x);", "x += shape(x)->area(x);")
	case 10:
		return fmt.Sprintf("x = (int)(sin((double)x) * %d.25 + sqrt((double)x) / %d.0);", n, 1+n)
	}
	return fmt.Sprintf("switch (x) { case 1: x = %d; break; case 2: x += 7; break; case 3: x *= 5; break; case 4: x ^= 9; break; case 5: x -= %d; break; }", n, n/2)
}

// shared is a statement with memory of its own.
func (g *generator) shared(n int) string {
	typ := g.pick("int", "double", "char", "short")
	return fmt.Sprintf("{ __shared__ %s s%d[%d]; s%d[threadIdx.x %% %d] = x; __syncthreads(); x += (int)s%d[x & 1]; }", typ, n, 2+n%30, n, 2+n%30, n)
}

// seen uses something that the file can see.
func (g *generator) seen(file int, list []entity) string {
	if len(list) == 0 {
		return "x"
	}
	e := list[g.r.IntN(len(list))]
	if e.declare == "" && e.file != file {
		return "x"
	}
	return e.use
}

// common is what every file begins with; the functions in it are the same
// everywhere.
const common = `#include <cstdio>
#include <cassert>
template <int N> __device__ __noinline__ int inlined(int x) { return x * N + 1; }
struct Shape { __device__ virtual int area(int x) { return x; } int side = 3; };
struct Square : Shape { __device__ int area(int x) override { return x * side; } };
inline __device__ __noinline__ Shape *shape(int x) { return x & 1 ? new Square : new Shape; }
`

// text is one file: declarations, definitions in the order of their making, and
// kernels.
func (g *generator) text(file int) string {
	var b strings.Builder
	b.WriteString(common)
	if g.dynamic {
		b.WriteString("extern __shared__ int dynamic[];\n")
	}
	for _, e := range append(append([]entity(nil), g.variables...), g.functions...) {
		if e.file == file {
			b.WriteString(e.define + "\n")
		} else if e.declare != "" {
			b.WriteString(e.declare + "\n")
		}
	}
	for i := range g.r.IntN(4) {
		name := fmt.Sprintf("k%d_%d", file, i)
		linkage := g.pick("", "", "", "static ")
		bounds := g.pick("", "", "__launch_bounds__(128) ", "__launch_bounds__(256, 2) ")
		parameter, fetch := "", ""
		if g.maybe(4) {
			parameter, fetch = ", cudaTextureObject_t texture", "  x += tex1Dfetch<int>(texture, x);\n"
		}
		fmt.Fprintf(&b, "%s__global__ void %s%s(int *out, int x%s) {\n%s%s%s  *out = x;\n}\n", linkage, bounds, name,
			parameter, g.body(file, name), fetch, g.body(file, name))
		if linkage != "" {
			fmt.Fprintf(&b, "void launch_%s(int *p) { cudaLaunchKernel((void *)%s, 1, 1, 0, 0, 0); }\n", name, name)
		}
	}
	return b.String()
}

// TestGenerated links generated programs, each with one toolkit. The number of a
// program decides for which target it is compiled; it is assembled for that and for
// all that follow.
func TestGenerated(t *testing.T) {
	count, first := number(t, "WARPLD_TEST_MERGER_GENERATED", generatedPrograms), number(t, "WARPLD_TEST_MERGER_SEED", 0)
	toolkits, targets := kit.Toolkits(t), targets()
	for i := first; i < first+count; i++ {
		tk, from := toolkits[i%len(toolkits)], i/len(toolkits)%len(targets)
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			files := setting{tk, targets[from]}.compileGenerated(t, i)
			for _, target := range targets[from:] {
				t.Run(tk.Release()+"/"+target, func(t *testing.T) { setting{tk, target}.linkGenerated(t, i, files) })
			}
		})
	}
}

// number reads a number from the environment.
func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// generatedVariant is the form in which the files of a program are compiled.
func generatedVariant(number int) []string {
	return variants[[]string{"", "", "", "li"}[number%4]]
}

// compileGenerated makes PTX of the files of a program.
func (s setting) compileGenerated(t *testing.T, number int) []string {
	t.Helper()
	var files []string
	dir := t.TempDir()
	for i, text := range generate(uint64(number)) {
		path := filepath.Join(dir, fmt.Sprintf("g%d.cu", i))
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		virtual := strings.Replace(s.arch, "sm_", "compute_", 1)
		options := append([]string{"-w", "-arch=" + virtual, "-rdc=true", "-ptx"}, generatedVariant(number)...)
		out, err := s.compileOnce(path, fmt.Sprintf("generated-%d-%d.ptx", number, i), []byte(text), options)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, out)
	}
	return files
}

// linkGenerated links a program of which the PTX is given, also without some of its
// kernels.
func (s setting) linkGenerated(t *testing.T, number int, files []string) {
	t.Helper()
	p, built := program{}, map[string]string{}
	for i, file := range files {
		options := append([]string{"-w", "-arch=" + s.arch, "-rdc=true", "-cubin"}, generatedVariant(number)...)
		name := fmt.Sprintf("g%d", i)
		out, err := s.compileOnce(file, fmt.Sprintf("generated-%d-%d.cubin", number, i), read(t, file), options)
		if err != nil {
			t.Fatal(err)
		}
		p.names, built[name] = append(p.names, name), out
	}
	s.compare(t, p, built)
	for _, removal := range s.removals(t, rand.New(rand.NewPCG(uint64(number), 5)), p, built) {
		s.compare(t, removal, built)
	}
}
