//go:build realtools

package cache

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// TestHostCode: after an edit of host code alone no tool runs.
func TestHostCode(t *testing.T) {
	tk := kit.Toolkits(t)[0]
	sources, err := kit.Generate(t.TempDir(), "--modules", "2", "--size", "1")
	if err != nil {
		t.Fatal(err)
	}
	for _, options := range [][]string{kit.Stored, kit.LTO} {
		before := compile(t, tk, options, sources)
		text, err := os.ReadFile(sources[len(sources)-1])
		if err != nil {
			t.Fatal(err)
		}
		edited := bytes.ReplaceAll(text, []byte("<<<64"), []byte("<<<32"))
		if bytes.Equal(text, edited) {
			t.Fatal("nothing to edit")
		}
		replace(t, sources[len(sources)-1], edited)
		after := compile(t, tk, options, sources)
		replace(t, sources[len(sources)-1], text)
		for _, mode := range []string{"exact", "fast --warpld-slice-size=0"} {
			dir := t.TempDir()
			warpld := kit.Caching(t, dir, "--warpld-mode="+mode+" --warpld-cuda="+tk.Root)
			var results []kit.Result
			for _, objects := range [][]string{before, after} {
				job := kit.NewJob(t, objects, "-dlto", "-arch=sm_80", "-nvvmpath="+tk.NVVM(), "-o", "linked")
				for _, object := range objects {
					job.Args = append(job.Args, filepath.Base(object))
				}
				results = append(results, link(t, warpld, job))
				why := kit.CacheCommand(t, dir, "why", filepath.Join(job.Dir, "linked"))
				if ran := strings.Contains(why, ": run,"); ran == (len(results) == 2) || why == "" {
					t.Errorf("%s, link %d:\n%s", mode, len(results), why)
				}
			}
			if !bytes.Equal(results[0].Files["linked"], results[1].Files["linked"]) || results[0].Exit != 0 {
				t.Errorf("%s: the results differ, or it fails: %s", mode, results[0].Stderr)
			}
		}
	}
}

func compile(t *testing.T, tk kit.Toolkit, options, sources []string) []string {
	t.Helper()
	objects, err := tk.Compile(options, sources...)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func replace(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
