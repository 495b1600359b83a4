package units

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/warpld/warpld/internal/ptx"
)

// stub is the text of a kernel whose code the unit does not have. It only calls the external
// functions that the kernel introduces.
func (w *writer) stub(place int) ([]byte, error) {
	c := w.cutter
	e := c.kernelOf(place)
	var b bytes.Buffer
	if e.Linkage != ptx.Local {
		fmt.Fprintf(&b, "%s ", e.Linkage)
	}
	fmt.Fprintf(&b, ".entry %s() { ", e.Name)
	for i, x := range c.introduced[place] {
		if err := w.call(&b, i, &c.externs[x]); err != nil {
			return nil, err
		}
	}
	b.WriteString("ret; }")
	if !c.lineInfo {
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}

// call writes a call of an external function with parameters that have no values.
func (w *writer) call(b *bytes.Buffer, n int, x *extern) error {
	m := w.cutter.module
	results, parameters, err := m.Signature(&m.Entities[x.entity])
	if err != nil {
		return unreadable(err)
	}
	declare := func(list []ptx.Parameter, prefix string) (names []string) {
		for i, p := range list {
			name := fmt.Sprintf("%s%d_%d", prefix, n, i)
			fmt.Fprintf(b, "%s %s%s; ", bytes.TrimSpace(m.Part(p.Before)), name, bytes.TrimSpace(m.Part(p.After)))
			names = append(names, name)
		}
		return names
	}
	b.WriteString("{ ")
	result, arguments := declare(results, "wr"), declare(parameters, "wp")
	b.WriteString("call.uni ")
	if len(result) > 0 {
		fmt.Fprintf(b, "(%s), ", strings.Join(result, ", "))
	}
	b.WriteString(x.name)
	if len(arguments) > 0 {
		fmt.Fprintf(b, ", (%s)", strings.Join(arguments, ", "))
	}
	b.WriteString("; } ")
	return nil
}
