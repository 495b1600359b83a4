package ptx

// An Instruction is one statement of a function's body: an instruction, or a directive such as .param.
type Instruction struct {
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
	if err := s.lexer.next(); err != nil || (isWord && s.lexer.is(":")) { // a label
		return err
	}
	s.current = Instruction{Opcode: first, Operands: s.current.Operands[:0]}
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

// Parameters returns the names of a function's parameters in their order, without the results.
func (m *Module) Parameters(e *Entity) ([]string, error) {
	l := lexer{text: m.Text[:e.Head.End], Range: Range{End: e.Head.Start}}
	for !l.isWord(e.Name) {
		if err := l.next(); err != nil || l.kind == endOfText {
			return nil, located(m.Text, err)
		}
	}
	var names []string
	for {
		if err := l.next(); err != nil || l.kind == endOfText || l.is(")") {
			return names, located(m.Text, err)
		}
		if l.kind == word {
			names = append(names, string(l.bytes()))
		}
	}
}
