package ptx

import (
	"bytes"
	"iter"
)

// A Ref is a symbol of the module that an entity names.
type Ref struct {
	Name string
	// Called means that the symbol is the target of a call, Taken that it stands in another
	// place, so that its address is used.
	Called, Taken bool
}

// Refs are the symbols that a function's body or a variable's initializer names,
// in the order of the text. A local name that is also a symbol's counts as the
// symbol. indirect reports whether the body has a call through a pointer.
func (m *Module) Refs(e *Entity) (refs []Ref, indirect bool, err error) {
	if e.Body.Empty() {
		return nil, false, nil
	}
	text := lexer{text: m.Text[:e.Body.End], Range: Range{End: e.Body.Start}}
	c := &collector{module: m, lexer: text, seen: map[string]int{}}
	if err = c.lexer.next(); err == nil {
		if e.IsFunction() {
			err = c.statements()
		} else {
			err = c.names()
		}
	}
	return c.refs, c.indirect, located(m.Text, err)
}

// A collector gathers the symbols of one body.
type collector struct {
	module   *Module
	lexer    lexer
	refs     []Ref
	seen     map[string]int // place in refs
	indirect bool
}

// add notes the current token, if it is a symbol.
func (c *collector) add(called bool) {
	i, ok := c.seen[string(c.lexer.bytes())]
	if !ok {
		symbol, known := c.module.symbols[string(c.lexer.bytes())]
		if !known {
			return
		}
		i = len(c.refs)
		c.refs = append(c.refs, Ref{Name: c.module.Entities[symbol].Name})
		c.seen[c.refs[i].Name] = i
	}
	if called {
		c.refs[i].Called = true
	} else {
		c.refs[i].Taken = true
	}
}

// names takes all names up to the end of a statement or of the text.
func (c *collector) names() error {
	for c.lexer.kind != endOfText && !(c.lexer.kind == sign && c.lexer.text[c.lexer.Start] == ';') {
		if c.lexer.kind == word && c.lexer.text[c.lexer.Start] != '%' { // no register
			c.add(false)
		}
		if err := c.lexer.next(); err != nil {
			return err
		}
	}
	return nil
}

// statements reads a body. What stands first in a statement is an opcode or a
// label, which may be called like a symbol.
func (c *collector) statements() error {
	for c.lexer.kind != endOfText {
		var err error
		switch {
		case c.lexer.is(".loc"):
			if err = c.lexer.next(); err == nil {
				err = c.lexer.location()
			}
		case c.lexer.is("{"), c.lexer.is("}"), c.lexer.is(";"), c.lexer.is(":"):
			err = c.lexer.next()
		case c.lexer.is("@"): // @!%p1
			if err = c.lexer.next(); err == nil && c.lexer.is("!") {
				err = c.lexer.next()
			}
			if err == nil {
				err = c.lexer.next()
			}
		case c.lexer.kind == word:
			err = c.instruction()
		default:
			err = c.names()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// instruction reads "opcode.modifier operands;" or a label, up to its colon.
func (c *collector) instruction() error {
	call := c.lexer.isWord("call")
	if err := c.lexer.next(); err != nil || c.lexer.is(":") {
		return err
	}
	if !call {
		return c.names()
	}
	for c.lexer.kind == directive {
		if err := c.lexer.next(); err != nil {
			return err
		}
	}
	if c.lexer.is("(") { // (results), target
		for c.lexer.kind != endOfText && !c.lexer.is(";") && !c.lexer.is(")") {
			if err := c.lexer.next(); err != nil {
				return err
			}
		}
		for c.lexer.is(")") || c.lexer.is(",") {
			if err := c.lexer.next(); err != nil {
				return err
			}
		}
	}
	if c.lexer.kind == word {
		if c.lexer.text[c.lexer.Start] == '%' {
			c.indirect = true
		} else {
			c.add(true)
		}
		if err := c.lexer.next(); err != nil {
			return err
		}
	}
	return c.names()
}

// Words yields the names, registers and opcodes of a text, without those in strings and
// comments. It skips bytes that are no part of PTX. What follows the start of a string or
// comment without an end has no words.
func Words(text []byte) iter.Seq[Range] { return tokens(text, word) }

// Directives yields the directives and modifiers of a text, with their points. It treats what is
// no PTX as Words does.
func Directives(text []byte) iter.Seq[Range] { return tokens(text, directive) }

func tokens(text []byte, kind tokenKind) iter.Seq[Range] {
	return func(yield func(Range) bool) {
		for l := (lexer{text: text}); ; {
			if err := l.next(); err != nil {
				if l.text[l.Start] == '"' {
					return
				}
				continue
			}
			if l.kind == endOfText || (l.kind == kind && !yield(l.Range)) {
				return
			}
		}
	}
}

// Append adds the text of a range to to, without comments. Words for which rename
// has something else than the empty string are replaced by it.
func (m *Module) Append(to []byte, r Range, rename func(word []byte) string) ([]byte, error) {
	l := lexer{text: m.Text[:r.End], Range: Range{End: r.Start}}
	for copied := r.Start; ; {
		from := l.End
		if err := l.next(); err != nil {
			return nil, located(m.Text, err)
		}
		if between := l.text[from:l.Start]; len(between) > 1 && bytes.IndexByte(between, '/') >= 0 {
			to = appendBlanks(append(to, l.text[copied:from]...), between)
			copied = l.Start
		}
		switch l.kind {
		case endOfText:
			return append(to, l.text[copied:]...), nil
		case word:
			if other := rename(l.bytes()); other != "" {
				to = append(append(to, l.text[copied:l.Start]...), other...)
				copied = l.End
			}
		}
	}
}

// appendBlanks adds what lies between two tokens, with a space for each comment.
func appendBlanks(to, blanks []byte) []byte {
	l := lexer{text: blanks}
	for i := 0; i < len(blanks); i++ {
		if blanks[i] == '/' {
			length, _ := l.comment(i) // it was read before, so it ends
			to = append(to, ' ')
			i += length - 1
			continue
		}
		to = append(to, blanks[i])
	}
	return to
}
