package mutate

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
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Overlay writes the mutant of a rule into a folder, and returns the file for the
// option -overlay of go build and go test.
func (r *Rule) Overlay(dir string) (string, error) {
	src, err := r.Source()
	if err != nil {
		return "", err
	}
	path, err := filepath.Abs(r.path)
	if err != nil {
		return "", err
	}
	mutant, overlay := filepath.Join(dir, r.File), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutant}})
	if err != nil {
		return "", err
	}
	return overlay, errors.Join(os.WriteFile(mutant, src, 0o644), os.WriteFile(overlay, list, 0o644))
}

// Unchanged returns a rule whose mutant is the file as it is.
func Unchanged(r *Rule) *Rule {
	same := *r
	same.from, same.to, same.with = 0, 0, ""
	return &same
}

// Check reports every rule of the package in a folder whose mutant does not compile.
// The package is compiled in this process; what it imports, by the go command.
func Check(folder string, rules []Rule) error {
	exports, err := exportData(folder)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	imports := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return err
	}
	files := map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if files[filepath.Base(name)], err = parser.ParseFile(set, name, nil, parser.SkipObjectResolution); err != nil {
			return err
		}
	}
	var wrong []error
	for _, round := range rounds(rules) {
		for name, err := range checkRound(set, files, round, imports) {
			wrong = append(wrong, fmt.Errorf("without the rule %q: %w", round[name].Text, err))
		}
	}
	return errors.Join(wrong...)
}

// rounds groups rules by one of each file, by name: the mutants of a round are compiled
// together.
func rounds(rules []Rule) []map[string]*Rule {
	var list []map[string]*Rule
	count := map[string]int{}
	for i := range rules {
		r := &rules[i]
		n := count[r.File]
		count[r.File]++
		if n == len(list) {
			list = append(list, map[string]*Rule{})
		}
		list[n][r.File] = r
	}
	return list
}

// checkRound compiles the package with mutants in the place of some of its files, and
// returns the first error in each mutant.
func checkRound(set *token.FileSet, files map[string]*ast.File, round map[string]*Rule,
	imports types.Importer) map[string]error {
	wrong := map[string]error{}
	list := []*ast.File{}
	for name, file := range files {
		if r := round[name]; r != nil {
			src, err := r.Source()
			if err == nil {
				file, err = parser.ParseFile(set, name, src, parser.SkipObjectResolution)
			}
			if err != nil {
				wrong[name] = err
				continue
			}
		}
		list = append(list, file)
	}
	config := types.Config{Importer: imports, Error: func(err error) {
		var at types.Error
		if errors.As(err, &at) {
			if name := filepath.Base(set.Position(at.Pos).Filename); wrong[name] == nil && round[name] != nil {
				wrong[name] = err
			}
		}
	}}
	config.Check("mutant", set, list, nil)
	return wrong
}

// exportData returns the files with the compiled declarations of what the package in
// a folder imports.
func exportData(folder string) (map[string]string, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", ".")
	list.Dir = folder
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w", folder, err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exports[path] = file
	}
	return exports, nil
}
