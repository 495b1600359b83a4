package ptx

// An Instruction is one statement of a function's body: an instruction, a directive such as
// .param, or a label.
type Instruction struct {
	// Label is the name of a label; then there is nothing else.
	Label []byte
	// Opcode is the first word without modifiers ("ld"), or the directive (".param").
	Opcode []byte
	// Space is the first modifier (".param", ".global", ".u32"); it is empty if there is none.
	Space    []byte
	Operands []Operand
}

// An Operand is a part of a statement between commas.
type Operand struct {
	// Open is the bracket that the operand stands in: '[' for an address, '{' for a vector,
	// '(' for the parameters of a call. It is zero for an operand without brackets.
	Open byte
	// Words are the names and registers of the operand.
	Words [][]byte
}

// EachInstruction calls visit for every statement of a function's body. The instruction is
// valid until visit returns. Lines of debug information are left out.
func (m *Module) EachInstruction(e *Entity, visit func(*Instruction)) error {
	if e.Body.Empty() {
		return nil
	}
	s := &statements{lexer: lexer{text: m.Text[:e.Body.End], Range: Range{End: e.Body.Start}}, visit: visit}
	err := s.lexer.next()
	for err == nil && s.lexer.kind != endOfText {
		err = s.statement()
	}
	return located(m.Text, err)
}

// A statements reads a body statement by statement.
type statements struct {
	lexer   lexer
	visit   func(*Instruction)
	current Instruction
}

// statement reads one statement, a brace, a label or a predicate.
func (s *statements) statement() error {
	switch {
	case s.lexer.is("{"), s.lexer.is("}"), s.lexer.is(";"), s.lexer.is(":"):
		return s.lexer.next()
	case s.lexer.is(".loc"):
		if err := s.lexer.next(); err != nil {
			return err
		}
		return s.lexer.location()
	case s.lexer.is("@"): // @!%p1
		err := s.lexer.next()
		if err == nil && s.lexer.is("!") {
			err = s.lexer.next()
		}
		if err == nil {
			err = s.lexer.next()
		}
		return err
	}
	first := s.lexer.bytes()
	isWord := s.lexer.kind == word
	if err := s.lexer.next(); err != nil {
		return err
	}
	if s.current = (Instruction{Operands: s.current.Operands[:0]}); isWord && s.lexer.is(":") {
		s.current.Label = first
		s.visit(&s.current)
		return nil
	}
	s.current.Opcode = first
	if err := s.modifiers(isWord); err != nil {
		return err
	}
	if err := s.operands(); err != nil {
		return err
	}
	s.visit(&s.current)
	return nil
}

// modifiers skips the modifiers of an opcode and keeps the first.
func (s *statements) modifiers(isOpcode bool) error {
	for isOpcode && s.lexer.kind == directive {
		if s.current.Space == nil {
			s.current.Space = s.lexer.bytes()
		}
		if err := s.lexer.next(); err != nil {
			return err
		}
	}
	return nil
}

// operands reads to the end of the statement.
func (s *statements) operands() error {
	depth := 0
	operand := s.newOperand()
	for s.lexer.kind != endOfText && !s.lexer.is(";") {
		switch {
		case s.lexer.kind == word:
			operand.Words = append(operand.Words, s.lexer.bytes())
		case s.lexer.is(",") && depth == 0:
			operand = s.newOperand()
		case s.lexer.is("["), s.lexer.is("{"), s.lexer.is("("):
			if depth++; operand.Open == 0 {
				operand.Open = s.lexer.text[s.lexer.Start]
			}
		case s.lexer.is("]"), s.lexer.is("}"), s.lexer.is(")"):
			depth--
		}
		if err := s.lexer.next(); err != nil {
			return err
		}
	}
	return nil
}

// newOperand adds an operand and reuses the memory of an earlier instruction's.
func (s *statements) newOperand() *Operand {
	list := s.current.Operands
	if len(list) < cap(list) {
		list = list[:len(list)+1]
		list[len(list)-1] = Operand{Words: list[len(list)-1].Words[:0]}
	} else {
		list = append(list, Operand{})
	}
	s.current.Operands = list
	return &list[len(list)-1]
}

// A Parameter is a parameter or a result of a function.
type Parameter struct {
	Name string
	// Before and After are the text around the name: ".param .align 8 .b8 " and "[16]".
	Before, After Range
}

// Parameters returns the names of a function's parameters in their order, without the results.
func (m *Module) Parameters(e *Entity) ([]string, error) {
	_, parameters, err := m.Signature(e)
	var names []string
	for _, p := range parameters {
		names = append(names, p.Name)
	}
	return names, err
}

// Signature returns the results and the parameters of a function in their order.
func (m *Module) Signature(e *Entity) (results, parameters []Parameter, err error) {
	l := lexer{text: m.Text[:e.Head.End], Range: Range{End: e.Head.Start}}
	named, attribute := false, false
	for {
		if err = l.next(); err != nil || l.kind == endOfText {
			return results, nil, located(m.Text, err)
		}
		switch {
		case l.isWord(e.Name):
			named = true
		case l.is("("):
			list, err := l.parameters()
			if err != nil || named {
				return results, list, located(m.Text, err)
			}
			if !attribute { // .attribute(.unified)
				results = list
			}
		}
		attribute = l.is(".attribute")
	}
}

// parameters reads a list to the parenthesis that closes it.
func (l *lexer) parameters() ([]Parameter, error) {
	var list []Parameter
	current := Parameter{Before: Range{Start: l.End}}
	for {
		if err := l.next(); err != nil || l.kind == endOfText {
			return list, err
		}
		switch {
		case l.kind == word && current.Name == "":
			current.Name = string(l.bytes())
			current.Before.End, current.After.Start = l.Start, l.End
		case l.is(","), l.is(")"):
			if current.After.End = l.Start; current.Name != "" {
				list = append(list, current)
			}
			current = Parameter{Before: Range{Start: l.End}}
			if l.is(")") {
				return list, nil
			}
		}
	}
}
