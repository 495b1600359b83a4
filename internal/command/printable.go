package command

import (
	"io"
	"strings"
	"unicode"
)

// printable replaces the control characters of texts for a terminal. Names come from
// files, which may have any bytes for them.
type printable struct{ w io.Writer }

// Write implements io.Writer.
func (p printable) Write(text []byte) (int, error) {
	visible := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, string(text))
	if _, err := io.WriteString(p.w, visible); err != nil {
		return 0, err
	}
	return len(text), nil
}
