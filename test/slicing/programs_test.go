//go:build realtools

package slicing

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// adversarial is a program of everything that is hard to cut.
func adversarial(t *testing.T, tk kit.Toolkit, arch string) *rig {
	t.Helper()
	files := sources("a", "b", "d", "e", "f", "g", "i", "j", "k", "q", "u1", "v1")
	return newRig(t, tk, arch, build(t, tk, true, files...), "-L"+tk.Lib(), "-lcudadevrt")
}

// generatedSources is a program of many modules by test/gencorpus.
func generatedSources(t *testing.T, modules int) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("../gencorpus", dir, "--modules", fmt.Sprint(modules)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// generated are its objects.
func generated(t *testing.T, tk kit.Toolkit, modules int) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(generatedSources(t, modules), "*.cu"))
	if err != nil || len(files) < modules {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return build(t, tk, true, files...)
}

// amplifying writes a program whose kernels share large functions that are not inlined.
func amplifying(t *testing.T, tk kit.Toolkit) []string {
	t.Helper()
	var lib, kernels, calls strings.Builder
	for f := range 8 {
		declaration := fmt.Sprintf("__device__ __noinline__ float big%d(float x, const float *p)", f)
		fmt.Fprintf(&lib, "%s {\n  float y = x;\n", declaration)
		for i := range 60 {
			fmt.Fprintf(&lib, "  if (y > %d.5f) y -= sinf(x * p[%d]); else x = y / (%d.25f + expf(p[%d]));\n", i, i, f+i, i+f)
		}
		lib.WriteString("  return x + y;\n}\n")
		fmt.Fprintf(&kernels, "%s;\n", declaration)
		fmt.Fprintf(&calls, " + big%d(*p, p)", f)
	}
	for k := range 16 {
		fmt.Fprintf(&kernels, "__global__ void k%d(float *p) { *p = %d%s; }\n", k, k, calls.String())
	}
	dir := t.TempDir()
	var files []string
	for name, text := range map[string]string{"lib.cu": lib.String(), "kernels.cu": kernels.String()} {
		files = append(files, filepath.Join(dir, name))
		if err := os.WriteFile(files[len(files)-1], []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return build(t, tk, true, slices.Sorted(slices.Values(files))...)
}
