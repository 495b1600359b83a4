package crossslice

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A generator writes one random program after the other: a variable of some type, and the
// kernels A, B and C that read and write it.
type generator struct {
	*rand.Rand
	number   int
	kind     string // scalar, array, struct, pointer
	element  string // type of a scalar, or of an array's elements
	elements int    // of an array
}

// kinds and writes are what a generator picks from; what is there twice is twice as likely.
// small are the types of less than four bytes.
var (
	kinds = []string{"scalar", "scalar", "scalar", "scalar", "array", "array", "array", "array", "struct", "struct",
		"pointer", "static"}
	small  = []string{"char", "short", "bool", "unsigned char"}
	writes = []string{"constant", "constant", "value", "value", "value", "if constant", "if value", "loop", "atomic",
		"function", "select", "copy", "never"}
)

// random returns the text of n programs.
func random(seed uint64, n int) string {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	var text strings.Builder
	text.WriteString("#include <string.h>\n\n")
	for g.number = range n {
		text.WriteString(g.program())
	}
	return text.String()
}

// pick returns one of the choices.
func (g *generator) pick(choices ...string) string { return choices[g.IntN(len(choices))] }

// name is the variable's.
func (g *generator) name() string { return fmt.Sprintf("v%d", g.number) }

// program returns the text of one program.
func (g *generator) program() string {
	text := g.declaration()
	text += fmt.Sprintf("__device__ __noinline__ void h%d(void *p, int x) { *(int *)p = x; }\n", g.number)
	a, b, c := g.some(g.read), g.some(g.write), g.read()
	switch g.pick("write", "write", "write", "write", "read", "both", "all", "nobody reads") {
	case "read":
		b = g.read()
	case "both":
		b += g.read()
	case "all":
		a, b, c = a+g.write(), b+g.read(), c+g.write()
	case "nobody reads":
		a, c = g.write(), g.write()
	}
	for _, kernel := range [][2]string{{"A", a}, {"B", b}, {"C", c}} {
		text += fmt.Sprintf("K(%s_%d) { %s}\n", kernel[0], g.number, kernel[1])
	}
	return text + "\n"
}

// some returns one statement or two.
func (g *generator) some(statement func() string) string {
	text := statement()
	if g.IntN(3) == 0 {
		text += statement()
	}
	return text
}

// declaration returns the definition of the variable.
func (g *generator) declaration() string {
	v, initialized, linkage := g.name(), g.IntN(2) == 0, g.pick("", "", "static ")
	g.kind = g.pick(kinds...)
	g.element = g.pick("int", "unsigned", "float", "double", "char", "short", "long long", "unsigned char", "bool")
	value := func(text string) string {
		if initialized {
			return " = " + text + ";\n"
		}
		return ";\n"
	}
	switch g.kind {
	case "scalar":
		return linkage + "__device__ " + g.element + " " + v + value("5")
	case "array":
		g.elements = []int{2, 4, 16, 64}[g.IntN(4)]
		return fmt.Sprintf("%s__device__ %s %s[%d]", linkage, g.element, v, g.elements) + value("{1, 0}")
	case "struct":
		definition := fmt.Sprintf("struct s%d { int a; float b; char c[8]; short e; };\n", g.number)
		return definition + fmt.Sprintf("%s__device__ s%d %s", linkage, g.number, v) + value("{1, 2, {3}}")
	case "pointer":
		return fmt.Sprintf("__device__ int %sx[8];\n__device__ int *%s", v, v) + value(v+"x")
	}
	// A static variable of a function; a macro has the name of the others' variables.
	function := g.pick("__device__ int", "template <class Q> __device__ int", "inline __device__ int")
	argument := ""
	if strings.HasPrefix(function, "template") {
		argument = "<int>"
	}
	g.element = "int"
	return fmt.Sprintf("%s &f%d() { static int w%d%s  return w%d; }\n#define %s f%d%s()\n",
		function, g.number, g.number, strings.TrimSuffix(value("5"), "\n"), g.number, v, g.number, argument)
}

// place returns an expression for the variable or a part of it.
func (g *generator) place(index string) string {
	switch g.kind {
	case "array":
		constant := fmt.Sprint(g.IntN(g.elements))
		return g.name() + "[" + g.pick(fmt.Sprintf("%s & %d", index, g.elements-1), constant, constant) + "]"
	case "struct":
		return g.name() + "." + g.pick("a", "b", "c[1]", "c["+index+" & 7]", "e")
	}
	return g.name()
}

func (g *generator) constant() string { return g.pick("0", "1", "5", "2", "7") }

func (g *generator) value() string {
	return g.pick("n", "n * 3 + 1", "o[n]", "(n & 7)", "o[0] + n", "threadIdx.x")
}

// read returns a statement that reads the variable.
func (g *generator) read() string {
	if g.kind == "pointer" {
		return g.pointer("if (V) o[n] = V[n & 7]; ", "o[n + 1] = V[2]; ")
	}
	switch g.IntN(4) {
	case 0:
		return fmt.Sprintf("o[n] = (int)%s * 3; ", g.place("n"))
	case 1:
		return fmt.Sprintf("if (%s > %s) o[n + 2] = 1; ", g.place("n"), g.constant())
	case 2:
		return fmt.Sprintf("for (int i = 0; i < n; i++) o[i] += (int)%s; ", g.place("i"))
	}
	return fmt.Sprintf("{ int x = (int)%s; o[n + 3] = x; o[n + 4] = (int)%s + x; } ", g.place("n"), g.place("n"))
}

// pointer returns one of the statements, in which V is the variable.
func (g *generator) pointer(statements ...string) string {
	return strings.ReplaceAll(g.pick(statements...), "V", g.name())
}

// write returns a statement that writes the variable.
func (g *generator) write() string {
	if g.kind == "pointer" {
		return g.pointer("V = o; ", "V = Vx; ", "if (n > 4) V = o + n; ", "V[n & 7] = n; ")
	}
	switch g.pick(writes...) {
	case "constant":
		return fmt.Sprintf("%s = %s; ", g.place("n"), g.constant())
	case "if constant":
		return fmt.Sprintf("if (%s > 3) %s = %s; ", g.value(), g.place("n"), g.constant())
	case "if value":
		return fmt.Sprintf("if (%s > 3) %s = %s; ", g.value(), g.place("n"), g.value())
	case "loop":
		return fmt.Sprintf("for (int i = 0; i < n; i++) %s = o[i]; ", g.place("i"))
	case "atomic":
		if g.isInteger() {
			return fmt.Sprintf("atomicAdd((int *)&%s, n); ", g.name())
		}
	case "function":
		if g.kind != "scalar" || !slices.Contains(small, g.element) {
			return fmt.Sprintf("h%d(&%s, n); ", g.number, g.name())
		}
	case "select":
		element := g.element
		if g.kind == "struct" {
			element = "int"
		}
		return strings.ReplaceAll("{ T *p = n > 3 ? (T *)&"+g.name()+" : (T *)o; *p = (T)n; } ", "T", element)
	case "copy":
		return fmt.Sprintf("memcpy((void *)&%s, o, sizeof(%s)); ", g.name(), g.name())
	case "never":
		return fmt.Sprintf("if (blockDim.x > 1u << 20) %s = %s; ", g.place("n"), g.value())
	}
	return fmt.Sprintf("%s = %s; ", g.place("n"), g.value())
}

// isInteger reports whether the variable begins with an integer of four bytes.
func (g *generator) isInteger() bool {
	return g.kind == "struct" || g.element == "int" || g.element == "unsigned"
}
