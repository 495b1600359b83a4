package options

import (
	"slices"
	"strings"
)

// A strayError is the quote that was still open when a text ended, or nothing
// if the text ended in a backslash. Its Error is nvlink's text.
type strayError string

func (s strayError) Error() string { return "Stray '" + string(s) + "' character" }

// splitList cuts the value of a list option at commas. Double quotes protect
// commas and vanish; inside them \" does not end the quotes, and stays as it is.
// Blanks around an item, and empty items, vanish. The items before an error are
// returned with it.
func splitList(value string) ([]string, error) {
	var items []string
	var item strings.Builder
	quoted := false
	flush := func() {
		if s := strings.Trim(item.String(), " \t"); s != "" {
			items = append(items, s)
		}
		item.Reset()
	}
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '"' && quoted && value[i-1] == '\\':
			item.WriteByte(c)
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			flush()
		default:
			item.WriteByte(c)
		}
	}
	switch {
	case quoted && strings.HasSuffix(value, `\`):
		return items, strayError("")
	case quoted:
		return items, strayError(`"`)
	}
	flush()
	return items, nil
}

// A quoting is a way to write words as text.
type quoting struct {
	separators string // characters between words
	quotes     string // characters that begin and end a quotation
	keepQuotes bool   // quotes stay in the word
}

var (
	// optionsFile is nvlink's for -optf; see splitOptionsFile.
	optionsFile = quoting{separators: " \t\r\n", quotes: `"`, keepQuotes: true}
	// nvvmOptions is nvlink's for an item of -Xnvvm.
	nvvmOptions = quoting{separators: " ", quotes: `"`, keepQuotes: true}
	// responseFile is GNU's for @file.
	responseFile = quoting{separators: " \t\r\n\v\f", quotes: `"'`}
)

// split splits text into words. A backslash makes the next character literal, inside quotes
// too.
func (q quoting) split(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	open := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		if open == 0 && strings.IndexByte(q.separators, c) >= 0 {
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
			continue
		}
		inWord = true
		switch {
		case c == '\\':
			if i++; i == len(text) {
				return nil, strayError("")
			}
			word.WriteByte(text[i])
			continue
		case open == 0 && strings.IndexByte(q.quotes, c) >= 0:
			open = c
		case c == open:
			open = 0
		default:
			word.WriteByte(c)
			continue
		}
		if q.keepQuotes {
			word.WriteByte(c)
		}
	}
	if open != 0 {
		return nil, strayError(open)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// trimmed is split in nvlink's way: blanks at the ends of a word vanish even if
// they were escaped, but not if quotes stand around them, and so do words of
// nothing but blanks.
func (q quoting) trimmed(text string) ([]string, error) {
	words, err := q.split(text)
	for i, w := range words {
		words[i] = strings.Trim(w, " \t")
	}
	return slices.DeleteFunc(words, func(w string) bool { return w == "" }), err
}

// splitOptionsFile returns the words of an options file. The quotes in them are removed after
// the escapes were resolved, so that \" is removed as well, and only \\" leaves something: \".
func splitOptionsFile(text string) ([]string, error) {
	words, err := optionsFile.trimmed(text)
	for i, w := range words {
		var kept strings.Builder
		for j := range len(w) {
			if w[j] != '"' || (j > 0 && w[j-1] == '\\') {
				kept.WriteByte(w[j])
			}
		}
		words[i] = kept.String()
	}
	return words, err
}

// splitXnvvm returns the tokens of -Xnvvm.
func splitXnvvm(items []string) ([]string, error) {
	var tokens []string
	for _, item := range items {
		words, err := nvvmOptions.trimmed(item)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, words...)
	}
	return tokens, nil
}

// splitXptxas returns the tokens of -Xptxas, in which quotes and backslashes are ordinary
// characters.
func splitXptxas(items []string) []string {
	var tokens []string
	for _, item := range items {
		tokens = append(tokens, strings.FieldsFunc(item, func(r rune) bool { return r == ' ' || r == '\t' })...)
	}
	return tokens
}
