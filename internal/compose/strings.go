package compose

import (
	"bytes"
	"strings"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/cubin/layout"
	"github.com/warpld/warpld/internal/object/elf64"
)

// A text is a string of a table with the zeros after it that are more than one, or such zeros
// alone, the room of a name that was removed.
type text string

// trimZeros is a text without the zeros after it.
func trimZeros(t string) string { return strings.TrimRight(t, "\x00") }

// hasRoom reports whether a name replaced a longer one, whose room it keeps.
func hasRoom(name string) bool { return cubin.MercuryName(name) != name }

// texts splits a table.
func texts(table []byte) []text {
	var list []text
	for len(table) > 0 {
		if table[0] == 0 {
			table = table[1:]
			continue
		}
		end := bytes.IndexByte(table, 0)
		next := end
		for next < len(table) && table[next] == 0 {
			next++
		}
		//rule: A name that replaced a longer one keeps its room.
		//mutate: false hasRoom(string(table[:end]))
		if next-1 > end && hasRoom(string(table[:end])) {
			list = append(list, text(table[:next-1]))
		} else {
			list = append(list, text(table[:end]))
			//rule: A name that was removed leaves its room.
			//mutate: false
			if next-1 > end {
				list = append(list, text(table[end:next-1]))
			}
		}
		table = table[next:]
	}
	return list
}

// A naming makes one of the two string tables.
type naming struct {
	table *layout.Strings
	rooms map[string]bool
}

func newNaming() *naming { return &naming{layout.NewStrings(), map[string]bool{}} }

func (n *naming) add(t string) {
	name := trimZeros(t)
	switch {
	case name != "":
		n.table.AddWithRoom(name, len(t))
	case !n.rooms[t]:
		n.rooms[t] = true
		n.table.AddZeros(len(t))
	}
}

// nameAll makes the string tables.
func (c *composer) nameAll() error {
	sections, symbols := newNaming(), newNaming()
	if err := c.nameSections(sections); err != nil {
		return err
	}
	if err := c.nameSymbols(symbols); err != nil {
		return err
	}
	c.names, c.strings = sections.table, symbols.table
	return nil
}

func (c *composer) nameSections(n *naming) error {
	lists, err := c.nameLists(false)
	if err != nil {
		return err
	}
	for _, f := range c.appearance(lists) {
		n.add(f.key)
	}
	c.nameLate(n)
	return nil
}

// nameSymbols makes .strtab: names in the order of their creation, names of the global
// symbols, names that the finalizer gives.
func (c *composer) nameSymbols(n *naming) error {
	lists, err := c.nameLists(true)
	if err != nil {
		return err
	}
	for _, f := range c.appearance(lists) {
		name := f.key
		if renamed, ok := f.unit.renamed[name]; ok && f.owner != module {
			name = renamed
		}
		n.add(name)
	}
	for _, y := range c.symbols.globals {
		if y.name != "" {
			n.add(y.name)
			continue
		}
		for _, t := range texts(y.unit.strings) {
			if trimZeros(string(t)) == "" {
				n.add(string(t))
				break
			}
		}
	}
	if c.rules.Mercury {
		for _, y := range c.symbols.locals {
			//rule: Names of constants that another program knows by another name come after all others.
			//mutate: false y.Type == elf64.SectionSymbol
			if y.Type == elf64.SectionSymbol && hasRoom(y.Name) {
				n.add(y.Name)
			}
		}
	}
	c.nameLate(n)
	return nil
}

// nameLate adds the names of the banks of parameters, which come last.
func (c *composer) nameLate(n *naming) {
	if !c.rules.BanksLast {
		return
	}
	c.kernels(func(k kernelID, _ *unit) { n.add(bank0 + c.program.Kernels[k].Name) })
}

// nameLists lists the names of each unit that the rules of appearance order.
func (c *composer) nameLists(ofSymbols bool) ([][]thing, error) {
	global := map[string]bool{}
	if ofSymbols {
		for _, u := range c.units {
			for i := range u.symbols {
				if y := &u.symbols[i]; y.global && y.Name != "" {
					global[y.Name] = true
				}
			}
		}
	}
	lists := make([][]thing, len(c.units))
	for i, u := range c.units {
		table, owners := u.names, map[string]kernelID(nil)
		if ofSymbols {
			table, owners = u.strings, u.symbolOwners()
		}
		for _, t := range texts(table) {
			name := trimZeros(string(t))
			if global[name] {
				break
			}
			if c.isLate(name) || strings.HasPrefix(name, cubin.MercuryPrefix+".") ||
				strings.HasPrefix(name, cubin.CapsulePrefix+".") || (c.rules.Mercury && ofSymbols && hasRoom(name)) {
				continue
			}
			k := u.ownerOf(name)
			if of, ok := owners[name]; ok && k == module {
				k = of
			}
			lists[i] = append(lists[i], thing{owner: k, key: string(t)})
		}
	}
	return lists, nil
}

// symbolOwners are the kernels that the names of symbols belong to.
func (u *unit) symbolOwners() map[string]kernelID {
	owners := map[string]kernelID{}
	for i := range u.symbols {
		if y := &u.symbols[i]; y.owner != module {
			owners[y.Name] = y.owner
		}
	}
	return owners
}
