// Package slice cuts a program for link-time optimization into slices: sets of
// kernels, each compiled by itself with all the code that it can reach, so that
// every kernel is optimized over the whole program and yet many compilers work at
// once, and an edit repeats only the slices that can see it.
//
// The package is pure. It reads PTX and returns option vectors and PTX:
//
//	Scan     one module's PTX, compiled by itself with nothing removed
//	Make     the plan: which kernels together, from which modules, with what options
//	Rewrite  a slice's PTX, checked against the plan, for ptxas -c
//	Data     PTX with the one definition of every variable that slices share
//
// The cubins of the data and of the slices, in that order, are merged by a linker.
//
// Whatever does not fit gives an error, a *message.Message with the reason: then the
// program is to be linked unsliced.
package slice

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/ptx"
)

// ScanOptions is the option vector for the PTX that Scan reads: all symbols of a
// module with all that they refer to. target is "compute_80".
func ScanOptions(target string) []string {
	return []string{"-arch=" + target, "-link-lto", "--device-c", "--force-device-c", "-opt=0"}
}

// A Module is what is known of one module of the program.
type Module struct {
	// Origin is what messages call it.
	Origin  string
	header  string
	symbols []symbol
	index   map[string]int
	// alien is something that slices cannot have. It is empty if there is nothing.
	alien string
}

// A symbol is a function or a variable of a module.
type symbol struct {
	name    string
	kind    string
	linkage ptx.Linkage
	defined bool
	size    int
	refs    []int // symbols of the module that it names
	taken   bool  // some code of the module uses its address
	// readings are the variables that a function reads and does not write.
	readings []reading
	literal  bool
	// head and value are the canonical text of a variable's definition; a function
	// has a head only.
	head, value string
	// digest is that of a weak function's canonical text.
	digest [sha256.Size]byte
}

func (s *symbol) isFunction() bool { return s.kind == ".func" || s.kind == ".entry" }

// isData reports whether the symbol is a variable that kernels can share.
func (s *symbol) isData() bool { return s.kind == ".global" || s.kind == ".const" }

// Scan reads the PTX of one module.
func Scan(origin string, text []byte) (*Module, error) {
	parsed, err := ptx.Parse(text)
	if err == nil {
		m := &Module{Origin: origin, index: map[string]int{}}
		if err = m.read(parsed); err == nil {
			return m, nil
		}
	}
	return nil, refusal("", []string{origin}, "its symbols cannot be read: %v", err)
}

func (m *Module) read(parsed *ptx.Module) error {
	names, err := namesOf(parsed)
	if err != nil {
		return err
	}
	for i := range parsed.Entities {
		e := &parsed.Entities[i]
		switch {
		case e.IsFunction() || e.IsVariable():
			if _, known := m.index[e.Name]; !known {
				m.index[e.Name] = len(m.symbols)
				m.symbols = append(m.symbols, symbol{name: e.Name})
			}
		case e.Kind == ".alias":
			m.alien = "the alias " + e.Name
		case isHeader(e.Kind):
			m.header += string(parsed.Part(e.Head)) + "\n"
		}
		if slices.Contains(e.Attributes, ".unified") {
			m.alien = "the unified symbol " + e.Name
		}
		if e.Linkage == ptx.Common {
			m.alien = "the common symbol " + e.Name
		}
	}
	for i := range m.symbols {
		if err := m.describe(parsed, names, &m.symbols[i]); err != nil {
			return err
		}
	}
	return m.findReadings(parsed)
}

func isHeader(kind string) bool {
	return kind == ".version" || kind == ".target" || kind == ".address_size"
}

// describe fills in a symbol.
func (m *Module) describe(parsed *ptx.Module, names *names, s *symbol) error {
	e := parsed.Symbol(s.name)
	s.kind, s.linkage, s.defined, s.size = e.Kind, e.Linkage, e.Defined(), e.Body.End-e.Body.Start
	s.literal = isLiteral(e)
	refs, _, err := parsed.Refs(e)
	if err != nil {
		return err
	}
	for _, r := range refs {
		to := m.index[r.Name]
		s.refs = append(s.refs, to)
		m.symbols[to].taken = m.symbols[to].taken || r.Taken
	}
	head, err := names.text(e.Head)
	if err != nil {
		return err
	}
	s.head = string(head)
	if !e.IsFunction() {
		value, err := names.text(e.Body)
		s.value = string(value)
		return err
	}
	if s.defined && s.linkage == ptx.Weak {
		body, err := names.text(e.Body)
		s.digest = sha256.Sum256(body)
		return err
	}
	return nil
}

// isLiteral reports whether a variable is a constant that the compiler made. Its name
// means nothing outside its module, and copies of it do no harm.
func isLiteral(e *ptx.Entity) bool {
	return e.IsVariable() && e.Kind != ".shared" && e.Linkage == ptx.Local && IsLiteralName(e.Name)
}

// IsLiteralName reports whether a local variable of that name is such a constant.
func IsLiteralName(name string) bool { return literalPrefix(name) != "" }

func literalPrefix(name string) string {
	for _, prefix := range []string{"$str", "__unnamed_", "__const$", "__cudart_"} {
		if strings.HasPrefix(name, prefix) {
			return prefix
		}
	}
	return ""
}

// names has the names of one PTX text in a form that doesn't depend on what else
// the compiler has numbered: literals are named by their content, labels, frames
// and prototypes by their place in the function.
type names struct {
	module *ptx.Module
	// other has the new names of symbols; open are literals being named.
	other map[string]string
	open  map[string]bool
	// prototypes are those of the current text.
	prototypes map[string]string
}

func namesOf(m *ptx.Module) (*names, error) {
	n := &names{module: m, other: map[string]string{}, open: map[string]bool{}}
	for i := range m.Entities {
		if e := &m.Entities[i]; isLiteral(e) {
			if err := n.literal(e); err != nil {
				return nil, err
			}
		}
	}
	return n, nil
}

// literal names a literal by its content, and those that it refers to before.
func (n *names) literal(e *ptx.Entity) error {
	if n.other[e.Name] != "" {
		return nil
	}
	if n.open[e.Name] {
		return fmt.Errorf("the literal %s refers to itself", e.Name)
	}
	n.open[e.Name] = true
	refs, _, err := n.module.Refs(e)
	if err != nil {
		return err
	}
	for _, r := range refs {
		if to := n.module.Symbol(r.Name); isLiteral(to) {
			if err := n.literal(to); err != nil {
				return err
			}
		}
	}
	n.other[e.Name] = "_" // its own name is no part of the content
	text, err := n.text(ptx.Range{Start: e.Head.Start, End: e.End})
	sum := sha256.Sum256(text)
	n.other[e.Name] = strings.TrimSuffix(literalPrefix(e.Name), "_") + "_" + hex.EncodeToString(sum[:8])
	return err
}

// text is a part of the PTX with canonical names and without comments.
func (n *names) text(r ptx.Range) ([]byte, error) {
	n.prototypes = map[string]string{}
	return n.module.Append(make([]byte, 0, r.End-r.Start), r, n.rename)
}

func (n *names) rename(word []byte) string {
	if word[0] == '%' {
		return ""
	}
	if other, ok := n.other[string(word)]; ok {
		return other
	}
	switch {
	case hasPrefix(word, "$L__BB"): // $L__BB<function>_<block>
		_, block, _ := strings.Cut(string(word[len("$L__BB"):]), "_")
		return "$L__BB_" + block
	case hasPrefix(word, "__local_depot"):
		return "__local_depot"
	case hasPrefix(word, "prototype_"):
		name := n.prototypes[string(word)]
		if name == "" {
			name = fmt.Sprintf("prototype_%d", len(n.prototypes))
			n.prototypes[string(word)] = name
		}
		return name
	}
	return ""
}

func hasPrefix(word []byte, prefix string) bool {
	return len(word) > len(prefix) && string(word[:len(prefix)]) == prefix
}

// refusal is the reason not to slice.
func refusal(symbol string, modules []string, format string, values ...any) *message.Message {
	m := &message.Message{Severity: message.Info, ID: "not-sliced", Symbol: symbol,
		Text: "linked without slices: " + fmt.Sprintf(format, values...)}
	if len(modules) > 0 {
		m.Notes = []string{"in " + message.FirstFew(modules)}
	}
	return m
}
