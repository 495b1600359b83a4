// Package structure checks the size of types and functions and the form of the source
// text: what a reader has to keep in mind at once stays small.
package structure

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// The limits.
const (
	mostMethods    = 40  // in the method set of a pointer to the type
	mostFields     = 20  // of a struct, with those of embedded structs of this module
	mostLines      = 60  // of a function
	mostBranches   = 19  // cyclomatic complexity
	mostColumns    = 120 // of a line; a tab counts as one
	mostLinkLines  = 800 // of package internal/link, without tests
	linkPackage    = "internal/link"
	linkViolations = "lines of " + linkPackage
)

// largeTypes may have more fields than mostFields.
var largeTypes = map[string]string{
	"internal/options.Options": "the parsed command line: a field for each option of nvlink",
	"internal/options.Own":     "the parsed command line: a field for each option of warpld",
	"internal/record.Record":   "the JSON document about a link",
	"internal/engine/llvm.api": "libLLVM's functions, a field for each",
	"internal/report.view":     "the data of an HTML template: the JSON document and what is computed from it",
}

// embeddings may share the methods of a struct; see embeddedState.
var embeddings = map[string]string{
	"internal/engine.LLVMJob embeds LLVM":      "JSON: the fields of both are one object, which is part of cache keys",
	"internal/report.view embeds Record":       "an HTML template names the fields; nothing changes the record",
	"internal/object/elf64.File embeds Header": "both are read-only once they are read",
	"internal/object/cubin.File embeds File":   "both are read-only once they are read",
}

// A violation is one place that breaks a rule.
type violation struct{ place, text string }

func TestStructure(t *testing.T) {
	src := load(t)
	rules := []struct {
		name  string
		check func(*source) []violation
	}{
		{"methods and fields", typeSizes},
		{"embedded state", embeddedState},
		{"function length", functionLengths},
		{"complexity", complexities},
		{"line length", lineLengths},
		{"mixed conditions", mixedConditions},
		{"doc comments", docComments},
		{"shadowed builtins", shadowedBuiltins},
		{"wording", wordings},
		{"numbers of GPUs", gpuNumbers},
		{linkViolations, linkLines},
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, v := range r.check(src) {
				t.Errorf("%s: %s", v.place, v.text)
			}
		})
	}
}

// TestSummary prints the largest types and the longest functions; use -v.
func TestSummary(t *testing.T) {
	src := load(t)
	types := sizes(src)
	slices.SortStableFunc(types, func(a, b typeSize) int { return b.methods - a.methods })
	t.Log("types with most methods:\n" + table(types))
	slices.SortStableFunc(types, func(a, b typeSize) int { return b.fields - a.fields })
	t.Log("types with most fields:\n" + table(types))
	functions := src.functions()
	slices.SortStableFunc(functions, func(a, b function) int { return b.lines - a.lines })
	t.Log("longest functions:\n" + functionTable(functions))
	slices.SortStableFunc(functions, func(a, b function) int { return b.branches - a.branches })
	t.Log("most complex functions:\n" + functionTable(functions))
	t.Log("lines of packages, without tests:\n" + packageTable(src))
}

const rows = 10

func table(types []typeSize) string {
	var b strings.Builder
	for _, s := range types[:rows] {
		fmt.Fprintf(&b, "%4d methods %4d fields  %s\n", s.methods, s.fields, s.name)
	}
	return b.String()
}

func functionTable(list []function) string {
	var b strings.Builder
	for _, f := range list[:rows] {
		fmt.Fprintf(&b, "%4d lines %4d branches  %s\n", f.lines, f.branches, f.place())
	}
	return b.String()
}

func packageTable(src *source) string {
	lines := src.packageLines()
	names := slices.SortedFunc(maps.Keys(lines), func(a, b string) int { return lines[b] - lines[a] })
	var b strings.Builder
	for _, name := range names[:2*rows] {
		fmt.Fprintf(&b, "%6d  %s\n", lines[name], name)
	}
	return b.String()
}
