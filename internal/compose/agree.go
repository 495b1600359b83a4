package compose

import (
	"bytes"

	"github.com/warpld/warpld/internal/object/elf64"
)

// agree checks that what the units have of the module is the same in all.
func (c *composer) agree() error {
	const ofFile = 0x00ffffff // the rest is an index
	first := c.first
	for _, u := range c.units {
		if u.elf.Flags&ofFile != first.elf.Flags&ofFile || u.elf.Ident != first.elf.Ident ||
			u.elf.Version != first.elf.Version {
			return refuse(Disagree, u, "header")
		}
		for i := range u.sections {
			s := &u.sections[i]
			if s.owner != module || s.part == partTable || i == 0 {
				continue
			}
			of := first.byName[s.elf.Name]
			if err := agreeSection(u, s, of); err != nil {
				return err
			}
		}
	}
	return nil
}

// agreeSection compares a section of the module with that of the first unit.
func agreeSection(u *unit, s, of *section) error {
	switch {
	case of == nil:
		return nil // brought by a later kernel
	case s.elf.Type != of.elf.Type || s.elf.Flags != of.elf.Flags || s.elf.EntSize != of.elf.EntSize ||
		s.elf.Align != of.elf.Align:
		return refuse(Disagree, u, s.elf.Name)
	case s.part == partNote && !bytes.Equal(s.data, of.data):
		return refuse(Disagree, u, s.elf.Name)
	case s.part == partCopied && !isBank4(s) && s.elf.Size != of.elf.Size:
		return refuse(Disagree, u, s.elf.Name)
	case s.elf.Type == elf64.NoBits && s.elf.Size != of.elf.Size:
		return refuse(Disagree, u, s.elf.Name)
	}
	return nil
}
