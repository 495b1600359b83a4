// Package programs checks the CUDA sources that the suites link.
package programs

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFirstLines: the first line of every source, here and beside the suites, is a comment that
// says what the source shows.
func TestFirstLines(t *testing.T) {
	found := 0
	for _, root := range []string{".", filepath.Join("..", "suites")} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains([]string{".cu", ".cc", ".c", ".h", ".ptx"}, filepath.Ext(path)) {
				return err
			}
			found++
			text, err := os.ReadFile(path)
			first, _, _ := strings.Cut(string(text), "\n")
			if !strings.HasPrefix(first, "// ") || len(strings.Fields(first)) < 4 {
				t.Errorf("%s: the first line does not say what the source shows: %q", path, first)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found == 0 {
		t.Error("no sources")
	}
}
