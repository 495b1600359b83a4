package units

import (
	"bytes"

	"github.com/warpld/warpld/internal/ptx"
)

// ones are values that all variables of a type can have.
var ones = map[string]string{
	".b8": "1", ".b16": "1", ".b32": "1", ".b64": "1", ".u8": "1", ".u16": "1", ".u32": "1", ".u64": "1",
	".s8": "1", ".s16": "1", ".s32": "1", ".s64": "1", ".f32": "0f3F800000", ".f64": "0d3FF0000000000000",
}

// withoutValue returns the text of a variable in units without the first kernel, where its
// value does not matter: another value, which is short and names nothing. gap is where the
// text begins that belongs to the variable if lines count.
func (w *writer) withoutValue(entity, gap int) ([]byte, error) {
	m := w.cutter.module
	e := &m.Entities[entity]
	if e.Body.Empty() {
		return w.parts[entity], nil
	}
	//rule: The code of kernels does not depend on the values of variables.
	//mutate: w.otherValue(e) -> ""
	value := w.otherValue(e)
	if value == "" {
		if s := w.cutter.names[e.Name]; len(w.cutter.variables[s.place].functions) > 0 {
			return nil, refuseEntity(TableForm, e)
		}
		return w.parts[entity], nil
	}
	if w.cutter.lineInfo {
		out := append([]byte{}, m.Text[gap:e.Body.Start]...)
		out = w.pad(append(out, value...), m.Part(e.Body))
		return append(out, m.Text[e.Body.End:e.End]...), nil
	}
	out, err := m.Append(nil, ptx.Range{Start: e.Start, End: e.Body.Start}, asIs)
	return append(append(out, value...), ";\n"...), unreadable(err)
}

// otherValue returns a value for a number or an array of numbers. It returns the empty string
// for other variables, and for arrays whose size is that of the value.
func (w *writer) otherValue(e *ptx.Entity) string {
	head := w.cutter.module.Part(e.Head)
	value := ""
	for r := range ptx.Directives(head) {
		switch d := string(head[r.Start:r.End]); {
		case d == ".v2" || d == ".v4":
			return ""
		case ones[d] != "":
			value = ones[d]
		}
	}
	isList := w.cutter.module.Text[e.Body.Start] == '{'
	switch dimensions := bytes.Count(head, []byte("[")); {
	case value == "" || dimensions > 1 || (dimensions == 1) != isList || bytes.Contains(head, []byte("[]")):
		return ""
	case isList:
		return "{" + value + "}"
	}
	return value
}
