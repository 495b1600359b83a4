package structure

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"strings"
	"unicode/utf8"
)

// lineLengths finds lines with too many columns. Lines inside a raw string are content:
// a program or a golden text, which is not ours to wrap.
func lineLengths(src *source) (list []violation) {
	for _, f := range src.files {
		content := src.rawLines(&f)
		number := 0
		for line := range strings.Lines(string(f.text)) {
			number++
			if columns := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); columns > mostColumns && !content[number] {
				list = append(list, violation{fmt.Sprintf("%s:%d", f.name, number), fmt.Sprintf("%d columns", columns)})
			}
		}
	}
	return list
}

// rawLines returns the lines that lie in raw strings of several lines.
func (src *source) rawLines(f *file) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING || literal.Value[0] != '`' {
			return true
		}
		first, last := src.fset.Position(literal.Pos()).Line, src.fset.Position(literal.End()).Line
		for line := first; first < last && line <= last; line++ {
			lines[line] = true
		}
		return true
	})
	return lines
}

// A documented declaration is an exported name and its comment.
type documented struct {
	name    *ast.Ident
	comment *ast.CommentGroup
	needed  bool // there must be a comment
}

// docComments finds exported declarations without a comment, or with one that doesn't
// start with the name.
func docComments(src *source) (list []violation) {
	for _, f := range src.files {
		if f.isTest() || isCommand(&f) {
			continue
		}
		for _, d := range declarations(f.ast) {
			switch text := d.comment.Text(); {
			case text == "" && d.needed:
				list = append(list, violation{src.place(d.name), d.name.Name + " has no comment"})
			case text != "" && !startsWith(text, d.name.Name):
				list = append(list, violation{src.place(d.name), "the comment of " + d.name.Name + " doesn't start with the name"})
			}
		}
	}
	return list
}

// wellKnown methods do what an interface of the standard library says.
var wellKnown = map[string]bool{
	"Error": true, "Unwrap": true, "String": true, "Len": true, "Less": true, "Swap": true,
	"Read": true, "Write": true, "Close": true, "Size": true,
}

func declarations(f *ast.File) (list []documented) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d))) {
				list = append(list, documented{d.Name, d.Doc, d.Recv == nil || !wellKnown[d.Name.Name]})
			}
		case *ast.GenDecl:
			list = append(list, documentedSpecs(d)...)
		}
	}
	return list
}

// documentedSpecs returns types, and constants and variables that have a comment of
// their own: the comment of a group is about all of them.
func documentedSpecs(d *ast.GenDecl) (list []documented) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			comment := s.Doc
			if comment == nil && !d.Lparen.IsValid() {
				comment = d.Doc
			}
			if s.Name.IsExported() {
				list = append(list, documented{s.Name, comment, !d.Lparen.IsValid()})
			}
		case *ast.ValueSpec:
			comment := s.Doc
			if comment == nil && !d.Lparen.IsValid() {
				comment = d.Doc
			}
			if s.Names[0].IsExported() {
				list = append(list, documented{s.Names[0], comment, !d.Lparen.IsValid()})
			}
		}
	}
	return list
}

func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if g, ok := t.(*ast.IndexExpr); ok {
		t = g.X
	}
	if name, ok := t.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// startsWith reports whether a comment starts with a name, after an article.
func startsWith(text, name string) bool {
	words := strings.Fields(text)
	if words[0] == "A" || words[0] == "An" || words[0] == "The" {
		words = words[1:]
	}
	return len(words) > 0 && strings.TrimRight(words[0], ",:;.'s") == strings.TrimRight(name, ",:;.'s")
}

// shadowedBuiltins finds declarations with the name of a predeclared identifier. Fields
// and methods hide nothing.
func shadowedBuiltins(src *source) (list []violation) {
	for _, f := range src.files {
		members := map[*ast.Ident]bool{}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.StructType:
				addNames(members, n.Fields)
			case *ast.InterfaceType:
				addNames(members, n.Methods)
			case *ast.FuncDecl:
				members[n.Name] = n.Recv != nil
			}
			return true
		})
		for _, name := range declared(f.ast) {
			if !members[name] && types.Universe.Lookup(name.Name) != nil {
				list = append(list, violation{src.place(name), name.Name + " hides the predeclared identifier"})
			}
		}
	}
	return list
}

func addNames(set map[*ast.Ident]bool, fields *ast.FieldList) {
	for _, field := range fields.List {
		for _, name := range field.Names {
			set[name] = true
		}
	}
}

// declared returns the names that a file declares, at any depth.
func declared(f *ast.File) (names []*ast.Ident) {
	add := func(e ast.Expr) {
		if name, ok := e.(*ast.Ident); ok {
			names = append(names, name)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n.Name)
		case *ast.TypeSpec:
			add(n.Name)
		case *ast.Field:
			for _, name := range n.Names {
				add(name)
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				add(name)
			}
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if n.Tok == token.DEFINE {
					add(e)
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key)
				add(n.Value)
			}
		}
		return true
	})
	return names
}

// avoided are words that comments don't use, and what they use instead.
var avoided = []struct {
	words   *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)\b(says|say|tells|tell) whether\b`), "reports whether"},
	{regexp.MustCompile(`(?i);\s+(empty|nil|zero|none|missing|-?\d+):\s`), "a full clause"},
	{regexp.MustCompile(`(?i)\bspoken of\b`), "reported"},
}

func wordings(src *source) (list []violation) {
	for _, f := range src.files {
		for _, group := range f.ast.Comments {
			for _, a := range avoided {
				if found := a.words.FindString(group.Text()); found != "" {
					list = append(list, violation{src.place(group), fmt.Sprintf("%q: write %s", found, a.instead)})
				}
			}
		}
	}
	return list
}
