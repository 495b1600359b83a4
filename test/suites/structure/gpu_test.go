package structure

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// gpuPackage alone may compare the numbers of architectures and of releases. Everyone
// else asks for a column of its tables.
const gpuPackage = "internal/gpu"

// The numbers that are looked for: architectures, and releases as cubins record them.
var (
	archNumbers    = []int64{70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 107, 110, 120, 121}
	releaseNumbers = []int64{112, 120, 129, 130, 131, 132, 133, 134, 135}
)

// aboutGPUs matches the names of values that have such a number as a plain integer.
var aboutGPUs = regexp.MustCompile(`(?i)^(number|\w*toolkit\w*|\w*release\w*|\w*arch|sm|virtual|capability|mercury)$`)

// archName matches the name of an architecture, with or without the word in front.
var archName = regexp.MustCompile(`^(?:(?:sm|compute|lto)_)?(\d{2,3})[af]?$`)

// gpuNumbers finds comparisons of architectures and releases by number, and lists of
// them, in the program outside of gpuPackage.
func gpuNumbers(src *source) (list []violation) {
	for _, f := range src.files {
		if f.isTest() || strings.HasPrefix(f.name, "test/") || filepath.Dir(f.name) == gpuPackage {
			continue
		}
		seen := map[ast.Node]bool{}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if n == nil || seen[n] {
				return false
			}
			for _, at := range src.gpuConditions(n, seen) {
				list = append(list, violation{src.place(at), "compares or lists numbers of architectures or releases"})
			}
			return true
		})
	}
	return list
}

// gpuConditions returns the conditions that a node is, without those in it.
func (src *source) gpuConditions(n ast.Node, seen map[ast.Node]bool) (found []ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if src.comparesGPUs(n) {
			found = append(found, n)
		}
	case *ast.SwitchStmt:
		if n.Tag != nil && src.isGPUNumber(n.Tag) {
			for _, clause := range n.Body.List {
				for _, value := range clause.(*ast.CaseClause).List {
					if src.isGPUField(n.Tag) || src.isKnownNumber(value) {
						found = append(found, value)
					}
				}
			}
		}
	case *ast.CallExpr:
		if src.ordersGPUs(n) {
			found = append(found, n)
		}
	case *ast.CompositeLit:
		if src.listsGPUs(n, seen) {
			found = append(found, n)
		}
	case *ast.ValueSpec:
		if src.namesGPUNumber(n) {
			found = append(found, n)
		}
	}
	return found
}

// comparesGPUs reports whether an operator compares the number of an architecture or a
// release, or takes it apart.
func (src *source) comparesGPUs(b *ast.BinaryExpr) bool {
	switch b.Op {
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		return src.isGPUField(b.X) || src.isGPUField(b.Y) ||
			(src.isGPUNumber(b.X) && src.isKnownNumber(b.Y)) || (src.isGPUNumber(b.Y) && src.isKnownNumber(b.X)) ||
			(isPlainGPUName(b.X) && isPlainGPUName(b.Y) && src.isInteger(b.X) && src.isInteger(b.Y)) ||
			src.isGPULiteral(b.X) || src.isGPULiteral(b.Y)
	case token.QUO, token.REM:
		return src.isGPUField(b.X) || (isPlainGPUName(b.X) && src.isInteger(b.X))
	}
	return false
}

// isGPUField reports whether an expression is a part of an architecture or a release.
func (src *source) isGPUField(e ast.Expr) bool {
	e = ast.Unparen(e)
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 0 {
		e = ast.Unparen(call.Fun)
	}
	selector, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	switch owner := typeName(src.info.Types[selector.X].Type); selector.Sel.Name {
	case "Number", "Suffix":
		return owner == "Arch" || owner == "Target" || owner == "Release"
	case "Major", "Minor":
		return owner == "Release" || owner == "toolkit.Version"
	}
	return false
}

// typeName returns the name of a type, or of what it points to. Other types than those of
// toolkits are called Version too, so those have their package in front.
func typeName(t types.Type) string {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := t.(*types.Named)
	if !ok {
		return ""
	}
	if name := named.Obj().Name(); name != "Version" {
		return name
	}
	return named.Obj().Pkg().Name() + ".Version"
}

// isGPUNumber reports whether an expression may be the number of an architecture or a
// release, by its type or its name.
func (src *source) isGPUNumber(e ast.Expr) bool {
	return src.isGPUField(e) || (isPlainGPUName(e) && src.isInteger(e))
}

func isPlainGPUName(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return aboutGPUs.MatchString(e.Name)
	case *ast.SelectorExpr:
		return aboutGPUs.MatchString(e.Sel.Name)
	}
	return false
}

func (src *source) isInteger(e ast.Expr) bool {
	t := src.info.Types[e].Type
	if t == nil {
		if id, ok := e.(*ast.Ident); ok && src.info.Uses[id] != nil {
			t = src.info.Uses[id].Type()
		}
	}
	basic, ok := t.(*types.Basic)
	return ok && basic.Info()&types.IsInteger != 0
}

// isKnownNumber reports whether an expression is a constant that is the number of an
// architecture or a release.
func (src *source) isKnownNumber(e ast.Expr) bool {
	n, ok := src.constant(e)
	return ok && (slices.Contains(archNumbers, n) || slices.Contains(releaseNumbers, n))
}

func (src *source) constant(e ast.Expr) (int64, bool) {
	value := src.info.Types[e].Value
	if value == nil || value.Kind() != constant.Int {
		return 0, false
	}
	return constant.Int64Val(value)
}

// isGPULiteral reports whether an expression is a certain architecture or release.
func (src *source) isGPULiteral(e ast.Expr) bool {
	literal, ok := ast.Unparen(e).(*ast.CompositeLit)
	if !ok || len(literal.Elts) == 0 {
		return false
	}
	switch typeName(src.info.Types[literal].Type) {
	case "Arch", "Release", "toolkit.Version":
	default:
		return false
	}
	return slices.ContainsFunc(literal.Elts, func(e ast.Expr) bool {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			e = pair.Value
		}
		n, ok := src.constant(e)
		return ok && n != 0
	})
}

// ordersGPUs reports whether a function is called that compares the numbers in its
// arguments, or a method of a version with constants.
func (src *source) ordersGPUs(call *ast.CallExpr) bool {
	name := ""
	switch f := call.Fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
		if receiver := typeName(src.info.Types[f.X].Type); receiver == "toolkit.Version" || receiver == "Release" {
			return slices.ContainsFunc(call.Args, func(e ast.Expr) bool { _, ok := src.constant(e); return ok })
		}
	}
	switch name {
	case "min", "max", "Compare", "Contains", "Index":
		return slices.ContainsFunc(call.Args, src.isGPUField)
	}
	return false
}

// listsGPUs reports whether a literal is a list or table of architectures, or one of
// them.
func (src *source) listsGPUs(literal *ast.CompositeLit, seen map[ast.Node]bool) bool {
	if src.isGPULiteral(literal) {
		return true
	}
	count := 0
	for _, e := range literal.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			e = pair.Key
		}
		if inner, ok := e.(*ast.CompositeLit); ok && src.listsGPUs(inner, seen) {
			seen[inner] = true
			count++
			continue
		}
		if !src.isArch(e) {
			return false
		}
		count++
	}
	return count > 1
}

// isArch reports whether an expression is the number or the name of an architecture.
func (src *source) isArch(e ast.Expr) bool {
	if n, ok := src.constant(e); ok {
		return slices.Contains(archNumbers, n)
	}
	value := src.info.Types[e].Value
	if value == nil || value.Kind() != constant.String {
		return false
	}
	m := archName.FindStringSubmatch(constant.StringVal(value))
	if m == nil {
		return false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	return err == nil && slices.Contains(archNumbers, n)
}

// namesGPUNumber reports whether constants or variables are defined that are called like
// a number of an architecture or a release, and are one.
func (src *source) namesGPUNumber(spec *ast.ValueSpec) bool {
	for i, name := range spec.Names {
		if i < len(spec.Values) && aboutGPUs.MatchString(name.Name) && src.isKnownNumber(spec.Values[i]) {
			return true
		}
	}
	return false
}

// TestGPUNumbers shows what the rule finds: every line of the sample that ends in
// "// found", and no other.
func TestGPUNumbers(t *testing.T) {
	const sample = `package sample
type Arch struct { Number int; Suffix string }
type Release struct { Major, Minor int }
func (r Release) Number() int { return r.Major*10 + r.Minor }
type Version struct { Major, Minor int } // of LLVM
const mercury = 100 // found
const width = 100
var numbers = []int{75, 80, 90} // found
var names = []string{"80", "90a"} // found
var limits = map[int]int{ // found
	80: 1, 90: 2}
var primes = []int{2, 3, 80}
var one = Arch{90, "a"} // found
var none = Arch{}
func f(a, b Arch, r Release, v Version, toolkit, n int) (x bool) {
	x = a.Number >= 90 // found
	x = 90 <= a.Number // found
	x = a.Number < b.Number // found
	x = a.Number/10 == 8 // found
	x = a.Suffix == "f" // found
	x = r.Number() >= 134 // found
	x = r == Release{13, 4} // found
	x = toolkit > 130 // found
	x = min(a.Number, n) > 3 // found
	x = r.Minor > 3 // found
	switch a.Number {
	case 80: // found
	}
	x = a == b
	x = a == none
	x = n > 90
	x = v.Major > 20
	x = toolkit > 3
	return x
}
`
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, "sample.go", sample, 0)
	if err != nil {
		t.Fatal(err)
	}
	src := &source{fset: fset, files: []file{{"sample.go", []byte(sample), parsed}}, info: newInfo()}
	if _, err := (&types.Config{}).Check("sample", fset, []*ast.File{parsed}, src.info); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, v := range gpuNumbers(src) {
		found[v.place] = true
	}
	for i, line := range strings.Split(sample, "\n") {
		place := fmt.Sprintf("sample.go:%d", i+1)
		if want := strings.HasSuffix(line, "// found"); found[place] != want {
			t.Errorf("%s: found %v, want %v: %s", place, found[place], want, line)
		}
	}
}
