package message

import (
	"strconv"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// A Style is how messages are rendered.
type Style struct {
	// Colour and demangled names are for people at a terminal. Without them the
	// first line of a message is nvlink's own, byte for byte, because build
	// systems parse it.
	Terminal bool
}

// padded is nvlink's prefix: the word in a column of eight.
func padded(s Severity) string {
	w := s.String()
	return w + strings.Repeat(" ", 8-len(w))
}

var colours = [...]string{Info: "\x1b[36m", Warning: "\x1b[33m", Error: "\x1b[31m", Fatal: "\x1b[31m"}

// Render returns the message as text, with a newline at the end.
func (s Style) Render(m *Message) string {
	if m.Verbatim {
		return m.Text + "\n"
	}
	tool := m.Tool
	if tool == "" {
		tool = "nvlink"
	}
	word, text := padded(m.Severity), m.Text
	if s.Terminal {
		word = "\x1b[1m" + colours[m.Severity] + word + "\x1b[0m"
		if m.Symbol != "" {
			text = strings.ReplaceAll(text, m.Symbol, Demangle(m.Symbol))
		}
	}
	var b strings.Builder
	b.WriteString(tool + " " + word + ": " + text + "\n")
	for _, n := range s.notes(m) {
		b.WriteString("    note: " + n + "\n")
	}
	if m.Hint != "" {
		b.WriteString("    hint: " + m.Hint + "\n")
	}
	return b.String()
}

// notes are the message's own, and the readable name of its symbol where the
// first line had to keep the mangled one.
func (s Style) notes(m *Message) []string {
	if s.Terminal || m.Symbol == "" {
		return m.Notes
	}
	if name := Demangle(m.Symbol); name != m.Symbol {
		return append([]string{m.Symbol + " is " + name}, m.Notes...)
	}
	return m.Notes
}

// staticSymbol begins nvcc's names of static symbols, followed by the length of a module's id,
// the id and the symbol: __nv_static_3__ab_k.
const staticSymbol = "__nv_static_"

// Demangle returns the C++ or Rust name behind a symbol, or the symbol itself.
func Demangle(symbol string) string {
	if rest, ok := strings.CutPrefix(symbol, staticSymbol); ok {
		digits, id, _ := strings.Cut(rest, "_")
		if n, err := strconv.ParseUint(digits, 10, 16); err == nil && uint64(len(id)) > n+1 && id[n] == '_' {
			return demangle.Filter(id[n+1:]) + " (static)"
		}
	}
	return demangle.Filter(symbol)
}
