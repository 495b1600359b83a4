package compose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/warpld/warpld/internal/object/elf64"
)

// A symbolTable is that of the composed file.
type symbolTable struct {
	locals, globals, lates []symbolOf
	byName                 map[string]uint32 // those of the module
}

// A symbolOf is a symbol of a unit.
type symbolOf struct {
	unit *unit
	*symbol
}

// orderSymbols finds the symbols of the composed file and their order.
func (c *composer) orderSymbols() error {
	if err := c.renumber(); err != nil {
		return err
	}
	t := &c.symbols
	lists := make([][]thing, len(c.units))
	for i, u := range c.units {
		for j := range u.symbols {
			if y := &u.symbols[j]; j > 0 && !y.global && !y.late {
				lists[i] = append(lists[i], thing{y.owner, y.Name, j})
			}
		}
	}
	for _, f := range c.appearance(lists) {
		t.locals = append(t.locals, symbolOf{f.unit, &f.unit.symbols[f.value]})
	}
	c.orderGlobals()
	lates := make([][]symbolOf, len(c.program.Kernels))
	for _, u := range c.units {
		for i := range u.symbols {
			if y := &u.symbols[i]; y.late && y.owner != module && c.unitOf(y.owner) == u {
				lates[y.owner] = append(lates[y.owner], symbolOf{u, y})
			}
		}
	}
	t.lates = slices.Concat(lates...)
	t.byName = map[string]uint32{}
	index := uint32(0)
	for _, list := range [][]symbolOf{t.locals, t.globals, t.lates} {
		for _, y := range list {
			index++
			y.index = index
			if y.owner == module {
				t.byName[y.Name] = index
			}
		}
	}
	return nil
}

// orderGlobals finds the order of the global symbols: each kernel's, then those of the module
// that its unit has after it and no earlier one had.
func (c *composer) orderGlobals() {
	after, introduced := c.globalsAfter()
	seen := map[string]bool{}
	emit := func(u *unit, y *symbol) {
		//rule: A global symbol of the module comes once, after the first kernel whose unit has it.
		//mutate: false seen[y.Name]
		if y.owner == module && seen[y.Name] {
			return
		}
		seen[y.Name] = seen[y.Name] || y.owner == module
		c.symbols.globals = append(c.symbols.globals, symbolOf{u, y})
	}
	c.kernels(func(k kernelID, u *unit) {
		for _, y := range after[u.place][k] {
			emit(u, y)
		}
		//rule: An external function comes after the kernel that is the first to call it, also if that is static.
		for _, y := range introduced[k] {
			emit(u, y)
		}
	})
}

// globalsAfter finds the global symbols that a unit has from a kernel's on up to the next one's,
// and the external functions that each kernel is the first to call.
func (c *composer) globalsAfter() (after []map[kernelID][]*symbol, introduced [][]*symbol) {
	introducer := map[string]kernelID{}
	for k := range c.program.Kernels {
		for _, name := range c.program.Kernels[k].Externs {
			introducer[name] = kernelID(k)
		}
	}
	after = make([]map[kernelID][]*symbol, len(c.units))
	introduced = make([][]*symbol, len(c.program.Kernels))
	for i, u := range c.units {
		after[i] = map[kernelID][]*symbol{}
		current := module
		for j := range u.symbols {
			if current = u.symbols[j].owner; current != module {
				break // the first kernel of the unit
			}
		}
		for j := range u.symbols {
			y := &u.symbols[j]
			if y.global && y.owner != module {
				current = y.owner
			}
			k, isExtern := introducer[y.Name]
			switch {
			case !y.global:
			case !isExtern || y.owner != module || k == current:
				after[i][current] = append(after[i][current], y)
			case c.unitOf(k) == u:
				introduced[k] = append(introduced[k], y)
			}
		}
	}
	return after, introduced
}

const internalPrefix = "$__internal_"

// internalNumber splits the name of a function that ptxas adds: $__internal_N_$name.
func internalNumber(name string) (number int, rest string, ok bool) {
	digits, ok := strings.CutPrefix(name, internalPrefix)
	if !ok {
		return 0, "", false
	}
	digits, rest, ok = strings.Cut(digits, "_$")
	if !ok {
		return 0, "", false
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	return int(n), rest, err == nil
}

// renumber gives the functions that ptxas adds their numbers in the whole program.
func (c *composer) renumber() error {
	type addition struct {
		y      *symbol
		number int
	}
	additions := make([]map[kernelID][]addition, len(c.units))
	for i, u := range c.units {
		for j := range u.symbols {
			y := &u.symbols[j]
			if n, _, ok := internalNumber(y.Name); ok && y.owner != module {
				if additions[i] == nil {
					additions[i] = map[kernelID][]addition{}
				}
				additions[i][y.owner] = append(additions[i][y.owner], addition{y, n})
			}
		}
	}
	count := 0
	var err error
	c.kernels(func(k kernelID, u *unit) {
		list := additions[u.place][k]
		lowest, highest := 0, -1
		for i, a := range list {
			if i == 0 || a.number < lowest {
				lowest = a.number
			}
			highest = max(highest, a.number)
		}
		if len(list) > 0 && highest-lowest != len(list)-1 && err == nil {
			err = refuse(UnknownSymbol, u, list[0].y.Name)
		}
		for _, a := range list {
			_, rest, _ := internalNumber(a.y.Name)
			//rule: Functions that ptxas adds are numbered over all kernels.
			//mutate: a.number-lowest+count -> a.number
			a.y.name = fmt.Sprintf("%s%d_$%s", internalPrefix, a.number-lowest+count, rest)
			u.renamed[a.y.Name] = a.y.name
		}
		count += len(list)
	})
	return err
}

// symbolIndex is where the composed file has a symbol of a unit.
func (c *composer) symbolIndex(u *unit, i uint32) uint32 {
	if i == 0 {
		return 0
	}
	if uint64(i) >= uint64(len(u.symbols)) {
		c.fail(Damaged, u, "symbol")
		return 0
	}
	y := &u.symbols[i]
	if y.index != 0 {
		return y.index
	}
	index, ok := c.symbols.byName[y.Name]
	if y.owner != module || !ok {
		c.fail(UnknownSymbol, u, y.Name)
	}
	return index
}

// symbolOwner is the kernel that a symbol of a unit belongs to.
func (c *composer) symbolOwner(u *unit, i uint32) kernelID {
	if uint64(i) >= uint64(len(u.symbols)) {
		c.fail(Damaged, u, "symbol")
		return module
	}
	return u.symbols[i].owner
}

// putSymbols writes the symbol table.
func (c *composer) putSymbols() []byte {
	t := &c.symbols
	b := make([]byte, (1+len(t.locals)+len(t.globals)+len(t.lates))*elf64.SymbolSize)
	for _, list := range [][]symbolOf{t.locals, t.globals, t.lates} {
		for _, y := range list {
			row := b[y.index*elf64.SymbolSize:]
			le.PutUint32(row, c.strings.Offset[y.name])
			row[4], row[5] = byte(y.Binding)<<4|byte(y.Type), y.Other
			le.PutUint16(row[6:], uint16(c.sectionIndex(y.unit, y.Section)))
			le.PutUint64(row[8:], y.Value)
			le.PutUint64(row[16:], y.Size)
		}
	}
	return b
}

// firstGlobal is sh_info of the symbol table. With symbols after the global ones it is the
// number of all symbols.
func (c *composer) firstGlobal() uint32 {
	t := &c.symbols
	//rule: With symbols after the global ones, the table says that all are local.
	//mutate: false
	if c.rules.BanksLast {
		return uint32(1 + len(t.locals) + len(t.globals) + len(t.lates))
	}
	return uint32(1 + len(t.locals))
}
