package structure

import (
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
)

// A function is a declared function or method, with the literals in it.
type function struct {
	file, name      string
	line            int
	lines, branches int
}

func (f *function) place() string { return fmt.Sprintf("%s:%d: %s", f.file, f.line, f.name) }

// functions returns all but those of tests, whose length is mostly that of their tables.
func (src *source) functions() (list []function) {
	for _, f := range src.files {
		for _, d := range f.ast.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok || f.isTest() {
				continue
			}
			first, last := src.fset.Position(d.Pos()), src.fset.Position(d.End())
			list = append(list, function{f.name, d.Name.Name, first.Line, last.Line - first.Line + 1, branches(d)})
		}
	}
	return list
}

// branches returns the cyclomatic complexity: 1 and the number of decisions.
func branches(d *ast.FuncDecl) int {
	count := 1
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			count++
		case *ast.CaseClause:
			if n.List != nil {
				count++
			}
		case *ast.CommClause:
			if n.Comm != nil {
				count++
			}
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				count++
			}
		}
		return true
	})
	return count
}

func functionLengths(src *source) (list []violation) {
	for _, f := range src.functions() {
		if f.lines > mostLines {
			list = append(list, violation{f.place(), fmt.Sprintf("%d lines", f.lines)})
		}
	}
	return list
}

func complexities(src *source) (list []violation) {
	for _, f := range src.functions() {
		if f.branches > mostBranches {
			list = append(list, violation{f.place(), fmt.Sprintf("complexity %d", f.branches)})
		}
	}
	return list
}

// mixedConditions finds && beside || without parentheses around it.
func mixedConditions(src *source) (list []violation) {
	for _, f := range src.files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			or, ok := n.(*ast.BinaryExpr)
			if !ok || or.Op != token.LOR {
				return true
			}
			for _, operand := range []ast.Expr{or.X, or.Y} {
				if and, ok := operand.(*ast.BinaryExpr); ok && and.Op == token.LAND {
					list = append(list, violation{src.place(and), "&& and || without parentheses"})
				}
			}
			return true
		})
	}
	return list
}

// isCommand reports whether a file belongs to a program, whose names nobody imports.
func isCommand(f *file) bool { return f.ast.Name.Name == "main" || filepath.Dir(f.name) == "cmd" }
