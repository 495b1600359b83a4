package reproduce

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

func TestRoundTrip(t *testing.T) {
	source := filepath.Join(t.TempDir(), "a.o")
	if err := os.WriteFile(source, []byte("object"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := &Package{Warpld: "1.2.3", CUDA: "13.0.88", LLVM: 22, Arguments: []string{"--dlto", "inputs/00000-a.o"},
		Output:  "x.cubin",
		Toolkit: []FromToolkit{{"libraries/00000/libcudadevrt.a", "libcudadevrt.a"}}}
	files := []File{{Name: "inputs/00000-a.o", Path: source},
		{Name: "inputs/00001-a.o", Path: source, SameAs: "inputs/00000-a.o"}, {Name: "libraries/00000/libm.so"}}
	var first, second bytes.Buffer
	if err := errors.Join(Write(&first, want, files), os.Chtimes(source, time.Unix(7, 0), time.Unix(7, 0)),
		Write(&second, want, files)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same link was packed into other bytes")
	}
	dir := t.TempDir()
	got, err := Unpack(&first, int64(first.Len()), dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := got.LinkToolkit(dir, func(file string) (string, error) { return "/cuda/" + file, nil }); err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(filepath.Join(dir, "libraries/00000/libcudadevrt.a")); err != nil ||
		target != "/cuda/libcudadevrt.a" {
		t.Error(target, err)
	}
	a, errA := os.Stat(filepath.Join(dir, "inputs/00000-a.o"))
	b, errB := os.Stat(filepath.Join(dir, "inputs/00001-a.o"))
	if errA != nil || errB != nil || !os.SameFile(a, b) || a.Size() != 6 {
		t.Error("one file became two:", a, b, errA, errB)
	}
}

// archive makes one of any entries.
func archive(tb testing.TB, manifest any, entries ...tar.Header) []byte {
	tb.Helper()
	text, err := json.Marshal(manifest)
	if err != nil {
		tb.Fatal(err)
	}
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out)
	if err != nil {
		tb.Fatal(err)
	}
	z.Write(plainTar(tb, text, entries...))
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func plainTar(tb testing.TB, manifest []byte, entries ...tar.Header) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err := w.WriteHeader(&tar.Header{Name: "link.json", Typeflag: tar.TypeReg, Size: int64(len(manifest))})
	w.Write(manifest)
	for _, h := range entries {
		err = errors.Join(err, w.WriteHeader(&h))
		for range h.Size / 1024 {
			w.Write(make([]byte, 1024))
		}
	}
	if err := errors.Join(err, w.Close()); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func TestHostileArchives(t *testing.T) {
	good := Package{Format: Format}
	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg} }
	tests := []struct {
		name string
		data []byte
		want error
	}{
		{"no archive", []byte("text"), ErrFormat},
		{"empty", nil, ErrFormat},
		{"future", archive(t, Package{Format: 99}), ErrVersion},
		{"no format", archive(t, Package{}), ErrVersion},
		{"absolute", archive(t, good, file("/etc/x")), ErrFormat},
		{"up", archive(t, good, file("inputs/../../x")), ErrFormat},
		{"elsewhere", archive(t, good, file("x")), ErrFormat},
		{"unclean", archive(t, good, file("inputs//x")), ErrFormat},
		{"folder", archive(t, good, tar.Header{Name: "inputs/x", Typeflag: tar.TypeDir}), ErrFormat},
		{"symlink", archive(t, good, tar.Header{Name: "inputs/x", Typeflag: tar.TypeSymlink, Linkname: "/etc"}), ErrFormat},
		{"link out", archive(t, good, tar.Header{Name: "inputs/x", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}),
			ErrFormat},
		{"device", archive(t, good, tar.Header{Name: "inputs/x", Typeflag: tar.TypeChar}), ErrFormat},
		{"twice", archive(t, good, file("inputs/x"), file("inputs/x")), ErrFormat},
		{"below a file", archive(t, good, file("inputs/x"), file("inputs/x/y")), fs.ErrExist},
		{"bomb", archive(t, good, tar.Header{Name: "inputs/x", Typeflag: tar.TypeReg, Size: 80 << 20}), ErrLimit},
		{"output", archive(t, Package{Format: Format, Output: "../x"}), ErrFormat},
		{"toolkit", archive(t, Package{Format: Format, Toolkit: []FromToolkit{{"../x", "liba.a"}}}), ErrFormat},
		{"toolkit's file", archive(t, Package{Format: Format, Toolkit: []FromToolkit{{"inputs/x", "../../liba.a"}}}),
			ErrFormat},
		{"toolkit over a file", archive(t, Package{Format: Format, Toolkit: []FromToolkit{{"inputs/x", "liba.a"}}},
			file("inputs/x")), ErrFormat},
	}
	for _, test := range tests {
		dir := filepath.Join(t.TempDir(), "a", "b")
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		_, err := Unpack(bytes.NewReader(test.data), int64(len(test.data)), dir)
		if !errors.Is(err, test.want) && !(test.want == fs.ErrExist && err != nil) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
		outside(t, dir)
	}
}

// outside fails if there is anything beside the folder that was unpacked into, which
// is two below the test's.
func outside(tb testing.TB, dir string) {
	tb.Helper()
	var found []string
	filepath.WalkDir(filepath.Dir(filepath.Dir(dir)), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !strings.HasPrefix(path, dir) {
			found = append(found, path)
		}
		if err == nil && !d.IsDir() && !d.Type().IsRegular() {
			tb.Errorf("%s is no file", path)
		}
		return err
	})
	if want := []string{filepath.Dir(filepath.Dir(dir)), filepath.Dir(dir)}; !slices.Equal(found, want) {
		tb.Errorf("there is %v, want %v", found, want)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(archive(f, Package{Format: Format, Arguments: []string{"inputs/x"}},
		tar.Header{Name: "inputs/x", Typeflag: tar.TypeReg}))
	f.Add(archive(f, Package{Format: Format}, tar.Header{Name: "inputs/x", Typeflag: tar.TypeSymlink, Linkname: ".."}))
	f.Add(plainTar(f, []byte(`{"format": 1}`), tar.Header{Name: "inputs/x", Typeflag: tar.TypeReg},
		tar.Header{Name: "inputs/../../y", Typeflag: tar.TypeLink, Linkname: "inputs/x"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := filepath.Join(t.TempDir(), "a", "b")
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		Unpack(bytes.NewReader(data), int64(len(data)), dir)
		// What the compression hides is given without it, too.
		var packed bytes.Buffer
		z, err := zstd.NewWriter(&packed, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		z.Write(data)
		z.Close()
		Unpack(&packed, int64(packed.Len()), dir)
		outside(t, dir)
	})
}
