//go:build realtools

// Package report looks at reports as people do: in a browser.
package report

import (
	"bytes"
	"encoding/json"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// forms are the pictures that look.mjs takes.
var forms = []string{"light", "dark", "phone", "print"}

// A browser finds nothing to complain of, in light and dark, on a phone and in print, nor
// does axe-core; and the pictures that the guide shows are there.
func TestLooks(t *testing.T) {
	tk := kit.Toolkits(t)[0]
	for _, test := range []struct {
		name   string
		kind   string
		inputs []string // patterns
		flags  []string
	}{
		{"small", "stored", []string{"a.o", "b.o", "hostref.o", "lay1.o", "lay2.o", "names.o"}, nil},
		{"large", "stored-generated", []string{"*.o"}, []string{"--warpld-mode=fast"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			record, page := filepath.Join(dir, "link.json"), filepath.Join(dir, test.name+".html")
			args := append(test.flags, "-dlto", "-arch=sm_80", "--warpld-cuda="+tk.Root, "--warpld-print-removed",
				"--warpld-record="+record, "-o", filepath.Join(dir, test.name+".cubin"))
			link(t, dir, append(args, inputs(t, tk, test.kind, test.inputs)...))
			if out, err := exec.Command(kit.Binary(t), "report", record, "-o", page).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, complaint := range look(t, page, filepath.Join(dir, test.name)) {
				t.Error(complaint)
			}
			checkPictures(t, dir, test.name)
		})
	}
}

// link links in a folder of its own, so that inputs have short names.
func link(t *testing.T, dir string, args []string) {
	t.Helper()
	cmd := exec.Command(kit.Binary(t), args...)
	cmd.Dir = filepath.Dir(args[len(args)-1])
	for i, arg := range args {
		if filepath.Dir(arg) == cmd.Dir {
			args[i] = filepath.Base(arg)
		}
	}
	cmd.Args = append(cmd.Args[:1], args...)
	cmd.Env = append(os.Environ(), "WARPLD_CACHE_DIR="+filepath.Join(dir, "cache"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
}

func inputs(t *testing.T, tk kit.Toolkit, kind string, patterns []string) (files []string) {
	t.Helper()
	folder := filepath.Join(os.Getenv("WARPLD_TEST_CORPUS"), tk.Release(), kind)
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no %s in %s: %v", pattern, folder, err)
		}
		files = append(files, found...)
	}
	return files
}

// look opens a page in Chromium and gives what is wrong with it.
func look(t *testing.T, page, pictures string) (complaints []string) {
	t.Helper()
	modules := filepath.Join(os.Getenv("WARPLD_TOOLS"), "report")
	var said bytes.Buffer
	cmd := exec.Command("node", "look.mjs", modules, page, pictures)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\ntest/report/install installs what is needed beside Chromium", err, said.String())
	}
	if err := json.Unmarshal(out, &complaints); err != nil {
		t.Fatal(err)
	}
	return complaints
}

// checkPictures compares the sizes of the pictures with those in docs, which
// WARPLD_UPDATE_DOCS=1 replaces: bytes differ with fonts and times.
func checkPictures(t *testing.T, dir, name string) {
	t.Helper()
	root, err := kit.Repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range forms {
		file := name + "-" + form + ".png"
		made, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		shown := filepath.Join(root, "docs", "report", file)
		if os.Getenv("WARPLD_UPDATE_DOCS") != "" {
			if err := os.WriteFile(shown, made, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(shown)
		if err != nil {
			t.Fatalf("%v; WARPLD_UPDATE_DOCS=1 takes the pictures", err)
		}
		want, err := png.DecodeConfig(bytes.NewReader(made))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := png.DecodeConfig(bytes.NewReader(have)); err != nil || got.Width != want.Width ||
			got.Height != want.Height {
			t.Errorf("docs/report/%s is %d x %d, %v, want %d x %d", file, got.Width, got.Height, err, want.Width, want.Height)
		}
	}
}
