package kit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Repository is the folder that this repository is in, for whoever runs somewhere
// in it.
func Repository() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
	}
	return "", errors.Join(err, errors.New("run this inside warpld's repository"))
}

// Generate writes the program of test/programs/gencorpus into dir and gives its sources.
func Generate(dir string, options ...string) ([]string, error) {
	root, err := Repository()
	if err != nil {
		return nil, err
	}
	if out, err := exec.Command(filepath.Join(root, "test", "programs", "gencorpus"),
		append([]string{dir}, options...)...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("gencorpus: %w\n%s", err, out)
	}
	return filepath.Glob(filepath.Join(dir, "*.cu"))
}

// Amplifying writes a program into dir whose 16 kernels share 8 large functions that
// are not inlined, so that slices would compile them over and over.
func Amplifying(dir string) ([]string, error) {
	var lib, kernels, calls strings.Builder
	for f := range 8 {
		declaration := fmt.Sprintf("__device__ __noinline__ float big%d(float x, const float *p)", f)
		fmt.Fprintf(&lib, "%s {\n  float y = x;\n", declaration)
		for i := range 60 {
			fmt.Fprintf(&lib, "  y = fmaf(x, p[%d], fminf(y, %d.5f)); if (y > p[%d]) x -= y * %d.25f;\n", i, i, i+f, f+i)
		}
		lib.WriteString("  return x + y;\n}\n")
		fmt.Fprintf(&kernels, "%s;\n", declaration)
		fmt.Fprintf(&calls, " + big%d(*p, p)", f)
	}
	for k := range 16 {
		fmt.Fprintf(&kernels, "__global__ void k%d(float *p) { *p = %d%s; }\n", k, k, calls.String())
	}
	files := []string{filepath.Join(dir, "kernels.cu"), filepath.Join(dir, "lib.cu")}
	return files, errors.Join(os.WriteFile(files[0], []byte(kernels.String()), 0o644),
		os.WriteFile(files[1], []byte(lib.String()), 0o644))
}

// Thrust copies the program of test/programs/thrust into dir and gives its sources.
func Thrust(dir string) ([]string, error) {
	root, err := Repository()
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "test", "programs", "thrust"))); err != nil &&
		!errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return filepath.Glob(filepath.Join(dir, "*.cu"))
}
