package reproduce

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/warpld/warpld/internal/assemble"
	"github.com/warpld/warpld/internal/toolkit"
)

func TestPackAssembly(t *testing.T) {
	out := filepath.Join(t.TempDir(), "linked")
	d := assemble.Difference{PTX: []byte("text"), Composed: []byte("ours"), Whole: []byte("theirs"),
		Arguments: []string{"-arch", "sm_80"}}
	m, err := PackAssembly(out, toolkit.Version{Major: 13, Patch: 88}, d)
	if err != nil || !strings.Contains(strings.Join(m.Notes, "\n"), out+".difference.tar.zst") {
		t.Fatalf("%+v, %v", m, err)
	}
	f, err := os.Open(out + ".difference.tar.zst")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	got := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got[h.Name] = string(data)
	}
	if len(got) != 4 || got["input.ptx"] != "text" || got["composed.cubin"] != "ours" || got["whole.cubin"] != "theirs" ||
		!strings.Contains(got["assembly.json"], `"sm_80"`) {
		t.Errorf("%q", got)
	}
	if m, err := PackAssembly(filepath.Join(out, "missing"), toolkit.Version{}, d); err != nil ||
		!strings.Contains(m.Notes[0], "could not be packed") {
		t.Errorf("without a place for it: %+v, %v", m, err)
	}
}
