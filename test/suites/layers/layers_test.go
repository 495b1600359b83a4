// Package layers checks the one direction in which the packages may know each
// other; docs/architecture.md gives the reasons.
package layers

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/warpld/warpld/"

// A layer says of packages what they may import.
type layer struct {
	packages string   // a path; "..." at the end: and all below it
	ours     []string // what they may import of this module
	never    []string // what they may not import of anything else
}

// doesNothing are the imports of a package that opens no file and starts no process.
var doesNothing = []string{"os", "os/exec", "net/...", "syscall", "golang.org/x/sys/..."}

var layers = []layer{
	{packages: "internal/message"},
	{packages: "internal/gpu", never: doesNothing},
	{packages: "internal/glob", never: doesNothing},
	{packages: "internal/pattern", never: doesNothing},
	{packages: "internal/object/...", ours: []string{"internal/object/...", "internal/message"}},
	{packages: "internal/options", ours: []string{"internal/message"}},
	{packages: "internal/plan", ours: []string{"internal/options", "internal/object/...", "internal/glob", "internal/message"}, never: doesNothing},
	{packages: "internal/action", ours: []string{"internal/message"}, never: []string{"os/exec", "net/..."}},
	{packages: "internal/action/...", ours: []string{"internal/action", "internal/message"}},
	{packages: "internal/ptx", never: doesNothing},
	{packages: "internal/slice", ours: []string{"internal/ptx", "internal/glob", "internal/message"}, never: doesNothing},
	{packages: "internal/symbols", ours: []string{"internal/record", "internal/glob"}, never: doesNothing},
	{packages: "internal/report", ours: []string{"internal/record", "internal/message"}, never: doesNothing},
	{packages: "internal/record", ours: []string{"internal/glob", "internal/message"}, never: doesNothing},
	{packages: "internal/reproduce", ours: []string{"internal/message"}},
	{packages: "internal/progress", never: doesNothing},
	{packages: "internal/version"},
	{packages: "internal/toolkit", ours: []string{"internal/message"}},
}

// reserved are imports that only some packages may have.
var reserved = map[string][]string{
	"os/exec":                      {"internal/action/..."},
	"net/...":                      {"internal/action/..."},
	"github.com/ebitengine/...":    {"internal/engine/..."},
	module + "internal/link":       {"cmd/...", "internal/command"},
	module + "internal/command":    {"cmd/..."},
	module + "internal/action/...": {"internal/action/...", "internal/engine/...", "internal/merge", "internal/link", "internal/command"},
}

// starters are the ways to start a process without os/exec.
var starters = []string{"os.StartProcess", "syscall.Exec(", "syscall.ForkExec", "unix.Exec("}

type goPackage struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
}

// name is the path in the module.
func (p goPackage) name() string { return strings.TrimPrefix(p.ImportPath, module) }

// packages lists those of the program, not those of its tests.
func packages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports", module+"cmd/...", module+"internal/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	if len(list) == 0 {
		t.Fatal("go list found no packages")
	}
	return list
}

// covers says whether the pattern stands for the path.
func covers(pattern, path string) bool {
	if root, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == root || strings.HasPrefix(path, root+"/")
	}
	return path == pattern
}

func anyCovers(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return covers(p, path) })
}

func TestLayers(t *testing.T) {
	for _, p := range packages(t) {
		for _, path := range p.Imports {
			for _, l := range layers {
				if covers(l.packages, p.name()) && !l.allows(path) {
					t.Errorf("%s imports %s; a package of %s may not", p.name(), path, l.packages)
				}
			}
			for what, who := range reserved {
				if covers(what, path) && !anyCovers(who, p.name()) {
					t.Errorf("%s imports %s, which is for %s", p.name(), path, strings.Join(who, ", "))
				}
			}
		}
	}
}

func (l layer) allows(path string) bool {
	if ours, ok := strings.CutPrefix(path, module); ok {
		return anyCovers(l.ours, ours) || ours == "internal/pattern"
	}
	return !anyCovers(l.never, path)
}

func TestProcessesAreStartedInOnePlace(t *testing.T) {
	for _, p := range packages(t) {
		if covers("internal/action/...", p.name()) {
			continue
		}
		for _, file := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range starters {
				if strings.Contains(string(text), call) {
					t.Errorf("%s/%s has %s, which is for internal/action", p.name(), file, call)
				}
			}
		}
	}
}
