// Package mutate reads the rules that a package states in comments beside its code,
// and makes mutants of the package that lack one rule each.
//
// A marker stands on the lines before the statement, case or list element that it
// is about:
//
//	//rule: Shared memory has a limit.
//	//mutate: false
//	if end > limit {
//
// The second line says how to remove the rule. It is one of
//
//	                   (no such line) the statement, or the body of the case, is dropped
//	true, false        the condition is replaced
//	true E, false E    the expression E in the statement is replaced
//	E -> F             the expression E in the statement is replaced by F
//	forward            slices.Backward becomes slices.All
//	swap               the statement or element changes places with the next one
//	also S             the statement S is added after the statement
//
// E is searched for in the statement without its body, and must be there once.
package mutate

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Prefixes of the lines of a marker.
const (
	rulePrefix   = "//rule:"
	mutatePrefix = "//mutate:"
)

// A Rule is a marker that was found in the source.
type Rule struct {
	Text     string
	File     string // name of the file in its folder
	Line     int    // of the marker
	Mutation string // how to remove the rule, or empty to drop the statement

	path     string
	from, to int // bytes of the file that the mutation replaces
	with     string
}

// Read returns the rules of the package in a folder, by file and line. Test files
// are not read. The error names every marker that cannot be applied.
func Read(folder string) ([]Rule, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	var rules []Rule
	var wrong []error
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		list, err := readFile(path)
		rules, wrong = append(rules, list...), append(wrong, err)
	}
	seen := map[string]bool{}
	for i := range rules {
		if seen[rules[i].Text] {
			wrong = append(wrong, fmt.Errorf("%s:%d: a second rule %q", rules[i].File, rules[i].Line, rules[i].Text))
		}
		seen[rules[i].Text] = true
	}
	return rules, errors.Join(wrong...)
}

// Source returns the file of the rule without the rule.
func (r *Rule) Source() ([]byte, error) {
	src, err := os.ReadFile(r.path)
	if err != nil {
		return nil, err
	}
	return slices.Concat(src[:r.from], []byte(r.with), src[r.to:]), nil
}

// A file is one that is searched for markers.
type file struct {
	name, path string
	src        []byte
	set        *token.FileSet
	tree       *ast.File
}

func readFile(path string) (rules []Rule, err error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := &file{name: filepath.Base(path), path: path, src: src, set: token.NewFileSet()}
	if f.tree, err = parser.ParseFile(f.set, path, src, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	var wrong []error
	for _, group := range f.tree.Comments {
		list, err := f.markers(group)
		rules, wrong = append(rules, list...), append(wrong, err)
	}
	return rules, errors.Join(wrong...)
}

// markers reads those in a group of comments.
func (f *file) markers(group *ast.CommentGroup) (rules []Rule, err error) {
	for _, c := range group.List {
		line := f.set.Position(c.Pos()).Line
		if text, ok := strings.CutPrefix(c.Text, rulePrefix); ok {
			rules = append(rules, Rule{Text: strings.TrimSpace(text), File: f.name, path: f.path, Line: line})
		}
		if text, ok := strings.CutPrefix(c.Text, mutatePrefix); ok {
			if len(rules) == 0 || rules[len(rules)-1].Mutation != "" {
				return nil, fmt.Errorf("%s:%d: a mutation without a rule", f.name, line)
			}
			rules[len(rules)-1].Mutation = strings.TrimSpace(text)
		}
	}
	if len(rules) == 0 {
		return nil, nil
	}
	t := f.target(f.set.Position(group.End()).Line + 1)
	var wrong []error
	for i := range rules {
		r := &rules[i]
		err := errors.New("there is no statement after the marker")
		if t.node != nil {
			err = t.mutate(r)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s:%d: rule %q: %w", f.name, r.Line, r.Text, err))
		}
	}
	return rules, errors.Join(wrong...)
}

// A target is what a marker is about, and what follows it in the same list.
type target struct {
	*file
	node, next ast.Node
}

// target finds the outermost statement or list element that starts on a line.
func (f *file) target(line int) (t target) {
	t.file = f
	look := func(node, next ast.Node) {
		if t.node == nil && f.set.Position(node.Pos()).Line == line {
			t.node, t.next = node, next
		}
	}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			eachWithNext(n.List, look)
		case *ast.CaseClause:
			eachWithNext(n.Body, look)
		case *ast.CompositeLit:
			eachWithNext(n.Elts, look)
		case *ast.CallExpr:
			eachWithNext(n.Args, look)
		}
		return t.node == nil
	})
	return t
}

func eachWithNext[N ast.Node](list []N, do func(node, next ast.Node)) {
	for i, n := range list {
		var next ast.Node
		if i+1 < len(list) {
			next = list[i+1]
		}
		do(n, next)
	}
}

// mutate finds out which bytes a rule's mutation replaces, and with what.
func (t target) mutate(r *Rule) error {
	first, rest, _ := strings.Cut(r.Mutation, " ")
	old, with, replaces := strings.Cut(r.Mutation, " -> ")
	switch {
	case r.Mutation == "":
		return t.drop(r)
	case r.Mutation == "swap":
		return t.swap(r)
	case r.Mutation == "forward":
		return t.replace(r, "slices.Backward", "slices.All")
	case r.Mutation == "true" || r.Mutation == "false":
		condition := t.condition()
		if condition == nil {
			return errors.New("the statement has no condition")
		}
		t.become(r, condition, r.Mutation)
		return nil
	case replaces:
		return t.replace(r, old, with)
	case first == "also":
		t.edit(r, t.node.End(), t.node.End(), "\n"+rest)
		return nil
	case first == "true" || first == "false":
		n, err := t.find(rest)
		if err == nil {
			t.become(r, n, first)
		}
		return err
	}
	return fmt.Errorf("the mutation %q is not known", r.Mutation)
}

// drop keeps the statement in a branch that is never taken, so that what it uses
// is still used.
func (t target) drop(r *Rule) error {
	from, to := t.node.Pos(), t.node.End()
	switch n := t.node.(type) {
	case *ast.CaseClause:
		if len(n.Body) == 0 {
			return errors.New("the case has no body to drop")
		}
		from, to = n.Body[0].Pos(), n.Body[len(n.Body)-1].End()
	case ast.Stmt:
	default:
		return errors.New("only a statement can be dropped")
	}
	t.edit(r, from, to, "if false {\n"+t.text(from, to)+"\n}")
	return nil
}

func (t target) swap(r *Rule) error {
	if t.next == nil {
		return errors.New("there is nothing to swap with")
	}
	a, b := t.node, t.next
	t.edit(r, a.Pos(), b.End(), t.text(b.Pos(), b.End())+t.text(a.End(), b.Pos())+t.text(a.Pos(), a.End()))
	return nil
}

// become makes a condition constant. Its operands are still used.
func (t target) become(r *Rule, condition ast.Node, value string) {
	operator := "&&"
	if value == "true" {
		operator = "||"
	}
	with := fmt.Sprintf("(%s %s (%s))", value, operator, t.text(condition.Pos(), condition.End()))
	t.edit(r, condition.Pos(), condition.End(), with)
}

func (t target) replace(r *Rule, old, with string) error {
	n, err := t.find(old)
	if err != nil {
		return err
	}
	t.edit(r, n.Pos(), n.End(), strings.TrimSpace(with))
	return nil
}

func (t target) edit(r *Rule, from, to token.Pos, with string) {
	r.from, r.to, r.with = t.set.Position(from).Offset, t.set.Position(to).Offset, with
}

func (t target) text(from, to token.Pos) string {
	return string(t.src[t.set.Position(from).Offset:t.set.Position(to).Offset])
}

// condition returns the condition of a statement, or nil if it has none.
func (t target) condition() ast.Expr {
	switch n := t.node.(type) {
	case *ast.IfStmt:
		return n.Cond
	case *ast.ForStmt:
		return n.Cond
	case *ast.CaseClause:
		if len(n.List) == 1 {
			return n.List[0]
		}
	case *ast.ReturnStmt:
		if len(n.Results) > 0 {
			return n.Results[0]
		}
	case *ast.AssignStmt:
		if len(n.Rhs) == 1 {
			return n.Rhs[0]
		}
	case *ast.KeyValueExpr:
		return n.Value
	}
	return nil
}

// heads are the parts of a node without its body.
func (t target) heads() []ast.Node {
	var list []ast.Node
	add := func(n ast.Node, isThere bool) {
		if isThere {
			list = append(list, n)
		}
	}
	switch n := t.node.(type) {
	case *ast.IfStmt:
		add(n.Init, n.Init != nil)
		add(n.Cond, true)
	case *ast.ForStmt:
		add(n.Init, n.Init != nil)
		add(n.Cond, n.Cond != nil)
		add(n.Post, n.Post != nil)
	case *ast.RangeStmt:
		add(n.X, true)
	case *ast.SwitchStmt:
		add(n.Init, n.Init != nil)
		add(n.Tag, n.Tag != nil)
	case *ast.CaseClause:
		for _, e := range n.List {
			add(e, true)
		}
	default:
		add(n, true)
	}
	return list
}

// find searches for an expression.
func (t target) find(text string) (found ast.Node, err error) {
	want := tokens([]byte(text))
	count := 0
	for _, head := range t.heads() {
		ast.Inspect(head, func(n ast.Node) bool {
			switch n.(type) {
			case ast.Expr, *ast.Field:
			default:
				return true
			}
			if bytes.Equal(tokens([]byte(t.text(n.Pos(), n.End()))), want) {
				found = n
				count++
				return false
			}
			return true
		})
	}
	if count != 1 {
		return nil, fmt.Errorf("the expression %q is there %d times", strings.TrimSpace(text), count)
	}
	return found, nil
}

// tokens is source without blanks and comments.
func tokens(src []byte) (out []byte) {
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile("", -1, len(src)), src, func(token.Position, string) {}, 0)
	for {
		_, kind, literal := s.Scan()
		switch {
		case kind == token.EOF:
			return out
		case kind == token.SEMICOLON && literal == "\n":
			continue
		case literal == "":
			literal = kind.String()
		}
		out = append(append(out, literal...), ' ')
	}
}
