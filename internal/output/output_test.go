package output

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path, linked := filepath.Join(dir, "out"), filepath.Join(dir, "linked")
	if err := os.Symlink(path, linked); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ path, text string }{
		{path, "first"}, {path, "second"}, {linked, "third"}, {os.DevNull, "nowhere"},
	} {
		if err := Replace(test.path, strings.NewReader(test.text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); test.path != os.DevNull && (err != nil || string(got) != test.text) {
			t.Errorf("%s: %q, %v", test.text, got, err)
		}
	}
	if info, err := os.Lstat(linked); err != nil || info.Mode().IsRegular() {
		t.Errorf("the symbolic link was replaced: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%d files are left, %v", len(entries), err)
	}
	missing := filepath.Join(dir, "missing", "out")
	want := "Could not open output file '" + missing + "'"
	if err := Replace(missing, strings.NewReader("")); err == nil || err.Error() != want {
		t.Errorf("a folder that does not exist gives %v", err)
	}
}

func TestAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for _, text := range []string{"a", "b"} {
		if err := Append(path, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "ab" {
		t.Errorf("the file has %q, %v", got, err)
	}
}

func TestPath(t *testing.T) {
	dir := t.TempDir()
	if got, want := Path(dir, "x.json"), filepath.Join(dir, "x.json"); got != want {
		t.Errorf("a folder gives %s, want %s", got, want)
	}
	if got := Path(filepath.Join(dir, "mine"), "x.json"); got != filepath.Join(dir, "mine") {
		t.Errorf("a file gives %s", got)
	}
}
