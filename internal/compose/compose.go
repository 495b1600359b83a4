// Package compose makes the executable that ptxas makes of a whole program, byte for byte,
// from the executables that it makes of units of the program.
//
// A unit's file has things of its kernels (sections, symbols, names, rows) and things of the
// module, which every unit has. The composed file has the things of each kernel from the
// unit of the kernel, and those of the module once. What differs from the parts are orders,
// indexes and places, and each of these follows a rule.
//
// The rules are comments beside the code, each with a mutation that removes it. What no rule
// covers is refused with a reason, and the caller lets ptxas assemble the whole text. The
// units' files are not trusted.
package compose

import (
	"encoding/binary"

	"github.com/warpld/warpld/internal/compose/units"
	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/cubin/layout"
)

var le = binary.LittleEndian

// Compose returns the file of the whole program. The files are those of the units, in their
// order. The error is a *Refused.
func Compose(p *units.Program, cubins [][]byte) ([]byte, error) {
	c := &composer{program: p}
	for _, step := range []func() error{
		func() error { return c.read(cubins) },
		c.agree,
		c.orderSymbols,
		c.nameAll,
		c.orderSections,
		c.fill,
	} {
		if err := step(); err != nil {
			return nil, err
		}
		if c.failed != nil {
			return nil, c.failed
		}
	}
	return c.write()
}

// A composer makes one file.
type composer struct {
	program *units.Program
	rules   gpu.Composer
	arch    gpu.Arch
	units   []*unit
	first   *unit // that of the first kernel

	symbols symbolTable
	names   *layout.Strings // of sections
	strings *layout.Strings // of symbols
	body    []*section      // after the tables, in the order of the file
	mirrors []*section      // of Mercury code, after the body
	at      sectionIndex
	failed  error // the first refusal of what has no error to return
}

// sectionIndex is where the sections of the module and the mirrors are.
type sectionIndex struct {
	module      map[string]*section // sections of the module that the file has
	mirrorNames []uint32            // offsets of the names of mirrors
}

// fail keeps the first refusal.
func (c *composer) fail(reason Reason, u *unit, name string) {
	if c.failed == nil {
		c.failed = refuse(reason, u, name)
	}
}

// unitOf returns the unit of a kernel.
func (c *composer) unitOf(k kernelID) *unit { return c.units[c.program.Kernels[k].Unit] }

// kernels are all kernels, in the order of the file.
func (c *composer) kernels(do func(k kernelID, u *unit)) {
	for k := range c.program.Kernels {
		do(kernelID(k), c.unitOf(kernelID(k)))
	}
}

// kernelsBackward are all kernels, the last one of the file first.
func (c *composer) kernelsBackward(do func(k kernelID, u *unit)) {
	for k := len(c.program.Kernels) - 1; k >= 0; k-- {
		do(kernelID(k), c.unitOf(kernelID(k)))
	}
}

// read reads the files of the units.
func (c *composer) read(files [][]byte) error {
	p := c.program
	if len(p.Kernels) == 0 || len(files) != len(p.Units) || p.First < 0 || p.First >= len(files) ||
		p.Kernels[0].Unit != p.First {
		return refuse(Mismatch, nil, "")
	}
	ids := make(map[string]kernelID, len(p.Kernels))
	for k := range p.Kernels {
		if u := p.Kernels[k].Unit; u < 0 || u >= len(files) {
			return refuse(Mismatch, nil, p.Kernels[k].Name)
		}
		ids[p.Kernels[k].Name] = kernelID(k)
	}
	if len(ids) != len(p.Kernels) {
		return refuse(Mismatch, nil, "")
	}
	if err := c.target(files[p.First]); err != nil {
		return err
	}
	for i, data := range files {
		u, err := c.readUnit(i, data, ids)
		if err != nil {
			return err
		}
		c.units = append(c.units, u)
	}
	c.first = c.units[p.First]
	return c.complete()
}

// target finds the rules for the architecture and the release that a file is of.
func (c *composer) target(data []byte) error {
	f, err := cubin.Parse(data)
	if err != nil {
		return &Refused{Reason: Damaged, Unit: c.program.First, Cause: err}
	}
	release, covered := gpu.ReleaseNumbered(f.Toolkit), false
	if c.rules, covered = gpu.ComposerFor(f.Arch, release); !covered {
		return refuse(Target, nil, f.Arch.String()+", "+release.String())
	}
	c.arch = f.Arch
	return nil
}

// complete checks that every kernel has code in its unit.
func (c *composer) complete() error {
	has := make([]bool, len(c.program.Kernels))
	for _, u := range c.units {
		for i := range u.sections {
			if s := &u.sections[i]; s.isCode() && c.unitOf(s.owner) == u {
				has[s.owner] = true
			}
		}
	}
	for k, found := range has {
		if !found {
			return refuse(MissingKernel, c.unitOf(kernelID(k)), c.program.Kernels[k].Name)
		}
	}
	return nil
}
