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
)

//go:embed *.cu
var files embed.FS

// Hand are the modules of the programs that were written by hand.
var Hand = []string{"one.cu", "two.cu", "statics.cu"}

// kernelPattern matches the definition of a kernel that host code launches.
var kernelPattern = regexp.MustCompile(`\bK\(([ABC]_\w+)\)`)

// Write writes the modules of the hand programs to a folder and returns their paths.
func Write(dir string) ([]string, error) {
	var paths []string
	for _, name := range Hand {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		path, err := writeModule(dir, name, string(text))
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// WriteRandom writes one module of n random programs and returns its path. The same seed
// gives the same text.
func WriteRandom(dir string, seed uint64, n int) (string, error) {
	return writeModule(dir, fmt.Sprintf("random%d.cu", seed), random(seed, n))
}

// writeModule adds the macro for kernels, and a host function that launches all of them.
func writeModule(dir, name, text string) (string, error) {
	const macro = "#define K(name) extern \"C\" __global__ void name(int *o, int n)\n"
	launches := ""
	for _, match := range kernelPattern.FindAllStringSubmatch(text, -1) {
		launches += "  " + match[1] + "<<<1, 1>>>(o, n);\n"
	}
	path := filepath.Join(dir, name)
	base := name[:len(name)-len(filepath.Ext(name))]
	return path, os.WriteFile(path, []byte(macro+text+"\nvoid host_"+base+"(int *o, int n) {\n"+launches+"}\n"), 0o666)
}
