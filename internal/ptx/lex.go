package ptx

import (
	"bytes"
	"fmt"
)

// A Range is a part of the text, from Start to before End.
type Range struct{ Start, End int }

// Empty reports whether there is nothing in the range.
func (r Range) Empty() bool { return r.Start >= r.End }

// A SyntaxError is the place where a text stops being PTX.
type SyntaxError struct {
	Line int
	Text string
	at   int
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("PTX line %d: %s", e.Line, e.Text) }

// A tokenKind is what a token is.
type tokenKind uint8

const (
	endOfText tokenKind = iota
	word                // an identifier, a register or an opcode: main, $L1, %r1
	directive           // .global
	number
	quoted // "text"
	sign   // any other single character
)

// A lexer cuts a text into tokens; comments and blanks lie between them.
type lexer struct {
	text []byte
	Range
	kind tokenKind
}

// wordByte marks the characters of identifiers after the first.
var wordByte = func() (set [256]bool) {
	for c := range set {
		letter := (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
		set[c] = letter || isDigit(byte(c)) || c == '_' || c == '$'
	}
	return set
}()

// IsNameByte reports whether names may contain a character.
func IsNameByte(c byte) bool { return wordByte[c] }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// next goes to the following token.
func (l *lexer) next() error {
	if err := l.blanks(); err != nil {
		return err
	}
	l.Start = l.End
	if l.End == len(l.text) {
		l.kind = endOfText
		return nil
	}
	c := l.text[l.End]
	l.End++
	switch {
	case isDigit(c):
		l.kind = number
		l.takeNumber()
	case wordByte[c], c == '%' && l.wordFollows():
		l.kind = word
		l.takeWord()
	case c == '.' && l.wordFollows():
		l.kind = directive
		l.takeWord()
	case c == '"':
		l.kind = quoted
		return l.takeString()
	case c < ' ' || c >= 0x7f:
		return l.fail(fmt.Sprintf("the byte %#02x is no part of PTX", c))
	default:
		l.kind = sign
	}
	return nil
}

// blanks skips spaces and comments.
func (l *lexer) blanks() error {
	for l.End < len(l.text) {
		switch l.text[l.End] {
		case ' ', '\t', '\n', '\r', '\f', '\v':
			l.End++
			continue
		case '/':
			length, err := l.comment(l.End)
			if err != nil {
				return err
			}
			if length > 0 {
				l.End += length
				continue
			}
		}
		return nil
	}
	return nil
}

// comment returns the length of the comment at a slash, without the end of its line. The
// length is zero if the slash starts no comment.
func (l *lexer) comment(at int) (int, error) {
	rest := l.text[at:]
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		if length := bytes.IndexByte(rest, '\n'); length >= 0 {
			return length, nil
		}
		return len(rest), nil
	case bytes.HasPrefix(rest, []byte("/*")):
		length := bytes.Index(rest[2:], []byte("*/"))
		if length < 0 {
			l.Start, l.End = at, len(l.text)
			return 0, l.fail("a comment does not end")
		}
		return length + 4, nil
	}
	return 0, nil
}

func (l *lexer) wordFollows() bool { return l.End < len(l.text) && wordByte[l.text[l.End]] }

func (l *lexer) takeWord() {
	for l.End < len(l.text) && wordByte[l.text[l.End]] {
		l.End++
	}
}

// takeNumber takes 12, 0x1F, 0f3F800000 and 1.5; the point counts only before a
// digit, because directives begin with one too.
func (l *lexer) takeNumber() {
	l.takeWord()
	if l.End+1 < len(l.text) && l.text[l.End] == '.' && isDigit(l.text[l.End+1]) {
		l.End++
		l.takeWord()
	}
}

// takeString takes the rest of a string. A backslash takes the next character with it.
func (l *lexer) takeString() error {
	for at := l.End; at < len(l.text); at++ {
		switch l.text[at] {
		case '\\':
			at++
		case '"':
			l.End = at + 1
			return nil
		}
	}
	return l.fail("a string does not end")
}

// bytes is the token.
func (l *lexer) bytes() []byte { return l.text[l.Start:l.End] }

// is reports whether the token is this sign or directive.
func (l *lexer) is(token string) bool {
	if (l.kind != sign && l.kind != directive) || l.text[l.Start] != token[0] {
		return false
	}
	return string(l.bytes()) == token
}

// isWord reports whether the token is this word.
func (l *lexer) isWord(text string) bool { return l.kind == word && string(l.bytes()) == text }

// fail is the error for the current token.
func (l *lexer) fail(text string) error { return &SyntaxError{at: l.Start, Text: text} }

// located counts the line of an error, once: it takes as long as reading does.
func located(text []byte, err error) error {
	if e, ok := err.(*SyntaxError); ok {
		e.Line = 1 + bytes.Count(text[:e.at], []byte("\n"))
	}
	return err
}

// unexpected is the error for a token that cannot stand here.
func (l *lexer) unexpected(wanted string) error {
	const most = 60
	found := "the end of the text"
	if l.kind != endOfText {
		found = fmt.Sprintf("%.*q", most, l.bytes())
	}
	return l.fail("expected " + wanted + ", found " + found)
}

// skipBlock goes from an opening brace to behind the one that closes it.
func (l *lexer) skipBlock() error {
	start := l.Start
	for depth := 1; ; {
		length := bytes.IndexAny(l.text[l.End:min(l.End+blockStep, len(l.text))], "{}\"/")
		if length < 0 {
			if l.End = min(l.End+blockStep, len(l.text)); l.End < len(l.text) {
				continue
			}
			l.Start = start // and all that follows is in the block
			return l.fail("a block does not end")
		}
		at := l.End + length
		l.End = at + 1
		switch l.text[at] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return nil
			}
		case '"':
			if err := l.takeString(); err != nil {
				return err
			}
		case '/':
			length, err := l.comment(at)
			if err != nil {
				return err
			}
			l.End = max(l.End, at+length)
		}
	}
}

// blockStep bounds one search of skipBlock.
const blockStep = 4 << 10
