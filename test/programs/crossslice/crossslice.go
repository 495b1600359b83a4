// Package crossslice has small CUDA programs whose kernels share variables and functions.
// They show whether a link that compiles kernels apart gives the code of one that compiles
// all of them together. Sixty programs are in one.cu and two.cu, others in statics.cu, and
// Random writes as many as wanted.
package crossslice

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed *.cu
var files embed.FS

// kernelPattern matches the definition of a kernel that host code launches.
var kernelPattern = regexp.MustCompile(`\bK\(([ABC]_\w+)\)`)

// Write writes the modules of the hand programs to a folder and returns their paths. Small
// modules make small slices, which take less time to compile.
func Write(dir string) ([]string, error) {
	const most = 12 // programs of a module
	var paths []string
	for _, name := range []string{"one", "two", "statics"} {
		text, err := files.ReadFile(name + ".cu")
		if err != nil {
			return nil, err
		}
		i := 0
		for programs := range slices.Chunk(strings.Split(string(text), "\n\n"), most) {
			i++
			path, err := writeModule(dir, fmt.Sprintf("%s%d", name, i), strings.Join(programs, "\n\n"))
			if err != nil {
				return nil, err
			}
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// WriteRandom writes one module of n random programs and returns its path. The same seed
// gives the same text.
func WriteRandom(dir string, seed uint64, n int) (string, error) {
	return writeModule(dir, fmt.Sprintf("random%d", seed), random(seed, n))
}

// writeModule adds the macro for kernels, and a host function that launches all of them.
func writeModule(dir, name, text string) (string, error) {
	const macro = "#define K(name) extern \"C\" __global__ void name(int *o, int n)\n"
	launches := ""
	for _, match := range kernelPattern.FindAllStringSubmatch(text, -1) {
		launches += "  " + match[1] + "<<<1, 1>>>(o, n);\n"
	}
	path := filepath.Join(dir, name+".cu")
	host := "\nvoid host_" + name + "(int *o, int n) {\n" + launches + "}\n"
	return path, os.WriteFile(path, []byte(macro+text+host), 0o666)
}
