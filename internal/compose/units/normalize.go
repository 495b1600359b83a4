package units

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/warpld/warpld/internal/ptx"
)

// A normalizer writes parts of a module so that they depend on nothing else in it: without
// comments and empty lines, and with labels that are numbered in each function from 0.
// Compilers number labels through the module, so that an edit changes those of all functions
// behind it.
type normalizer struct {
	module *ptx.Module
	labels map[string]string // of the current function
	counts map[string]int    // labels of each kind
}

// normalize returns the text of an entity, with an end of line.
func (n *normalizer) normalize(e *ptx.Entity) ([]byte, error) {
	clear(n.labels)
	clear(n.counts)
	rename := n.rename
	if !e.IsFunction() {
		rename = asIs
	}
	text, err := n.module.Append(make([]byte, 0, e.End-e.Start+1), e.Range, rename)
	return append(withoutEmptyLines(text), '\n'), err
}

// asIs renames nothing.
func asIs([]byte) string { return "" }

// rename returns the new name of a label, or the empty string for other words.
func (n *normalizer) rename(word []byte) string {
	if word[0] != '$' && word[0] != 'p' {
		return ""
	}
	if name, known := n.labels[string(word)]; known {
		return name
	}
	prefix := labelKind(string(word))
	if prefix == "" {
		return ""
	}
	name := prefix + strconv.Itoa(n.counts[prefix])
	n.counts[prefix]++
	n.labels[string(word)] = name
	return name
}

// labelKind returns what the new names of a label begin with. It returns the empty string if
// the word is not one of those that compilers number.
func labelKind(word string) string {
	if rest, ok := strings.CutPrefix(word, "$L__BB"); ok {
		if function, block, ok := strings.Cut(rest, "_"); ok && isNumber(function) && isNumber(block) {
			return "$L__BB0_"
		}
		return ""
	}
	for _, prefix := range []string{"prototype_", "$L__tmp"} {
		if rest, ok := strings.CutPrefix(word, prefix); ok && isNumber(rest) {
			return prefix
		}
	}
	return ""
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// withoutEmptyLines removes lines that hold blanks only, in place.
func withoutEmptyLines(text []byte) []byte {
	out := text[:0]
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) > 0 {
			out = append(out, line...)
		}
	}
	return out
}
