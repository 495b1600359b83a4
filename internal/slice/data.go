package slice

import (
	"maps"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/ptx"
)

func sortedNames(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }

// Data is the PTX of the data object, for ptxas -c: the definitions of all variables
// that slices share with each other or with the host. It is first in the merge.
func (p *Plan) Data() []byte {
	d := &dataWriter{program: p.program, done: map[string]bool{}}
	for _, number := range p.shared {
		d.define(number)
	}
	return []byte(p.program.modules[0].header + strings.Join(d.functions, "") + strings.Join(d.variables, ""))
}

// A dataWriter collects declarations of functions and definitions of variables.
type dataWriter struct {
	program   *program
	done      map[string]bool
	functions []string
	variables []string
}

// define adds a variable, after all that it points to: PTX wants names declared
// before they are used. Literals come along under their canonical names.
func (d *dataWriter) define(number int) {
	s := d.program.symbol(number)
	// Literals of several modules share names; the canonical name is in the head.
	if d.done[s.head] {
		return
	}
	d.done[s.head] = true
	base := d.program.first[d.program.module[number]]
	for _, r := range s.refs {
		to := d.program.key(base + r)
		if d.program.symbol(to).isFunction() {
			d.declare(to)
		} else {
			d.define(to)
		}
	}
	text := s.head
	if s.value != "" {
		text += " = " + s.value
	}
	if !s.literal {
		text = string(ptx.Visible) + " " + text
	}
	d.variables = append(d.variables, text+";\n")
}

func (d *dataWriter) declare(number int) {
	s := d.program.symbol(number)
	if !d.done[s.name] {
		d.done[s.name] = true
		d.functions = append(d.functions, string(ptx.Extern)+" "+s.head+";\n")
	}
}
