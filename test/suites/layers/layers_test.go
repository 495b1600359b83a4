// Package layers checks which package imports which against the table in
// docs/architecture.md.
package layers

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/warpld/warpld/"

// A row is one of the table in docs/architecture.md.
type row struct {
	packages []string // patterns: a path, with "/..." at its end all below it too
	pure     bool     // no file is opened and no process started
	ours     []string // patterns of what they may import of this module
}

// impure are the imports that a pure package may not have.
var impure = []string{"os", "os/exec", "net/...", "syscall", "golang.org/x/sys/..."}

// reserved are imports of other modules that only some packages may have.
var reserved = map[string][]string{
	"os/exec":                    {"internal/action/local", "internal/action/remote/..."},
	"net/...":                    {"internal/action/remote/..."},
	"google.golang.org/grpc/...": {"internal/action/remote/reapi"},
	"github.com/ebitengine/...":  {"internal/engine/..."},
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
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports", module+"cmd/...", module+
		"internal/...").Output()
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

// covers reports whether the pattern stands for the path.
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
	rows, everybody := readTable(t)
	list := packages(t)
	for _, p := range list {
		matching := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return !slices.Contains(r.packages, p.name()) })
		if len(matching) != 1 {
			t.Errorf("%s has %d rows in %s; it needs one", p.name(), len(matching), table)
			continue
		}
		for _, path := range p.Imports {
			matching[0].check(t, p.name(), path, everybody)
			for what, who := range reserved {
				if covers(what, path) && !anyCovers(who, p.name()) {
					t.Errorf("%s imports %s, which is for %s", p.name(), path, strings.Join(who, ", "))
				}
			}
		}
	}
	for _, r := range rows {
		for _, name := range append(slices.Clone(r.packages), r.ours...) {
			if !slices.ContainsFunc(list, func(p goPackage) bool { return covers(name, p.name()) }) {
				t.Errorf("%s names %s, which is no package", table, name)
			}
		}
	}
}

// absent are packages that would slow down every start of warpld.
var absent = []string{"net/http", "crypto/tls", "google.golang.org/..."}

// TestSmallProgram checks that warpld links nothing that only a user of a server needs.
func TestSmallProgram(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module+"cmd/warpld").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	list := strings.Fields(string(out))
	if !slices.Contains(list, module+"internal/link") {
		t.Fatalf("go list does not list what warpld links: %d packages", len(list))
	}
	for _, path := range list {
		if anyCovers(absent, path) {
			t.Errorf("warpld links %s", path)
		}
	}
}

// check reports an import that the row does not allow.
func (r row) check(t *testing.T, name, path string, everybody []string) {
	t.Helper()
	ours, ok := strings.CutPrefix(path, module)
	if ok && !anyCovers(r.ours, ours) && !anyCovers(everybody, ours) {
		t.Errorf("%s imports %s, which its row in %s does not list", name, ours, table)
	}
	if r.pure && anyCovers(impure, path) {
		t.Errorf("%s imports %s; %s calls it pure", name, path, table)
	}
}

// table is the file that the rows are read from, below the root of the module.
const table = "docs/architecture.md"

var (
	tableRow   = regexp.MustCompile("(?m)^\\| (`[^|]*`) \\| ([^|]*) \\| ([^|]*) \\|$")
	forAll     = regexp.MustCompile(`(?m)^Every package may import ([^.]*)\.`)
	quotedName = regexp.MustCompile("`([^`]+)`")
)

// readTable returns the rows, and what every package may import.
func readTable(t *testing.T) (rows []row, everybody []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(table)))
	if err != nil {
		t.Fatal(err)
	}
	for _, cells := range tableRow.FindAllStringSubmatch(string(text), -1) {
		rows = append(rows, row{packages: names(cells[1]), pure: strings.HasPrefix(cells[2], "pure"), ours: names(cells[3])})
	}
	sentence := forAll.FindStringSubmatch(string(text))
	if len(rows) == 0 || sentence == nil {
		t.Fatalf("%s has no table of packages, or does not name those that all may import", table)
	}
	return rows, names(sentence[1])
}

// names returns the packages that a cell names in backquotes. internal/ may be left out, and
// {a,b} stands for each of a list.
func names(cell string) []string {
	var list []string
	for _, quoted := range quotedName.FindAllStringSubmatch(cell, -1) {
		before, rest, ok := strings.Cut(quoted[1], "{")
		alternatives, after, _ := strings.Cut(rest, "}")
		if !ok {
			alternatives = ""
		}
		for name := range strings.SplitSeq(alternatives, ",") {
			path := before + name + after
			if !strings.HasPrefix(path, "cmd/") && !strings.HasPrefix(path, "internal/") {
				path = "internal/" + path
			}
			list = append(list, path)
		}
	}
	return list
}

func TestProcessesAreStartedInOnePlace(t *testing.T) {
	for _, p := range packages(t) {
		if p.name() == "internal/action/local" {
			continue
		}
		for _, file := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range starters {
				if strings.Contains(string(text), call) {
					t.Errorf("%s/%s has %s, which is for internal/action/local", p.name(), file, call)
				}
			}
		}
	}
}
