// Package ptx reads PTX text as far as a linker must: the symbols of a module.
package ptx

import (
	"bytes"
	"iter"
	"regexp"
	"strings"
)

// A Linkage says who else may know a symbol.
type Linkage string

const (
	Local   Linkage = ""
	Extern  Linkage = ".extern"  // defined elsewhere
	Visible Linkage = ".visible" // defined here, for all
	Weak    Linkage = ".weak"    // defined here and perhaps elsewhere too
	Common  Linkage = ".common"
)

// A Declaration is one symbol at the top level of a module.
type Declaration struct {
	Linkage Linkage
	Kind    string // ".func", ".entry", ".global", ".const" or ".shared"
	Name    string
}

// Defined says whether the symbol has its definition here.
func (d Declaration) Defined() bool { return d.Linkage != Extern }

// head matches the start of a declaration, which compilers put at the beginning
// of a line.
var head = regexp.MustCompile(`^(?:(\.extern|\.visible|\.weak|\.common)\s+)?(\.func|\.entry|\.global|\.const|\.shared)\b(.*)`)

// Declarations gives the symbols of a module in the order of the text.
func Declarations(text []byte) iter.Seq[Declaration] {
	return func(yield func(Declaration) bool) {
		for line := range bytes.Lines(text) {
			if len(line) == 0 || line[0] != '.' {
				continue
			}
			part := head.FindStringSubmatch(string(line))
			if part == nil {
				continue
			}
			d := Declaration{Linkage: Linkage(part[1]), Kind: part[2]}
			if d.Kind == ".func" || d.Kind == ".entry" {
				d.Name = functionName(part[3])
			} else {
				d.Name = variableName(part[3])
			}
			if d.Name != "" && !yield(d) {
				return
			}
		}
	}
}

// functionName reads "(.param .b32 result) name(...": the result may be missing.
func functionName(rest string) string {
	rest = strings.TrimSpace(rest)
	if strings.HasPrefix(rest, "(") {
		end := strings.IndexByte(rest, ')')
		if end < 0 {
			return ""
		}
		rest = rest[end+1:]
	}
	return identifier.FindString(strings.TrimSpace(rest))
}

// variableName reads ".attribute(.managed) .align 4 .b8 name[16] = ...": the name
// is the first word that is neither a directive nor a number.
func variableName(rest string) string {
	for _, word := range strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' }) {
		if name := identifier.FindString(word); name != "" {
			return name
		}
	}
	return ""
}

var identifier = regexp.MustCompile(`^[a-zA-Z_$%][\w$]*`)
