//go:build realtools

package merger

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
)

// A generator makes a random program of several CUDA files, of the features that
// a merger has to deal with: calls, pointers to functions, virtual functions,
// variables of every kind and linkage, shared memory, constants, recursion,
// system calls, textures, kernels that start kernels, and inline functions that
// several files have.
type generator struct {
	r     *rand.Rand
	files int
	// What the files may use, in the order of their making. A function is called
	// with an int.
	variables, functions, kernels []entity
	dynamic                       bool // there is dynamic shared memory
	launches                      bool // kernels start kernels
}

// A generated is a program: the texts of its files.
type generated struct {
	texts   []string
	runtime bool // libcudadevrt is needed
}

// An entity is something that files define and refer to.
type entity struct {
	linkage
	name    string // with namespaces
	file    int    // that defines it
	declare string // for other files
	define  string
	use     string // an expression of type int
}

// A linkage is how the files of a program know a name.
type linkage struct {
	prefix    string // of definitions
	scope     string // around definitions and declarations
	qualifier string // of the name where it is used
	external  bool   // one file defines it for all
	anywhere  bool   // each file has its own definition
}

var linkages = []linkage{
	{external: true}, {external: true}, {external: true},
	{external: true, scope: `extern "C"`},
	{external: true, scope: "namespace space", qualifier: "space::"},
	{scope: "namespace"},
	{prefix: "static "},
	{prefix: "static ", anywhere: true},
	{prefix: "inline ", anywhere: true},
}

// noFile stands for text that every file has.
const noFile = -1

// visible reports whether a file may use the entity.
func (e entity) visible(file int) bool { return e.external || e.anywhere || e.file == file }

// text is what a file has of the entity.
func (e entity) text(file int) string {
	text := e.declare
	if e.anywhere || e.file == file {
		text = e.define
	}
	switch {
	case !e.visible(file):
		return ""
	case e.scope != "":
		return e.scope + " {\n" + text + "\n}\n"
	}
	return text + "\n"
}

// generate makes the program of a number.
func generate(seed uint64) generated {
	g := &generator{r: rand.New(rand.NewPCG(seed, 11))}
	g.files = 1 + g.r.IntN(4)
	g.dynamic, g.launches = g.maybe(3), g.maybe(8)
	for i := range 1 + g.r.IntN(8) {
		g.variables = append(g.variables, g.variable(i))
	}
	for i := range 1 + g.r.IntN(10) {
		g.functions = append(g.functions, g.function(i))
	}
	if g.maybe(4) {
		g.functions = append(g.functions, g.circle(2+g.r.IntN(2))...)
	}
	if g.maybe(3) {
		g.functions = append(g.functions, g.table())
	}
	for file := range g.files {
		for i := range g.r.IntN(4) {
			g.kernels = append(g.kernels, g.kernel(file, i))
		}
	}
	if g.maybe(20) {
		g.spoil()
	}
	p := generated{runtime: g.launches}
	for file := range g.files {
		p.texts = append(p.texts, g.text(file))
	}
	return p
}

func (g *generator) maybe(oneIn int) bool { return g.r.IntN(oneIn) == 0 }

func (g *generator) pick(choices ...string) string { return choices[g.r.IntN(len(choices))] }

// entity makes one of any linkage.
func (g *generator) entity(name string) entity {
	e := entity{linkage: linkages[g.r.IntN(len(linkages))], file: g.r.IntN(g.files)}
	e.name = e.qualifier + name
	if e.anywhere {
		e.file = noFile
	}
	return e
}

// variable makes one of any kind, or a pointer to it.
func (g *generator) variable(i int) entity {
	name := fmt.Sprintf("v%d", i)
	e := g.entity(name)
	kind, typ := g.pick("__device__", "__device__", "__constant__", "__managed__"), g.pick("int", "int", "double",
		"char", "short", "long long")
	if e.anywhere && kind == "__managed__" {
		kind = "__device__" // there are no inline ones
	}
	length, align, value := 1+g.r.IntN(20), g.pick("", "", "", "__align__(16) ", "__align__(64) "), ""
	if g.maybe(20) {
		length *= 150
	}
	if g.maybe(2) {
		value = fmt.Sprintf(" = {%d}", 1+g.r.IntN(100))
	}
	array := fmt.Sprintf("%s %s%s %s[%d]", kind, align, typ, name, length)
	e.declare, e.define = "extern "+array+";", e.prefix+array+value+";"
	e.use = fmt.Sprintf("(int)%s[x & %d]", e.name, length-1)
	if kind == "__device__" && g.maybe(4) {
		pointer := fmt.Sprintf("%s %s *p%s", g.pick("__device__", "__constant__"), typ, name)
		e.declare += "\nextern " + pointer + ";"
		e.define += fmt.Sprintf("\n%s%s = %s + %d;", e.prefix, pointer, name, g.r.IntN(length))
		e.use = fmt.Sprintf("(int)*%sp%s", e.qualifier, name)
	}
	return e
}

// function makes a device function that uses what exists already, and sometimes a
// pointer to it.
func (g *generator) function(i int) entity {
	name := fmt.Sprintf("f%d", i)
	e := g.entity(name)
	body := g.body(e.file)
	if g.maybe(8) {
		body = fmt.Sprintf("  if (x > 3) x += %s(x - 1);\n", name) + body
	}
	e.declare = fmt.Sprintf("__device__ int %s(int);", name)
	e.define = fmt.Sprintf("%s__device__ __noinline__ int %s(int x) {\n%s  return x;\n}", e.prefix, name, body)
	e.use = e.name + "(x)"
	if e.external && g.maybe(3) {
		e.declare += fmt.Sprintf("\nextern __device__ int (*p%s)(int);", name)
		e.define += fmt.Sprintf("\n__device__ int (*p%s)(int) = %s;", name, name)
		e.use = g.pick(e.use, fmt.Sprintf("%sp%s(x)", e.qualifier, name))
	}
	return e
}

// circle makes functions that call each other in a circle.
func (g *generator) circle(count int) []entity {
	var list []entity
	for i := range count {
		e := entity{linkage: linkage{external: true}, name: fmt.Sprintf("c%d", i), file: g.r.IntN(g.files)}
		next := fmt.Sprintf("c%d", (i+1)%count)
		e.declare = fmt.Sprintf("__device__ int %s(int);", e.name)
		e.define = fmt.Sprintf("__device__ int %s(int);\n"+
			"__device__ __noinline__ int %s(int x) {\n%s  return x > 9 ? %s(x - 1) : x;\n}", next, e.name, g.body(e.file), next)
		e.use = e.name + "(x)"
		list = append(list, e)
	}
	return list
}

// table makes a table of functions.
func (g *generator) table() entity {
	e := g.entity("table")
	var members []string
	for _, f := range g.functions {
		if f.visible(e.file) {
			members = append(members, f.name)
		}
	}
	members = append(members, "inlined<3>")
	array := fmt.Sprintf("%s int (*table[%d])(int)", g.pick("__constant__", "__device__"), len(members))
	e.declare = "extern " + array + ";"
	e.define = fmt.Sprintf("%s%s = {%s};", e.prefix, array, strings.Join(members, ", "))
	e.use = fmt.Sprintf("%s[x %% %d](x)", e.name, len(members))
	return e
}

// parameters are what kernels may take besides a pointer and an int, with a statement that
// uses it.
var parameters = [][2]string{
	{}, {}, {}, {},
	{", cudaTextureObject_t texture", "x += tex1Dfetch<int>(texture, x);"},
	{", cudaSurfaceObject_t surface", "{ int y; surf1Dread(&y, surface, x); surf1Dwrite(x, surface, 4); x += y; }"},
	{", const __grid_constant__ Large large", "x += large.value[x];"},
	{", Large large, double y", "x += inlined<5>(large.value[7]) + (int)y;"},
}

// kernel makes one that others may start.
func (g *generator) kernel(file, i int) entity {
	e := entity{linkage: linkage{external: true}, name: fmt.Sprintf("k%d_%d", file, i), file: file}
	head := g.pick("", "", "", "__launch_bounds__(128) ", "__launch_bounds__(256, 2) ", "__maxnreg__(64) ", "CLUSTER ")
	parameter := parameters[g.r.IntN(len(parameters))]
	switch g.r.IntN(6) {
	case 0: // many files have such a static kernel
		e.linkage, e.name = linkage{prefix: "static "}, fmt.Sprintf("local%d", i)
	case 1: // and such an instance
		e.linkage, e.name = linkage{prefix: "template <int N> "}, fmt.Sprintf("instance%d", i)
	}
	e.declare = fmt.Sprintf("__global__ void %s(int *out, int x%s);", e.name, parameter[0])
	e.define = fmt.Sprintf("%s__global__ void %s%s(int *out, int x%s) {\n%s  %s\n%s  *out = x;\n}", e.prefix, head,
		e.name,
		parameter[0], g.body(file), parameter[1], g.body(file))
	switch {
	case strings.HasPrefix(e.prefix, "static"):
		e.define += fmt.Sprintf("\nvoid launch_%s() { cudaLaunchKernel((void *)%s, 1, 1, 0, 0, 0); }", e.name, e.name)
	case e.prefix != "":
		e.define += fmt.Sprintf("\ntemplate __global__ void %s<%d>(int *, int%s);", e.name, 1+g.r.IntN(2), parameter[0])
	case parameter[0] == "":
		e.use = fmt.Sprintf("(%s<<<1, 32>>>(nullptr, x), 1)", e.name)
	}
	return e
}

// spoil makes a program that linkers refuse, if it can be made of what there is.
func (g *generator) spoil() {
	list := g.functions
	if g.maybe(2) {
		list = g.variables
	}
	e := &list[g.r.IntN(len(list))]
	switch {
	case !e.external:
	case g.maybe(3):
		e.define = e.declare // nobody defines it
	case g.maybe(2):
		e.declare = e.define // everybody does
	case slices.ContainsFunc(g.functions, func(f entity) bool { return strings.HasSuffix(f.name, "table") }):
		// It may be in the table, which it must fit into.
	default:
		e.declare = strings.NewReplacer("(int);", "(long);", "[", "[1 + ").Replace(e.declare)
	}
}

// body is statements that change x.
func (g *generator) body(file int) string {
	var b strings.Builder
	for range 1 + g.r.IntN(4) {
		fmt.Fprintf(&b, "  %s\n", g.statement(file))
	}
	return b.String()
}

// statements are of what bodies are made; statement says what the names mean.
var statements = []string{
	"x += $function;", "x += $function;", "x += $function;", "x += $function;", "x += $variable;", "x += $variable;",
	"x += $variable;",
	"x ^= $n;", "x += FILE;", "x += $started;",
	"{ __shared__ $type s$n[$size]; s$n[threadIdx.x % $size] = x; __syncthreads(); x += (int)s$n[x & 1]; }",
	"{ __shared__ $type s$n[$size]; s$n[threadIdx.x % $size] = x; __syncwarp(); x += (int)s$n[x & 1]; }",
	"x += pooled(x);", "x += $dynamic;", "x += $dynamic;",
	`printf("$n %d\n", x);`, "{ int *m = (int *)malloc(x); if (m) { *m = x; x += *m; free(m); } }", "assert(x != $n);",
	"{ int a[$size]; for (int i = 0; i < $size; i++) a[i] = x + i; x = a[x % $size]; }",
	"x += inlined<3>(x);", "x += inlined<5>(x);", "x += counted(x);", "x += templated<$digit>;",
	"x += inlineVariable[x & 3] + (int)inlineConstant;",
	"x += shape(x)->area(x);",
	"{ Square s; int (Shape::*m)(int) = x & 1 ? &Shape::grow : &Shape::area; x += (s.*m)(x); }",
	"x = (int)(sin((double)x) * $n.25 + sqrt((double)x) / $size.0);", "x = (int)(powf(x, $n.5f) * 1.0e-$digit);",
	"{ static const double row[] = {1.5, $n.5, 3.75, $size}; x += (int)row[x & 3]; }",
	"x += (int)(($type)x * ($type)$n / ($type)(x + 1));",
	`asm volatile("bar.sync $digit, 64;");`, "x += __shfl_sync(~0u, x, $digit);", "x += __any_sync(~0u, x > $n);",
	"__nanosleep($n);",
	"{ auto l = [=] __attribute__((noinline)) (int y) { return x * y + $function; }; x += l(x); }",
	"switch (x) { case 1: x = $n; break; case 2: x += 7; break; case 3: x *= 5; break; " +
		"case 4: x ^= 9; break; case 5: x -= $size; break; }",
	`switch (x) { case 1: x = $function; break; case 2: printf("%d", x); break; case 3: x = x / $digit; break; ` +
		`case 4: __syncthreads(); break; case 5: x = __popc(x); break; case 6: x = $variable; break; }`,
}

func (g *generator) statement(file int) string {
	n, typ := g.r.IntN(1000), g.pick("int", "double", "char", "short", "float")
	text := statements[g.r.IntN(len(statements))]
	return os.Expand(text, func(name string) string {
		switch name {
		case "n":
			return fmt.Sprint(n)
		case "digit":
			return fmt.Sprint(1 + n%9)
		case "size":
			return fmt.Sprint(2 + n%60)
		case "type":
			return typ
		case "function":
			return g.seen(file, g.functions)
		case "variable":
			return g.seen(file, g.variables)
		case "started":
			return g.started(file)
		case "dynamic":
			if g.dynamic {
				return "dynamic[(x + 1) & 7]"
			}
		}
		return "x"
	})
}

// seen uses something that the file can see.
func (g *generator) seen(file int, list []entity) string {
	if len(list) == 0 {
		return "x"
	}
	if e := list[g.r.IntN(len(list))]; e.visible(file) && e.use != "" {
		return e.use
	}
	return "x"
}

// started starts a kernel.
func (g *generator) started(file int) string {
	if !g.launches || file == noFile {
		return "x"
	}
	return g.seen(file, g.kernels)
}

// common is what every file begins with; the functions in it are the same
// everywhere.
const common = `#include <cstdio>
#include <cassert>
#if __CUDA_ARCH__ >= 900
#define CLUSTER __cluster_dims__(2, 1, 1)
#else
#define CLUSTER
#endif
struct Large { int value[300]; };
template <int N> __device__ int templated = N;
inline __device__ int inlineVariable[4] = {4};
inline __constant__ double inlineConstant = 2.5;
template <int N> __device__ __noinline__ int inlined(int x) { return x * N + 1; }
inline __device__ __noinline__ int counted(int x) { static __device__ int calls = 7; return x + atomicAdd(&calls, 1); }
inline __device__ __noinline__ int pooled(int x) { __shared__ int pool[6]; pool[x % 6] = x; __syncthreads(); return pool[1]; }
struct Shape {
  __device__ virtual int area(int x) { return x; }
  __device__ __noinline__ int grow(int x) { return x + side; }
  int side = 3;
};
struct Square : Shape { __device__ int area(int x) override { return x * side; } };
inline __device__ __noinline__ Shape *shape(int x) { return x & 1 ? new Square : new Shape; }
`

// text is one file: declarations and definitions in the order of their making.
func (g *generator) text(file int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s#define FILE %d\n", common, file)
	if g.dynamic {
		b.WriteString("extern __shared__ int dynamic[];\n")
	}
	for _, list := range [][]entity{g.variables, g.functions, g.kernels} {
		for _, e := range list {
			b.WriteString(e.text(file))
		}
	}
	return b.String()
}
