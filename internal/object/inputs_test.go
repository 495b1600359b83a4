package object

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/internal/object/objecttest"
)

// origins lists objects; those that are ignored with the first words of why.
func origins(objects []*Object) (list []string) {
	for _, o := range objects {
		s := o.Origin.String()
		if o.Ignored != "" {
			s += " (" + strings.Join(strings.Fields(o.Ignored)[:3], " ") + ")"
		}
		list = append(list, s)
	}
	return list
}

func TestArchives(t *testing.T) {
	file := func(name string, data []byte) objecttest.File { return objecttest.File{Name: name, Data: data} }
	normal := objecttest.Archive(file("a.o", host), file("a_member_with_a_long_name.o", host))
	// The second member of another archive, whose name is at 5 among the names.
	nestedThin := []byte("!<thin>\n" + objecttest.ArchiveHeader("//", 10) + "normal.a/\n" +
		objecttest.ArchiveHeader(fmt.Sprintf("/0:%d", strings.Index(string(normal), "/5              ")), len(host)))
	files := map[string][]byte{
		"normal.a": normal,
		"mixed.a": objecttest.Archive(file("empty", nil), file("t.txt", unknown), file("c.cubin", code),
			file("bad.o", host[:200]), file("x", host), file("plain.o", plain)),
		"sub/thin.a":    objecttest.ThinArchive(file("b.o", host), file("deep/c.o", host)),
		"sub/b.o":       host,
		"sub/deep/c.o":  host,
		"nested.a":      nestedThin,
		"missing.a":     objecttest.ThinArchive(file("gone.o", host)),
		"cut.a":         normal[:len(normal)-100],
		"garbage.a":     append(normal[:len(normal):len(normal)], strings.Repeat("x", 70)...),
		"none.a":        []byte("!<arch>\n"),
		"archive.o":     normal,
		"archive.cubin": normal,
	}
	tests := []struct {
		path string
		want []string // or nvlink's message after "!"
	}{
		{"normal.a", []string{"normal.a:a.o", "normal.a:a_member_with_a_long_name.o"}},
		{"archive.o", []string{"archive.o:a.o", "archive.o:a_member_with_a_long_name.o"}},
		{"archive.cubin", []string{"!cubin not an elf?"}},
		{"none.a", nil},
		{"mixed.a", []string{"mixed.a:empty (it is empty)", "mixed.a:t.txt (it is neither)", "mixed.a:c.cubin (it is device)",
			"mixed.a:bad.o (it is damaged:)", "mixed.a:x", "mixed.a:plain.o (it holds no)"}},
		{"sub/thin.a", []string{"sub/thin.a:b.o", "sub/thin.a:deep/c.o"}},
		{"nested.a", []string{"nested.a:a_member_with_a_long_name.o"}},
		{"missing.a", []string{"!Could not open input file 'gone.o'; elfLink internal error"}},
		{"cut.a", []string{"cut.a:a.o", "cut.a (the rest of)"}},
		{"garbage.a", []string{"!unexpected archive format; elfLink internal error"}},
	}
	t.Chdir(write(t, files))
	for _, test := range tests {
		objects, err := Read(test.path, false, nil)
		got := origins(objects)
		if err != nil {
			got = []string{"!" + message.Of(err).Error()}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s:\n%s", test.path, diff)
		}
		for _, o := range objects {
			if o.Ignored == "" {
				data(t, o) // can be read
			}
		}
	}
	_, err := ReadAll(Inputs{Files: []string{"cut.a"}, Release: gpu.Release{Major: 13, Minor: 4}}, nil)
	if message.Of(err).Error() != "archive member size exceeds library bounds; elfLink internal error" {
		t.Errorf("cut.a with 13.4: %v", err)
	}
}

// Files come before libraries, in their order; an archive counts once, an
// object as often as it is named.
func TestOrder(t *testing.T) {
	archive := objecttest.Archive(objecttest.File{Name: "a.o", Data: host})
	t.Chdir(write(t, map[string][]byte{"o.o": host, "lib/libx.a": archive, "lib/liby.a": archive}))
	for old, copied := range map[string]string{"lib/libx.a": "hard.a", "lib/liby.a": "other/liby.a"} {
		os.MkdirAll(filepath.Dir(copied), 0o777)
		if err := os.Link(old, copied); err != nil {
			t.Fatal(err)
		}
	}
	objects, err := ReadAll(Inputs{Files: []string{"o.o", "hard.a", "./o.o", "lib/libx.a"},
		Libraries:   []string{"y", "x", "y"},
		LibraryPath: []string{"lib"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"o.o", "hard.a:a.o", "./o.o", "lib/liby.a:a.o"}, origins(objects)); diff != "" {
		t.Error(diff)
	}
}

func TestLibraries(t *testing.T) {
	archive := objecttest.Archive(objecttest.File{Name: "a.o", Data: host})
	aarch64 := objecttest.Archive(objecttest.File{Name: "a.o", Data: objecttest.ELF(objecttest.ELFFile{Machine: 183})})
	t.Chdir(write(t, map[string][]byte{
		"1/libshared.a": archive, "2/libshared.so": nil,
		"1/libarm.a": aarch64, "2/libarm.a": archive,
		"1/libnone.a": []byte("!<arch>\n"), "2/libnone.a": archive,
		"1/libtext.a": unknown, "2/libtext.a": archive,
		"1/libjunk.a": objecttest.Archive(objecttest.File{Name: "t.txt", Data: unknown}),
		"1/libthin.a": objecttest.ThinArchive(objecttest.File{Name: "t.o", Data: host}), "1/t.o": host,
		"1/libcode.a": objecttest.Archive(objecttest.File{Name: "c.o", Data: code}, objecttest.File{Name: "a.o", Data: host}),
	}))
	tests := []struct {
		name     string
		machine  elf64.Machine
		want     []string // or nvlink's message after "!"
		reported []string
	}{
		{"shared", 0, nil, []string{"-lshared is the shared library '2/libshared.so', from which no device code is linked"}},
		{"arm", elf64.X8664, []string{"2/libarm.a:a.o"},
			[]string{"Skipping incompatible './1/libarm.a' when searching for -larm"}},
		{"arm", 0, []string{"./1/libarm.a:a.o (it holds no)"}, nil},
		{"none", 0, []string{"2/libnone.a:a.o"}, []string{"Skipping incompatible './1/libnone.a' when searching for -lnone"}},
		{"junk", 0, nil, []string{"Skipping incompatible './1/libjunk.a' when searching for -ljunk"}},
		{"code", elf64.X8664, []string{"./1/libcode.a:c.o (it is device)", "./1/libcode.a:a.o"}, nil},
		{"thin", elf64.X8664, []string{"./1/libthin.a:t.o"}, nil},
		{"text", 0, []string{"!unexpected archive format; elfLink internal error"}, nil},
		{"missing", 0, nil, []string{"no libmissing.a found for -lmissing"}},
	}
	for _, test := range tests {
		var reported []string
		objects, err := ReadAll(Inputs{Libraries: []string{test.name}, LibraryPath: []string{"./1/", "2"},
			Machine: test.machine},
			func(m *message.Message) { reported = append(reported, m.Text) })
		got := origins(objects)
		if err != nil {
			got = []string{"!" + message.Of(err).Error()}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("-l%s:\n%s", test.name, diff)
		}
		if diff := cmp.Diff(test.reported, reported); diff != "" {
			t.Errorf("-l%s reports:\n%s", test.name, diff)
		}
	}
}

// The error of the first input is the one that is reported, also if others fail
// sooner.
func TestFirstError(t *testing.T) {
	files := []string{"slow.a"}
	for i := range 100 {
		files = append(files, fmt.Sprintf("missing%d.o", i))
	}
	var members []objecttest.File
	for range 1000 {
		members = append(members, objecttest.File{Name: "a.o", Data: host})
	}
	members = append(members, objecttest.File{Name: "gone.o"})
	folder := write(t, map[string][]byte{"slow.a": objecttest.ThinArchive(members...), "a.o": host})
	t.Chdir(folder)
	for range 5 {
		_, err := ReadAll(Inputs{Files: files}, nil)
		if want := "Could not open input file 'gone.o'; elfLink internal error"; err == nil || err.Error() != want {
			t.Fatalf("got %v, want %s", err, want)
		}
	}
}

// names makes many names of one object.
func names(t testing.TB, n int) []string {
	t.Helper()
	folder := write(t, map[string][]byte{"o.o": host})
	list := make([]string, n)
	for i := range list {
		list[i] = filepath.Join(folder, fmt.Sprintf("o%d.o", i))
		if err := os.Link(filepath.Join(folder, "o.o"), list[i]); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// Many inputs can be read with few descriptors.
func TestFewDescriptors(t *testing.T) {
	list := names(t, 1000)
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old)
	objects, err := ReadAll(Inputs{Files: list}, nil)
	if err != nil || len(objects) != len(list) {
		t.Errorf("%d objects, %v", len(objects), err)
	}
}

// What reading an object costs does not depend on how many there are.
func TestBoundedAllocation(t *testing.T) {
	const most = 16 << 10 // bytes for each object
	for _, n := range []int{1000, 10000} {
		list := names(t, n)
		result := testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ReadAll(Inputs{Files: list}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
		if got := result.AllocedBytesPerOp() / int64(n); got == 0 || got > most {
			t.Errorf("%d objects: %d bytes for each, want at most %d", n, got, most)
		}
	}
}

func BenchmarkReadAll(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			list := names(b, n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ReadAll(Inputs{Files: list}, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/object")
		})
	}
}
