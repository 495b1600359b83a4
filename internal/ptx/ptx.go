// Package ptx reads PTX text as far as a linker must: the parts at the top level
// of a module, and the symbols that each of them names. It knows PTX's tokens, and
// of instructions only what a call looks like.
package ptx

import "iter"

// A Linkage is who else may know a symbol.
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

// Defined reports whether the symbol has its definition here.
func (d Declaration) Defined() bool { return d.Linkage != Extern }

// Declarations yields the symbols of a module in the order of the text. It passes
// over what is no PTX and goes on behind it.
func Declarations(text []byte) iter.Seq[Declaration] {
	return func(yield func(Declaration) bool) {
		p := &parser{lexer: lexer{text: text}}
		for err := p.next(); p.lexer.kind != endOfText; {
			var e Entity
			if err == nil {
				e, err = p.entity()
			}
			if e.isSymbol() && e.Name != "" && !yield(Declaration{e.Linkage, e.Kind, e.Name}) {
				return
			}
			if err != nil {
				err = p.recover(e.Start)
			}
		}
	}
}

// An Entity is one part at the top level of a module.
type Entity struct {
	// Kind is the directive that names the kind: ".func", ".entry", ".global",
	// ".const", ".shared", ".alias", ".version", ".file", ".section" ...
	Kind    string
	Linkage Linkage
	Name    string
	// Range is the whole text, from the linkage to the semicolon or brace.
	Range
	// Head is the text without linkage, body, initializer and semicolon.
	Head Range
	// Body is what is in a function's braces, with them, or a variable's
	// initializer, without the equals sign. It is empty if there is none.
	Body Range
	// Attributes are what .attribute names: ".managed", ".unified".
	Attributes []string
}

// IsFunction reports whether the entity is a kernel or a function.
func (e *Entity) IsFunction() bool { return e.Kind == ".func" || e.Kind == ".entry" }

// IsVariable reports whether the entity is a variable.
func (e *Entity) IsVariable() bool {
	return e.Kind == ".global" || e.Kind == ".const" || e.Kind == ".shared"
}

func (e *Entity) isSymbol() bool { return e.IsFunction() || e.IsVariable() }

// Defined reports whether the entity is a definition, not just a declaration.
func (e *Entity) Defined() bool {
	if e.IsFunction() {
		return !e.Body.Empty()
	}
	return e.IsVariable() && e.Linkage != Extern
}

// A Module is a text and its parts.
type Module struct {
	Text     []byte
	Entities []Entity
	// symbols has an entity for each name, its definition if there is one.
	symbols map[string]int
}

// Parse reads a module. The error is a *SyntaxError.
func Parse(text []byte) (*Module, error) {
	m := &Module{Text: text, symbols: map[string]int{}}
	p := &parser{lexer: lexer{text: text}}
	if err := p.next(); err != nil {
		return nil, located(text, err)
	}
	for p.lexer.kind != endOfText {
		e, err := p.entity()
		if err != nil {
			return nil, located(text, err)
		}
		if e.isSymbol() {
			if first, ok := m.symbols[e.Name]; !ok || !m.Entities[first].Defined() {
				m.symbols[e.Name] = len(m.Entities)
			}
		}
		m.Entities = append(m.Entities, e)
	}
	return m, nil
}

// Symbol returns the function or variable of that name, its definition if the module
// has one. It returns nil if there is none.
func (m *Module) Symbol(name string) *Entity {
	if i, ok := m.symbols[name]; ok {
		return &m.Entities[i]
	}
	return nil
}

// Part is the text of a range.
func (m *Module) Part(r Range) []byte { return m.Text[r.Start:r.End] }
