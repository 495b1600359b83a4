//go:build realtools

package slicing

import (
	"fmt"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// adversarial is a program of everything that is hard to cut.
func adversarial(t *testing.T, tk kit.Toolkit, arch string) *rig {
	t.Helper()
	files := sources("writers", "readers", "launches", "local_names1", "local_names2", "pointer_target",
		"pointer_calls1", "pointer_calls2", "similar_kernels", "inline_variables", "static_kernels1", "static_kernels2")
	return newRig(t, tk, arch, build(t, tk, true, files...), "-L"+tk.Lib(), "-lcudadevrt")
}

// generatedSources is a program of many modules.
func generatedSources(t *testing.T, modules int) []string {
	t.Helper()
	files, err := kit.Generate(t.TempDir(), "--modules", fmt.Sprint(modules))
	if err != nil || len(files) < modules {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files
}

// generated are its objects.
func generated(t *testing.T, tk kit.Toolkit, modules int) []string {
	t.Helper()
	return build(t, tk, true, generatedSources(t, modules)...)
}
