package structure

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const (
	module = "github.com/warpld/warpld/"
	root   = "../../.."
)

// A source is the Go code of the module.
type source struct {
	fset  *token.FileSet
	files []file
	// packages are those of cmd and internal, type-checked, without their tests.
	packages []*types.Package
	// info is about the expressions of those packages.
	info *types.Info
}

// A file is one of any package, with its text.
type file struct {
	name string // below the root of the module
	text []byte
	ast  *ast.File
}

func (f *file) isTest() bool { return strings.HasSuffix(f.name, "_test.go") }

// load reads and type-checks the code once.
var load = func() func(*testing.T) *source {
	var once sync.Once
	var src *source
	var err error
	return func(t *testing.T) *source {
		t.Helper()
		if once.Do(func() { src, err = read() }); err != nil {
			t.Fatal(err)
		}
		return src
	}
}()

func read() (*source, error) {
	src := &source{fset: token.NewFileSet(), info: newInfo()}
	for _, folder := range []string{"cmd", "internal", "test"} {
		if err := src.parseBelow(folder); err != nil {
			return nil, err
		}
	}
	if len(src.files) == 0 {
		return nil, errors.New("no Go files were found")
	}
	return src, src.checkTypes()
}

func newInfo() *types.Info {
	return &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
}

func (src *source) parseBelow(folder string) error {
	return filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(src.fset, name, text, parser.ParseComments)
		src.files = append(src.files, file{name, text, parsed})
		return err
	})
}

// A listed package is one that "go list" prints.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// checkTypes checks every package of the program. What they import is read from the
// export data that the compiler left in its cache.
func (src *source) checkTypes() error {
	command := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles",
		"./cmd/...", "./internal/...")
	command.Dir, command.Stderr = root, os.Stderr
	out, err := command.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	exports := map[string]string{}
	var ours []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, module) {
			ours = append(ours, p)
		}
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	imports := importer.ForCompiler(src.fset, "gc", open)
	for _, p := range ours {
		var files []*ast.File
		for _, name := range p.GoFiles {
			files = append(files, src.named(strings.TrimPrefix(p.ImportPath, module)+"/"+name))
		}
		checked, err := (&types.Config{Importer: imports}).Check(p.ImportPath, src.fset, files, src.info)
		if err != nil {
			return err
		}
		src.packages = append(src.packages, checked)
	}
	return nil
}

func (src *source) named(name string) *ast.File {
	for _, f := range src.files {
		if f.name == name {
			return f.ast
		}
	}
	return nil
}

// place returns FILE:LINE.
func (src *source) place(n ast.Node) string {
	at := src.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", at.Filename, at.Line)
}

// packageLines returns the lines of each package of the program, without tests.
func (src *source) packageLines() map[string]int {
	lines := map[string]int{}
	for _, f := range src.files {
		if !f.isTest() && !strings.HasPrefix(f.name, "test/") {
			lines[filepath.Dir(f.name)] += strings.Count(string(f.text), "\n")
		}
	}
	return lines
}
