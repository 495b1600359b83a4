//go:build realtools

// Package field runs the field trial (test/tools/field) on the programs of test/programs/field,
// once with warpld, and once with a linker that is wrong on purpose.
package field

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// results has the part of the tool's JSON that is checked.
type results struct {
	Programs []struct {
		Name        string
		Files       int
		NotCompiled []struct{ Source, Error string } `json:"not_compiled"`
		Links       []link
	}
}

type link struct {
	Toolkit, Arch, Form, Outcome, Fast, Merger string
	Kernels                                    int
	Problems, Minimized                        []string
	CPU                                        map[string]float64
}

// run runs the tool and returns its results, what it printed, and whether it succeeded.
func run(t *testing.T, args ...string) (r results, out string, ok bool) {
	t.Helper()
	root, err := kit.Repository()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "results.json")
	args = append([]string{"run", "./test/tools/field", "-json", path}, args...)
	cmd := exec.Command("go", append(args, filepath.Join("test", "programs", "field"))...)
	cmd.Dir = root
	text, runErr := cmd.CombinedOutput()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return r, string(text), runErr == nil
}

// TestField: the programs of all layouts are found, compiled and linked, and all links are
// equal in every mode. A trial that goes on has nothing to do.
func TestField(t *testing.T) {
	toolkits, kept := kit.Toolkits(t), t.TempDir()
	r, out, ok := run(t, "-results", kept)
	if again, out, ok := run(t, "-results", kept, "-for", "1ns"); !ok || strings.Contains(out, " were left ") ||
		!strings.HasPrefix(out, "0 sources were compiled") || len(again.Programs) != len(r.Programs) {
		t.Errorf("the second trial did more than read the results:\n%s", out)
	}
	if !ok {
		t.Errorf("the trial failed:\n%s", out)
	}
	files := map[string]int{"waves-cuda": 2, "launch": 1, "tables": 2}
	if len(r.Programs) != len(files) {
		t.Errorf("%d programs, want %d:\n%s", len(r.Programs), len(files), out)
	}
	for _, p := range r.Programs {
		if p.Files != files[p.Name] || len(p.NotCompiled) > 0 || len(p.Links) != 3*len(toolkits) {
			t.Errorf("%s: %d files, %d links, not compiled: %v", p.Name, p.Files, len(p.Links), p.NotCompiled)
		}
		for _, l := range p.Links {
			modes := 4
			if l.Form == "plain" {
				modes = 3
			}
			isWhole := len(l.CPU) == modes && l.Merger != "" && (l.Fast != "" || l.Form == "plain")
			if l.Outcome != "equal" || l.Kernels < 1 || !isWhole {
				t.Errorf("%s: %+v", p.Name, l)
			}
		}
		if row := fmt.Sprintf("\n| %s | %d |", p.Name, p.Files); !strings.Contains(out, row) {
			t.Errorf("the page lacks %q", row)
		}
	}
}

// TestBase: LTO-IR of one release and target is linked by another release for others, and
// native code for later targets of its family.
func TestBase(t *testing.T) {
	toolkits := kit.Toolkits(t)
	first, last := toolkits[0].Release(), toolkits[len(toolkits)-1].Release()
	r, out, ok := run(t, "-only", "tables", "-base", "sm_80", "-compiler", first, "-releases", last,
		"-archs", "sm_86,sm_90", "-forms", "compressed,plain", "-modes", "exact", "-cache", t.TempDir())
	if !ok || len(r.Programs) != 1 || len(r.Programs[0].Links) != 4 {
		t.Fatalf("%+v\n%s", r, out)
	}
	if !strings.Contains(out, "\n6 sources were compiled") { // for sm_80 by both, and for sm_90
		t.Errorf("want 6 compilations:\n%s", out)
	}
	for _, l := range r.Programs[0].Links {
		if l.Outcome != "equal" || len(l.CPU) != 2 {
			t.Errorf("%+v", l)
		}
	}
}

// TestWrongLinker: a linker that spoils links with one of the objects is found out, the object
// named, and what shows the difference kept. Nothing is compiled a second time.
func TestWrongLinker(t *testing.T) {
	toolkits := kit.Toolkits(t)
	dir := t.TempDir()
	exe, script, keep := filepath.Join(dir, "bin", "nvlink"), filepath.Join(dir, "wrong"), filepath.Join(dir, "kept")
	text := fmt.Sprintf("#!/bin/sh\n"+
		"'%s' \"$@\" || exit\ncase \" $* \" in *' table.o '*) echo >>linked.cubin ;; esac\n", exe)
	if err := os.Mkdir(filepath.Dir(exe), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(kit.Binary(t), exe); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	args := []string{"-releases", toolkits[0].Release(), "-forms", "stored", "-only", "waves|tables", "-keep", keep}
	if _, out, ok := run(t, args...); !ok {
		t.Fatalf("the trial failed with the right linker:\n%s", out)
	}
	r, out, ok := run(t, append(args, "-warpld", script)...)
	if ok || !strings.Contains(out, "1 of 2 links are different") || !strings.Contains(out, "\n0 sources were compiled") {
		t.Errorf("want a failure without compilations:\n%s", out)
	}
	for _, p := range r.Programs {
		for _, l := range p.Links {
			isWrong := p.Name == "tables"
			if (len(l.Problems) > 0) != isWrong || (isWrong && strings.Join(l.Minimized, " ") != "table.o") {
				t.Errorf("%s: %+v", p.Name, l)
			}
		}
	}
	kept := filepath.Join(keep, "tables-"+toolkits[0].Release()+"-sm_80-stored")
	for _, name := range []string{"table.o", "nvlink.cubin", "exact.cubin", "command"} {
		if _, err := os.Stat(filepath.Join(kept, name)); err != nil {
			t.Error(err)
		}
	}
}
