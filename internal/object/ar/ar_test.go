package ar_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/object/ar"
	"github.com/warpld/warpld/internal/object/objecttest"
)

// members reads an archive; a member's contents stand for its place.
func members(data []byte) (got []string, err error) {
	a, err := ar.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	for m, err := range a.Members() {
		if err != nil {
			return got, err
		}
		contents := "(thin)"
		if !m.Thin {
			contents = string(data[m.Offset : m.Offset+m.Size])
		}
		got = append(got, m.Name+"="+contents)
	}
	return got, nil
}

func TestMembers(t *testing.T) {
	long := strings.Repeat("long_", 20) + ".o"
	files := []objecttest.File{{Name: "a.o", Data: []byte("abc")}, {Name: long, Data: []byte("de")}, {Name: "a.o"}}
	header := objecttest.ArchiveHeader
	tests := []struct {
		name string
		data string
		want []string
	}{
		{"empty", "!<arch>\n", nil},
		{"GNU", string(objecttest.Archive(files...)), []string{"a.o=abc", long + "=de", "a.o="}},
		{"thin", string(objecttest.ThinArchive(files...)), []string{"a.o=(thin)", long + "=(thin)", "a.o=(thin)"}},
		{"short names", "!<arch>\n" + header("a.o/", 3) + "abc\n" + header("b c.o/", 1) + "x",
			[]string{"a.o=abc", "b c.o=x"}},
		{"BSD", "!<arch>\n" + header("__.SYMDEF SORTED", 2) + "xx" + header("#1/8", 11) + "name.o\x00\x00abc\n" +
			header("#1/12", 14) + "__.SYMDEF_64xx" + header("b.o", 1) + "b", []string{"name.o=abc", "b.o=b"}},
		{"64-bit symbol table", "!<arch>\n" + header("/SYM64/", 4) + "xxxx" + header("b.o/", 1) + "b", []string{"b.o=b"}},
		{"no padding at the end", "!<arch>\n" + header("a.o/", 3) + "abc", []string{"a.o=abc"}},
	}
	for _, test := range tests {
		got, err := members([]byte(test.data))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s:\n%s", test.name, diff)
		}
	}
}

func TestNestedInThin(t *testing.T) {
	data := []byte("!<thin>\n" + objecttest.ArchiveHeader("//", 6) + "in.a/\n" + objecttest.ArchiveHeader("/0:456", 99))
	a, err := ar.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for m, err := range a.Members() {
		if err != nil {
			t.Fatal(err)
		}
		if m.Name != "in.a" || m.InArchive != 456 || !m.Thin {
			t.Errorf("got %+v", m)
		}
	}
}

func TestDamage(t *testing.T) {
	header := objecttest.ArchiveHeader
	tests := []struct {
		name string
		data string
		want error
	}{
		{"too short", "!<arc", ar.ErrTruncated},
		{"not an archive", "!<lrch>\nxxxx", ar.ErrFormat},
		{"half a header", "!<arch>\n" + header("a.o/", 3)[:30], ar.ErrTruncated},
		{"member cut off", "!<arch>\n" + header("a.o/", 9) + "abc", ar.ErrTruncated},
		{"garbage", "!<arch>\n" + strings.Repeat("x", 100), ar.ErrFormat},
		{"size is no number", "!<arch>\n" + strings.Replace(header("a.o/", 9), "9 ", "-9", 1), ar.ErrFormat},
		{"largest size", "!<arch>\n" + header("a.o/", 9999999999), ar.ErrTruncated},
		{"long name without names", "!<arch>\n" + header("/7", 0), ar.ErrFormat},
		{"long name outside", "!<arch>\n" + header("//", 4) + "a/\n\n" + header("/99", 0), ar.ErrFormat},
		{"long name without end", "!<arch>\n" + header("//", 4) + "abcd" + header("/0", 0), ar.ErrFormat},
		{"BSD name longer than its member", "!<arch>\n" + header("#1/20", 4) + "abcd", ar.ErrFormat},
		{"BSD name of negative length", "!<arch>\n" + header("#1/-1", 4) + "abcd", ar.ErrFormat},
		{"nested at a negative offset", "!<thin>\n" + header("//", 4) + "a/\n\n" + header("/0:-4", 0), ar.ErrFormat},
	}
	for _, test := range tests {
		if _, err := members([]byte(test.data)); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

func FuzzMembers(f *testing.F) {
	file := objecttest.File{Name: "a_name_that_is_long.o", Data: []byte("abc")}
	f.Add(objecttest.Archive(file, file))
	f.Add(objecttest.ThinArchive(file, file))
	f.Add([]byte("!<arch>\n" + objecttest.ArchiveHeader("#1/8", 11) + "name.o\x00\x00abc\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		members(data) // fails with a panic if a member is not in the archive
	})
}
