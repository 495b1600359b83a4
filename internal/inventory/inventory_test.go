package inventory_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/warpld/warpld/internal/inventory"
	"github.com/warpld/warpld/internal/object/container"
	"github.com/warpld/warpld/internal/object/objecttest"
)

func write(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)); err != nil {
		t.Fatal(err)
	}
	return path
}

// The files of folders, archives, thin archives and wheels are found in the order of the
// arguments, whatever is read first.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	cubin := objecttest.Cubin(objecttest.CubinFile{Arch: 80})
	write(t, filepath.Join(dir, "tree/b.cubin"), cubin)
	write(t, filepath.Join(dir, "tree/a/c.cubin"), cubin)
	write(t, filepath.Join(dir, "tree/readme"), []byte("text"))
	write(t, filepath.Join(dir, "tree/broken.o"), cubin[:100])
	if err := os.Symlink("b.cubin", filepath.Join(dir, "tree/link.cubin")); err != nil {
		t.Fatal(err)
	}
	var wheel bytes.Buffer
	z := zip.NewWriter(&wheel)
	w, err := z.Create("p/d.cubin")
	if err != nil {
		t.Fatal(err)
	}
	w.Write(cubin)
	z.Close()
	thin := objecttest.ThinArchive(objecttest.File{Name: "tree/b.cubin", Data: cubin})
	paths := []string{write(t, filepath.Join(dir, "x.whl"), wheel.Bytes()), write(t, filepath.Join(dir, "t.a"), thin),
		filepath.Join(dir, "tree")}
	names, warnings, err := inventory.Read(paths, func(f *container.File) (string, error) {
		name, err := filepath.Rel(dir, f.Name())
		return name, err
	})
	want := []string{"x.whl:p/d.cubin", "t.a:tree/b.cubin", "tree/a/c.cubin", "tree/b.cubin"}
	if err != nil || !slices.Equal(names, want) || len(warnings) != 1 {
		t.Errorf("%q, %v, %v; want %q", names, warnings, err, want)
	}
	stop := errors.New("enough")
	if _, _, err := inventory.Read(paths, func(*container.File) (int, error) { return 0, stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	for _, path := range []string{"tree/readme", "tree/broken.o", "missing"} {
		_, _, err := inventory.Read([]string{filepath.Join(dir, path)}, func(*container.File) (int, error) { return 0, nil })
		if err == nil {
			t.Errorf("%s can be read", path)
		}
	}
}
