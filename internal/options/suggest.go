package options

import (
	"slices"
	"strings"
)

// unknown is the message for an option that is not in the table. name is
// without its first dash, as nvlink prints it.
func unknown(name string) error {
	m := fatal("unknown-option", "Unknown option '%s'", name)
	if best := Closest(strings.TrimLeft(name, "-"), optionNames()); best != "" {
		m.Hint = "did you mean '" + spell(best) + "'?"
	}
	return m
}

// optionNames are the names worth suggesting, short and long.
func optionNames() []string {
	var names []string
	for _, t := range table {
		if t.group == hidden {
			continue
		}
		names = append(names, t.long)
		if t.short != "" && t.short != t.long {
			names = append(names, t.short)
		}
	}
	return names
}

// spell adds the right dashes to a name from the table.
func spell(name string) string {
	if slices.ContainsFunc(table, func(t row) bool { return t.long == name }) {
		return "--" + name
	}
	return "-" + name
}

// Closest returns the candidate that was probably meant by word, or nothing if none is near. A
// candidate that begins with word is as near as one with a single wrong letter.
func Closest(word string, candidates []string) string {
	best, limit := "", len(word)/3
	for _, c := range candidates {
		d := distance(word, c, limit)
		if len(word) > 2 && strings.HasPrefix(c, word) {
			d = min(d, 1)
		}
		if d < limit || (d == limit && best == "") {
			best, limit = c, d
		}
	}
	return best
}

// distance is the number of letters to insert, delete or replace to turn a
// into b, or something above limit if it is above limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
