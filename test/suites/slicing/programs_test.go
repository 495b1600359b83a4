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
	files := sources("a", "b", "d", "e", "f", "g", "i", "j", "k", "q", "u1", "v1")
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
