// Package units cuts the PTX of a whole program into units that ptxas can assemble one by one.
//
// Without -c, ptxas copies each function into every kernel that reaches it. The code of a kernel
// then depends on its own text, on that of the functions that it reaches, and on a few things
// of the module: the list of variables, which external functions earlier kernels use, and,
// for kernels that deal with function pointers, on all functions whose address is taken. A
// unit is a text with some of the kernels in which these things are as they are in the whole
// program, so that ptxas makes the same code of these kernels. Package compose makes the file of
// the whole program from the files of the units.
//
// The rules are comments beside the code. What no rule covers is refused with a reason, and
// the caller gives ptxas the whole text.
package units

import (
	"bytes"

	"github.com/warpld/warpld/internal/ptx"
)

// DefaultBundleSize is a good size of a unit: it takes ptxas some tenths of a second, many times
// what starting ptxas takes.
const DefaultBundleSize = 100 << 10

// Settings are what the caller decides.
type Settings struct {
	// BundleSize is how many bytes of functions the kernels of a unit may have together. A
	// larger kernel is alone in its unit. With 0 every kernel is.
	BundleSize int
}

// A Program is a whole program's PTX, cut into units.
type Program struct {
	// Source is the text that was cut.
	Source []byte
	// Kernels are in the order in which the file of the whole program has them.
	Kernels []Kernel
	// Units are in the order of their first kernels.
	Units []Unit
	// First is the unit of the first kernel. In it all variables have their values.
	First int
	// LineInfo: the text has line numbers (nvcc -lineinfo).
	LineInfo bool
}

// A Kernel is one that ptxas makes code of.
type Kernel struct {
	Name string
	Unit int // its place in Program.Units
	// Externs are the external functions that no earlier kernel uses, in the order in
	// which ptxas numbers them.
	Externs []string
}

// A Unit is a text for ptxas.
type Unit struct {
	Text []byte
	// Kernels are the places in Program.Kernels of the kernels whose code the unit has, from
	// the lowest. ptxas writes them in this order.
	Kernels []int
	// Stubs are the places of the kernels that the unit has with another body, from the
	// lowest. Their code is not that of the program.
	Stubs []int
}

// Cut cuts the PTX of a whole program. The error is a *Refused.
func Cut(text []byte, s Settings) (*Program, error) {
	c, err := read(text)
	if err != nil {
		return nil, err
	}
	if err := c.arrange(); err != nil {
		return nil, err
	}
	w, err := newWriter(c)
	if err != nil {
		return nil, err
	}
	p := &Program{Source: text, LineInfo: c.lineInfo}
	for place, f := range c.order {
		p.Kernels = append(p.Kernels, Kernel{Name: c.functions[f].name})
		for _, x := range c.introduced[place] {
			p.Kernels[place].Externs = append(p.Kernels[place].Externs, c.externs[x].name)
		}
	}
	for _, kernels := range c.bundles(max(s.BundleSize, 0), w.shared) {
		for _, k := range kernels {
			p.Kernels[k].Unit = len(p.Units)
		}
		u, err := w.unit(kernels)
		if err != nil {
			return nil, err
		}
		p.Units = append(p.Units, u)
	}
	return p, nil
}

// DebugText is what section .nv_debug_ptx_txt holds of a program with line numbers: its lines
// without leading blanks, each with a zero at its end. Lines that hold a comment, a .loc, a
// .file or bytes of a section are empty. There are no empty lines at the end.
func (p *Program) DebugText() []byte {
	out := make([]byte, 0, len(p.Source))
	end := 0
	for line := range bytes.Lines(p.Source) {
		line = bytes.TrimLeft(bytes.TrimSuffix(line, []byte("\n")), " \t\r\f\v")
		if !isHidden(line) {
			out = append(out, line...)
		}
		out = append(out, 0)
		if !isHidden(line) && len(line) > 0 {
			end = len(out)
		}
	}
	return out[:end]
}

// isHidden reports whether a line is empty in .nv_debug_ptx_txt.
func isHidden(line []byte) bool {
	for _, prefix := range []string{"//", ".loc\t", ".loc ", ".file", ".b8"} {
		if bytes.HasPrefix(line, []byte(prefix)) {
			return true
		}
	}
	return false
}

// kernelOf returns the entity of a kernel by its place in the file.
func (c *cutter) kernelOf(place int) *ptx.Entity {
	return &c.module.Entities[c.functions[c.order[place]].entity]
}
