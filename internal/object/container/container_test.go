package container_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/object/container"
	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/internal/object/objecttest"
)

var (
	fat = objecttest.Fatbin(
		objecttest.Member{Kind: 2, Arch: 80, Payload: objecttest.Cubin(objecttest.CubinFile{Arch: 80}), Compression: "zstd"},
		objecttest.Member{Kind: 1, Arch: 90, Payload: []byte(".version 9.0"), Compression: "lz4"})
	two = append(append(bytes.Clone(fat), make([]byte, 24)...), fat...)
)

// linked returns a host's file of a type, with device code for a link and without, and the
// table of both.
func linked(kind, machine uint16, sections ...objecttest.Section) []byte {
	return objecttest.ELF(objecttest.ELFFile{Type: kind, Machine: machine, Sections: append([]objecttest.Section{
		{Name: ".text", Flags: 6, Data: []byte("code")},
		{Name: ".nv_fatbin", Flags: 2, Data: two},
		{Name: "__nv_relfatbin", Flags: 2, Data: fat},
		{Name: ".nvFatBinSegment", Flags: 3, Data: make([]byte, 72)}}, sections...)})
}

func wheel(t testing.TB, method uint16, files map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range files {
			if !yield(name) {
				return
			}
		}
	}) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(files[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A walk is what a Walker finds.
type walk struct {
	files   []string // name, kind, regions with the number of their containers
	damaged []string
	bytes   int64
}

func (k *walk) walker() *container.Walker {
	return &container.Walker{
		Visit: func(f *container.File) error {
			text := f.Name() + " " + f.Kind.String()
			for _, g := range f.Regions {
				text += " " + g.Section + strings.Repeat("+", len(g.Containers)+len(g.Images))
				if g.Problem != nil {
					text += "!"
				}
				k.bytes += g.Size
			}
			k.files = append(k.files, text)
			return nil
		},
		Damaged: func(name string, err error) error {
			k.damaged = append(k.damaged, name)
			return nil
		},
		Store: func(r io.Reader, size int64) (io.ReaderAt, func(), error) {
			data, err := io.ReadAll(io.LimitReader(r, size))
			return bytes.NewReader(data), func() {}, err
		},
	}
}

func find(data []byte) (*walk, error) {
	var k walk
	return &k, k.walker().Walk("x", bytes.NewReader(data), int64(len(data)))
}

func TestWalk(t *testing.T) {
	const x86, arm = uint16(elf64.X8664), uint16(elf64.AArch64)
	library := linked(3, x86)
	cubin := objecttest.Cubin(objecttest.CubinFile{Arch: 80})
	nested := objecttest.Archive(objecttest.File{Name: "a.o", Data: linked(1, x86)},
		objecttest.File{Name: "readme", Data: []byte("text")}, objecttest.File{Name: "b.cubin", Data: cubin})
	all := " .nv_fatbin++ __nv_relfatbin+ .nvFatBinSegment"
	for name, test := range map[string]struct {
		data []byte
		want []string
	}{
		"object":     {linked(1, x86), []string{"x object" + all}},
		"library":    {library, []string{"x shared library" + all}},
		"executable": {linked(2, arm), []string{"x executable" + all}},
		"PIE": {linked(3, arm, objecttest.Section{Name: ".interp", Data: []byte("ld.so\x00")}),
			[]string{"x executable" + all}},
		"fat binary":     {two, []string{"x fat binary ++"}},
		"cubin":          {cubin, []string{"x cubin "}},
		"no device code": {objecttest.HostObject(nil, "", nil), []string{"x object"}},
		"archive":        {nested, []string{"x:a.o object" + all, "x:b.cubin cubin "}},
		"wheel": {wheel(t, zip.Deflate, map[string][]byte{"p/l.so": library, "p/t.py": []byte("import os")}),
			[]string{"x:p/l.so shared library" + all}},
		"stored wheel": {wheel(t, zip.Store, map[string][]byte{"l.so": library}),
			[]string{"x:l.so shared library" + all}},
		"archive in wheel": {wheel(t, zip.Deflate, map[string][]byte{"l.a": nested}),
			[]string{"x:l.a:a.o object" + all, "x:l.a:b.cubin cubin "}},
		"clang's object": {objecttest.ClangObject(objecttest.Offloading(objecttest.OffloadImage{Kind: 3,
			Triple: "nvptx64-nvidia-cuda", Arch: "sm_80", Data: cubin}), nil, nil), []string{"x object .llvm.offloading+"}},
	} {
		k, err := find(test.data)
		if err != nil || len(k.damaged) > 0 || !slices.Equal(k.files, test.want) {
			t.Errorf("%s: %q, %v, damaged %q; want %q", name, k.files, err, k.damaged, test.want)
		}
	}
}

func TestDamaged(t *testing.T) {
	cut := bytes.Clone(two)
	cut = cut[:len(cut)-30]
	library := linked(3, uint16(elf64.X8664))
	for name, test := range map[string]struct {
		data    []byte
		files   int
		damaged int
		want    error
	}{
		"empty":              {nil, 0, 0, container.ErrUnknown},
		"text":               {[]byte("this is no file that has device code"), 0, 0, container.ErrUnknown},
		"cut library":        {library[:len(library)-100], 0, 0, elf64.ErrTruncated},
		"second cut":         {cut, 1, 0, nil},
		"wheel cut off":      {wheel(t, zip.Deflate, map[string][]byte{"a": library})[:200], 0, 0, container.ErrFormat},
		"damaged in archive": {objecttest.Archive(objecttest.File{Name: "a.o", Data: library[:300]}), 0, 1, nil},
		"damaged in wheel":   {wheel(t, zip.Deflate, map[string][]byte{"a.so": library[:300], "b.so": library}), 1, 1, nil},
	} {
		k, err := find(test.data)
		if !errors.Is(err, test.want) || len(k.files) != test.files || len(k.damaged) != test.damaged {
			t.Errorf("%s: %v, files %q, damaged %q", name, err, k.files, k.damaged)
		}
	}
	k, _ := find(cut)
	if !strings.HasSuffix(k.files[0], "+!") {
		t.Errorf("the first of two fat binaries is not read: %q", k.files)
	}
}

// Files in files in files end.
func TestDepth(t *testing.T) {
	data := linked(1, uint16(elf64.X8664))
	for range 6 {
		data = objecttest.Archive(objecttest.File{Name: "a", Data: data})
	}
	if k, err := find(data); err != nil || len(k.files) != 0 || len(k.damaged) != 1 {
		t.Errorf("%v, %q, %q", err, k.files, k.damaged)
	}
}

func TestVisitFails(t *testing.T) {
	stop := errors.New("enough")
	w := (&walk{}).walker()
	w.Visit = func(*container.File) error { return stop }
	data := objecttest.Archive(objecttest.File{Name: "a", Data: linked(1, uint16(elf64.X8664))})
	if err := w.Walk("x", bytes.NewReader(data), int64(len(data))); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

func FuzzWalk(f *testing.F) {
	library := linked(3, uint16(elf64.X8664))
	f.Add(library)
	f.Add(two)
	f.Add(objecttest.Archive(objecttest.File{Name: "a.o", Data: linked(1, uint16(elf64.AArch64))}))
	f.Add(wheel(f, zip.Deflate, map[string][]byte{"l.so": library}))
	f.Add(wheel(f, zip.Store, map[string][]byte{"l.fatbin": fat}))
	f.Fuzz(func(t *testing.T, data []byte) {
		k, err := find(data)
		if err != nil {
			return
		}
		// Sections don't overlap, and Deflate has its limit.
		if k.bytes > 1100*int64(len(data))+1<<16 {
			t.Fatalf("%d bytes of device code in %d", k.bytes, len(data))
		}
	})
}
