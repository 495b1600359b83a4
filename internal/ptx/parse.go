package ptx

// A parser reads the top level of a module; its current token is the first that is
// not read yet.
type parser struct {
	lexer lexer
	last  int // where the token before ends
}

func (p *parser) next() error {
	p.last = p.lexer.End
	return p.lexer.next()
}

// entity reads one part. With an error it gives what it knows of it.
func (p *parser) entity() (Entity, error) {
	e := Entity{Range: Range{Start: p.lexer.Start}}
	if p.lexer.kind != directive {
		return e, p.lexer.unexpected("a directive")
	}
	if linkage := Linkage(p.lexer.bytes()); isLinkage(linkage) {
		e.Linkage = linkage
		if err := p.next(); err != nil {
			return e, err
		}
		if !p.startsSymbol() {
			return e, p.lexer.unexpected("a function or a variable")
		}
	}
	e.Kind, e.Head.Start = string(p.lexer.bytes()), p.lexer.Start
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
	e := Entity{Kind: string(p.lexer.bytes())}
	return p.lexer.kind == directive && e.isSymbol()
}

// recover goes on to a token that can begin a symbol, behind the one that the
// failed entity began with.
func (p *parser) recover(failed int) error {
	for {
		linkage := p.lexer.kind == directive && isLinkage(Linkage(p.lexer.bytes()))
		if p.lexer.Start > failed && (p.lexer.kind == endOfText || p.startsSymbol() || linkage) {
			return nil
		}
		if err := p.next(); err != nil {
			p.lexer.kind = sign // what cannot be read is passed over
		}
	}
}

// function reads "(result) name (parameters) .maxntid 1, 2, 3" and the body.
func (p *parser) function(e *Entity) error {
	if err := p.directives(e); err != nil {
		return err
	}
	if p.lexer.is("(") {
		if err := p.parentheses(); err != nil {
			return err
		}
	}
	if err := p.name(e); err != nil {
		return err
	}
	if p.lexer.is("(") {
		if err := p.parentheses(); err != nil {
			return err
		}
	}
	pragma := false // its semicolon is not the end
	for {
		e.Head.End = p.last
		switch {
		case p.lexer.is("{"):
			start := p.lexer.Start
			if err := p.lexer.skipBlock(); err != nil {
				return err
			}
			e.Body = Range{start, p.lexer.End}
			return p.next()
		case p.lexer.is(";") && !pragma:
			return p.next()
		case p.lexer.kind == directive:
			if p.startsEntity() {
				return p.lexer.unexpected("';' or a body")
			}
			pragma = p.lexer.is(".pragma")
		case p.lexer.is(";"):
			pragma = false
		case p.lexer.kind != number && p.lexer.kind != quoted && !p.lexer.is(","):
			return p.lexer.unexpected("';' or a body")
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
	for p.lexer.is("[") || p.lexer.kind == number || p.lexer.is("]") {
		if err := p.next(); err != nil {
			return err
		}
	}
	e.Head.End = p.last
	if p.lexer.is("=") {
		if err := p.next(); err != nil {
			return err
		}
		e.Body.Start = p.lexer.Start
		for first := true; first || !p.lexer.is(";"); first = false {
			if p.lexer.kind == endOfText || p.lexer.kind == directive || p.lexer.is(";") {
				return p.lexer.unexpected("a value")
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
		if p.lexer.kind != number && p.lexer.kind != word {
			return p.lexer.unexpected("a value")
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
		err = p.lexer.location()
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
		err = p.lexer.fail("unknown directive " + e.Kind)
	}
	e.Head.End = p.last
	return err
}

func (p *parser) section() error {
	if p.lexer.kind != directive && p.lexer.kind != word {
		return p.lexer.unexpected("the name of a section")
	}
	if err := p.next(); err != nil {
		return err
	}
	if !p.lexer.is("{") {
		return p.lexer.unexpected("'{'")
	}
	if err := p.lexer.skipBlock(); err != nil {
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
	for p.lexer.kind == directive || p.lexer.kind == number {
		if p.startsEntity() {
			return p.lexer.unexpected("a name")
		}
		attribute := p.lexer.is(".attribute")
		if err := p.next(); err != nil {
			return err
		}
		if !attribute {
			continue
		}
		if !p.lexer.is("(") {
			return p.lexer.unexpected("'('")
		}
		start := p.lexer.End
		if err := p.parentheses(); err != nil {
			return err
		}
		for r := range Directives(p.lexer.text[start:p.last]) {
			e.Attributes = append(e.Attributes, string(p.lexer.text[start+r.Start:start+r.End]))
		}
	}
	return nil
}

// startsEntity reports whether the token begins a function or has its linkage, which
// nothing inside an entity does.
func (p *parser) startsEntity() bool {
	if p.lexer.kind != directive {
		return false
	}
	return isLinkage(Linkage(p.lexer.bytes())) || p.lexer.is(".func") || p.lexer.is(".entry")
}

// parentheses reads to behind the one that closes.
func (p *parser) parentheses() error {
	for depth := 0; ; {
		switch {
		case p.lexer.is("("):
			depth++
		case p.lexer.is(")"):
			depth--
		case p.lexer.kind == endOfText || p.startsEntity() || p.lexer.is("{") || p.lexer.is(";"):
			return p.lexer.unexpected("')'")
		}
		if err := p.next(); err != nil || depth == 0 {
			return err
		}
	}
}

func (p *parser) name(e *Entity) error {
	if p.lexer.kind != word {
		return p.lexer.unexpected("a name")
	}
	e.Name = string(p.lexer.bytes())
	return p.next()
}

func (p *parser) take(kind tokenKind, wanted string) error {
	if p.lexer.kind != kind {
		return p.lexer.unexpected(wanted)
	}
	return p.next()
}

// listed reads ", item, item".
func (p *parser) listed(kind tokenKind) error {
	for p.lexer.is(",") {
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
	if !p.lexer.is(";") {
		return p.lexer.unexpected("';'")
	}
	return p.next()
}
