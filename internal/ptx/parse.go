package ptx

// A parser reads the top level of a module; its current token is the first that is
// not read yet.
type parser struct {
	lexer
	last int // where the token before ends
}

func (p *parser) next() error {
	p.last = p.End
	return p.lexer.next()
}

// entity reads one part. With an error it gives what it knows of it.
func (p *parser) entity() (Entity, error) {
	e := Entity{Range: Range{Start: p.Start}}
	if p.kind != directive {
		return e, p.unexpected("a directive")
	}
	if linkage := Linkage(p.bytes()); isLinkage(linkage) {
		e.Linkage = linkage
		if err := p.next(); err != nil {
			return e, err
		}
		if !p.startsSymbol() {
			return e, p.unexpected("a function or a variable")
		}
	}
	e.Kind, e.Head.Start = string(p.bytes()), p.Start
	read := p.other
	switch {
	case e.IsFunction():
		read = p.function
	case e.IsVariable():
		read = p.variable
	}
	if err := p.next(); err != nil {
		return e, err
	}
	err := read(&e)
	e.End = p.last
	return e, err
}

func isLinkage(l Linkage) bool { return l == Extern || l == Visible || l == Weak || l == Common }

func (p *parser) startsSymbol() bool {
	e := Entity{Kind: string(p.bytes())}
	return p.kind == directive && e.isSymbol()
}

// recover goes on to a token that can begin a symbol, behind the one that the
// failed entity began with.
func (p *parser) recover(failed int) error {
	for {
		linkage := p.kind == directive && isLinkage(Linkage(p.bytes()))
		if p.Start > failed && (p.kind == endOfText || p.startsSymbol() || linkage) {
			return nil
		}
		if err := p.next(); err != nil {
			p.kind = sign // what cannot be read is passed over
		}
	}
}

// function reads "(result) name (parameters) .maxntid 1, 2, 3" and the body.
func (p *parser) function(e *Entity) error {
	if err := p.directives(e); err != nil {
		return err
	}
	if p.is("(") {
		if err := p.parentheses(); err != nil {
			return err
		}
	}
	if err := p.name(e); err != nil {
		return err
	}
	if p.is("(") {
		if err := p.parentheses(); err != nil {
			return err
		}
	}
	pragma := false // its semicolon is not the end
	for {
		e.Head.End = p.last
		switch {
		case p.is("{"):
			start := p.Start
			if err := p.skipBlock(); err != nil {
				return err
			}
			e.Body = Range{start, p.End}
			return p.next()
		case p.is(";") && !pragma:
			return p.next()
		case p.kind == directive:
			if p.startsEntity() {
				return p.unexpected("';' or a body")
			}
			pragma = p.is(".pragma")
		case p.is(";"):
			pragma = false
		case p.kind != number && p.kind != quoted && !p.is(","):
			return p.unexpected("';' or a body")
		}
		if err := p.next(); err != nil {
			return err
		}
	}
}

// variable reads ".attribute(.managed) .align 4 .b8 name[16] = value;".
func (p *parser) variable(e *Entity) error {
	if err := p.directives(e); err != nil {
		return err
	}
	if err := p.name(e); err != nil {
		return err
	}
	for p.is("[") || p.kind == number || p.is("]") {
		if err := p.next(); err != nil {
			return err
		}
	}
	e.Head.End = p.last
	if p.is("=") {
		if err := p.next(); err != nil {
			return err
		}
		e.Body.Start = p.Start
		for first := true; first || !p.is(";"); first = false {
			if p.kind == endOfText || p.kind == directive || p.is(";") {
				return p.unexpected("a value")
			}
			if err := p.next(); err != nil {
				return err
			}
		}
		e.Body.End = p.last
	}
	return p.semicolon()
}

// other reads what is neither a function nor a variable.
func (p *parser) other(e *Entity) error {
	var err error
	switch e.Kind {
	case ".alias": // .alias name, target;
		if err = p.name(e); err == nil {
			err = p.listed(word)
		}
		if err == nil {
			err = p.semicolon()
		}
	case ".version", ".address_size", ".target": // .target sm_80, debug
		if p.kind != number && p.kind != word {
			return p.unexpected("a value")
		}
		if err = p.next(); err == nil {
			err = p.listed(word)
		}
	case ".file": // .file 1 "name", 123, 456
		if err = p.take(number, "a number"); err == nil {
			err = p.take(quoted, "a name")
		}
		if err == nil {
			err = p.listed(number)
		}
	case ".loc":
		err = p.location()
	case ".pragma": // .pragma "text";
		if err = p.take(quoted, "a text"); err == nil {
			err = p.listed(quoted)
		}
		if err == nil {
			err = p.semicolon()
		}
	case ".section": // .section .debug_str { ... }
		err = p.section()
	default:
		err = p.fail("unknown directive " + e.Kind)
	}
	e.Head.End = p.last
	return err
}

func (p *parser) section() error {
	if p.kind != directive && p.kind != word {
		return p.unexpected("the name of a section")
	}
	if err := p.next(); err != nil {
		return err
	}
	if !p.is("{") {
		return p.unexpected("'{'")
	}
	if err := p.skipBlock(); err != nil {
		return err
	}
	return p.next()
}

// location reads what follows ".loc": "1 20 3, function_name $L+7, inlined_at 1 5 1".
// Nothing ends it.
func (l *lexer) location() error {
	for {
		for l.kind == number || (l.kind == word && l.text[l.Start] == '$') || l.is("+") {
			if err := l.next(); err != nil {
				return err
			}
		}
		if !l.is(",") {
			return nil
		}
		if err := l.next(); err != nil {
			return err
		}
		if !l.isWord("function_name") && !l.isWord("inlined_at") {
			return l.unexpected("function_name or inlined_at")
		}
		if err := l.next(); err != nil {
			return err
		}
	}
}

// directives reads those before a name, with their numbers.
func (p *parser) directives(e *Entity) error {
	for p.kind == directive || p.kind == number {
		if p.startsEntity() {
			return p.unexpected("a name")
		}
		attribute := p.is(".attribute")
		if err := p.next(); err != nil {
			return err
		}
		if !attribute {
			continue
		}
		if !p.is("(") {
			return p.unexpected("'('")
		}
		start := p.End
		if err := p.parentheses(); err != nil {
			return err
		}
		e.Attributes = append(e.Attributes, directivesIn(p.text[start:p.last])...)
	}
	return nil
}

// directivesIn lists the directives of a text that has been read before.
func directivesIn(text []byte) []string {
	var list []string
	l := lexer{text: text}
	for l.next() == nil && l.kind != endOfText {
		if l.kind == directive {
			list = append(list, string(l.bytes()))
		}
	}
	return list
}

// startsEntity reports whether the token begins a function or has its linkage, which
// nothing inside an entity does.
func (p *parser) startsEntity() bool {
	return p.kind == directive && (isLinkage(Linkage(p.bytes())) || p.is(".func") || p.is(".entry"))
}

// parentheses reads to behind the one that closes.
func (p *parser) parentheses() error {
	for depth := 0; ; {
		switch {
		case p.is("("):
			depth++
		case p.is(")"):
			depth--
		case p.kind == endOfText || p.startsEntity() || p.is("{") || p.is(";"):
			return p.unexpected("')'")
		}
		if err := p.next(); err != nil || depth == 0 {
			return err
		}
	}
}

func (p *parser) name(e *Entity) error {
	if p.kind != word {
		return p.unexpected("a name")
	}
	e.Name = string(p.bytes())
	return p.next()
}

func (p *parser) take(kind tokenKind, wanted string) error {
	if p.kind != kind {
		return p.unexpected(wanted)
	}
	return p.next()
}

// listed reads ", item, item".
func (p *parser) listed(kind tokenKind) error {
	for p.is(",") {
		if err := p.next(); err != nil {
			return err
		}
		if err := p.take(kind, "more of the list"); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) semicolon() error {
	if !p.is(";") {
		return p.unexpected("';'")
	}
	return p.next()
}
