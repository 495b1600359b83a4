package compose

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/warpld/warpld/internal/object/cubin"
)

// An attribute is a row of a table of attributes.
type attribute struct {
	cubin.Row
	owner  kernelID
	symbol uint32 // of the first word, in the composed file
}

// A symbolUse is where the data of an attribute has symbols.
type symbolUse int

const (
	noSymbols symbolUse = iota
	firstWord
	allWords
)

// infoSymbols says of each attribute that the rules cover where it has symbols.
var infoSymbols = map[cubin.Attribute]symbolUse{
	cubin.EIATTR_PARAM_CBANK:    firstWord,
	cubin.EIATTR_FRAME_SIZE:     firstWord,
	cubin.EIATTR_MIN_STACK_SIZE: firstWord,
	cubin.EIATTR_MAX_STACK_SIZE: firstWord,
	cubin.EIATTR_REGCOUNT:       firstWord,
	cubin.EIATTR_EXTERNS:        allWords,
}

// readRows reads the rows of a table of attributes, without changing symbols.
func readRows(c *composer, u *unit, table []byte, name string) []attribute {
	var list []attribute
	for row, err := range cubin.Rows(table) {
		if err != nil {
			c.fail(Damaged, u, name)
			return nil
		}
		use, covered := infoSymbols[row.Attribute]
		if !row.Format.Known() || (!covered && !row.Attribute.Known()) {
			c.fail(UnknownAttribute, u, row.Attribute.String())
			return nil
		}
		a := attribute{Row: row, owner: module}
		if use != noSymbols && (row.Format != cubin.EIFMT_SVAL || len(row.Data)%4 != 0 || len(row.Data) == 0) {
			c.fail(UnknownAttribute, u, row.Attribute.String())
			return nil
		}
		if use == firstWord {
			a.owner = c.symbolOwner(u, le.Uint32(row.Data))
		}
		list = append(list, a)
	}
	return list
}

// mapSymbols replaces the symbols of a row by those of the composed file.
func mapSymbols(c *composer, u *unit, a *attribute) {
	words := 0
	switch infoSymbols[a.Attribute] {
	case firstWord:
		words = 1
	case allWords:
		words = len(a.Data) / 4
	case noSymbols:
		return
	}
	a.Data = slices.Clone(a.Data)
	for i := range words {
		le.PutUint32(a.Data[4*i:], c.symbolIndex(u, le.Uint32(a.Data[4*i:])))
	}
	a.symbol = le.Uint32(a.Data)
}

// kernelInfo is a kernel's table of attributes.
func kernelInfo(c *composer, s *section) []byte {
	var b []byte
	for _, a := range readRows(c, s.unit, s.data, s.elf.Name) {
		mapSymbols(c, s.unit, &a)
		b = a.Append(b)
	}
	return b
}

// moduleInfo is the table of attributes of the module, which has those of all kernels.
func moduleInfo(c *composer, s *section) []byte {
	tables := make([][]attribute, len(c.units))
	byKernel := make([][]attribute, len(c.program.Kernels))
	var common []byte
	for i, u := range c.units {
		of := u.byName[s.elf.Name]
		if of == nil {
			c.fail(Disagree, u, s.elf.Name)
			return nil
		}
		tables[i] = readRows(c, u, of.data, s.elf.Name)
		var rows []byte
		for _, a := range tables[i] {
			if a.owner == module {
				mapSymbols(c, u, &a)
				rows = a.Append(rows)
			} else if c.unitOf(a.owner) == u {
				mapSymbols(c, u, &a)
				byKernel[a.owner] = append(byKernel[a.owner], a)
			}
		}
		if u == c.first {
			common = rows
		}
	}
	var b []byte
	var stacks []attribute
	//rule: Attributes of kernels come in the reverse order of the kernels.
	//mutate: kernelsBackward -> kernels
	c.kernelsBackward(func(k kernelID, _ *unit) {
		for _, a := range byKernel[k] {
			//rule: The sizes of stacks come after all other attributes.
			//mutate: false
			if a.Attribute == cubin.EIATTR_MIN_STACK_SIZE {
				stacks = append(stacks, a)
				continue
			}
			b = a.Append(b)
		}
	})
	b = append(b, common...)
	//rule: The sizes of stacks come in the order of the symbols.
	slices.SortStableFunc(stacks, func(x, y attribute) int { return cmp.Compare(x.symbol, y.symbol) })
	for _, a := range stacks {
		b = a.Append(b)
	}
	return b
}

// joinDemands is what the code of all kernels demands of the driver.
func joinDemands(c *composer, s *section) []byte {
	var total []cubin.Row
	for _, u := range c.units {
		of := u.byName[s.elf.Name]
		if of == nil {
			c.fail(Disagree, u, s.elf.Name)
			return nil
		}
		var rows []cubin.Row
		for row, err := range cubin.Rows(of.data) {
			if err != nil || !row.Format.Known() {
				c.fail(Damaged, u, s.elf.Name)
				return nil
			}
			rows = append(rows, row)
		}
		if total == nil {
			total = rows
			continue
		}
		if len(rows) != len(total) {
			c.fail(Disagree, u, s.elf.Name)
			return nil
		}
		for i := range rows {
			addDemand(c, u, &total[i], rows[i])
		}
	}
	var b []byte
	for _, row := range total {
		b = row.Append(b)
	}
	return b
}

// addDemand adds what a unit demands to what others do.
func addDemand(c *composer, u *unit, total *cubin.Row, row cubin.Row) {
	id := cubin.CompatAttribute(row.Attribute)
	same := total.Value == row.Value && bytes.Equal(total.Data, row.Data)
	switch {
	case row.Attribute != total.Attribute || row.Format != total.Format || len(row.Data) != len(total.Data):
		c.fail(Disagree, u, id.String())
	case same:
	case id == cubin.EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE && row.Format == cubin.EIFMT_SVAL:
		data := slices.Clone(total.Data)
		for i := range data {
			//rule: The program has the features that all kernels have.
			data[i] &= row.Data[i]
		}
		total.Data = data
	case id == cubin.EICOMPAT_ATTR_ISA_CLASS && row.Format != cubin.EIFMT_SVAL:
		//rule: The program demands the highest class of instructions of its kernels.
		//mutate: max(total.Value, row.Value) -> row.Value
		total.Value = max(total.Value, row.Value)
	default:
		c.fail(Disagree, u, fmt.Sprintf(".nv.compat %v", id))
	}
}
