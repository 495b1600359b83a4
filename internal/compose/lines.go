package compose

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// A lineTable is the line numbers of a unit: a head, and a sequence of rows for each kernel.
type lineTable struct {
	head      []byte
	sequences []sequence
	moved     map[uint64]uint64 // where relocated places are in the composed file
}

type sequence struct {
	owner      kernelID
	start, end uint64
	place      uint64 // that its relocation is about
}

// beforeAddress is how many bytes a sequence has before the address that it begins with.
const beforeAddress = 3

// readLines cuts the line numbers of a section.
func readLines(c *composer, s *section) *lineTable {
	u := s.unit
	if t := u.lines[s.elf.Name]; t != nil {
		return t
	}
	t := &lineTable{moved: map[uint64]uint64{}}
	u.lines[s.elf.Name] = t
	rows := relocationsAbout(s)
	if rows == nil || !c.program.LineInfo {
		c.fail(UnknownLines, u, s.elf.Name)
		return t
	}
	relocationsOf(rows, func(r relocation) {
		t.sequences = append(t.sequences, sequence{owner: c.symbolOwner(u, r.symbol), place: r.offset})
	})
	slices.SortFunc(t.sequences, func(a, b sequence) int {
		if a.place < b.place {
			return -1
		}
		return 1
	})
	end := uint64(len(s.data))
	for i := len(t.sequences) - 1; i >= 0; i-- {
		q := &t.sequences[i]
		if q.place < beforeAddress+4 || q.place >= end || q.owner == module {
			c.fail(UnknownLines, u, s.elf.Name)
			return t
		}
		q.start, q.end = q.place-beforeAddress, end
		end = q.start
	}
	t.head = s.data[:end]
	if len(t.head) < 4 || uint64(le.Uint32(t.head)) != uint64(len(s.data))-4 {
		c.fail(UnknownLines, u, s.elf.Name)
	}
	return t
}

// lineOrder is the order in which a section has the sequences of the kernels.
func lineOrder(c *composer, s *section) []kernelID {
	order := make([]kernelID, len(c.program.Kernels))
	for k := range order {
		order[k] = kernelID(k)
	}
	//rule: Since sm_90 lines come in the order of the kernels' symbols, but for Mercury code.
	//mutate: false
	if c.rules.BanksLast && !s.isMirror() {
		index := kernelSymbols(c)
		slices.SortFunc(order, func(a, b kernelID) int { return cmp.Compare(index[a], index[b]) })
	}
	return order
}

// kernelSymbols are the symbols of the kernels in the composed file.
func kernelSymbols(c *composer) []uint32 {
	index := make([]uint32, len(c.program.Kernels))
	for _, list := range [][]symbolOf{c.symbols.locals, c.symbols.globals} {
		for _, y := range list {
			if y.owner != module && y.Name == c.program.Kernels[y.owner].Name {
				index[y.owner] = y.index
			}
		}
	}
	return index
}

// lineHead is the head of a section of lines, which names the files. It ends with a word for
// inlined functions if there are some.
func lineHead(c *composer, name string) []byte {
	var head []byte
	for _, u := range c.units {
		of := u.byName[name]
		if of == nil {
			c.fail(Disagree, u, name)
			return nil
		}
		h := readLines(c, of).head
		if c.failed != nil {
			return nil
		}
		//rule: The head of the lines has a word for inlined functions if one of the kernels has some.
		//mutate: false
		if head == nil || len(h) > len(head) {
			head, h = h, head
		}
		if h != nil && !sameHead(h, head) {
			c.fail(Disagree, u, name)
			return nil
		}
	}
	return slices.Clone(head)
}

// sameHead reports whether two heads differ at most in the size of the section and in the word
// for inlined functions, which only the second one may have.
func sameHead(short, long []byte) bool {
	const (
		size  = 10 // of the section, a version, and the size of the head
		extra = 4
	)
	if len(short) == len(long) {
		return bytes.Equal(short[4:], long[4:])
	}
	return len(short) > size && len(long) == len(short)+extra && bytes.Equal(short[4:6], long[4:6]) &&
		le.Uint32(short[6:])+extra == le.Uint32(long[6:]) &&
		bytes.Equal(short[size:], long[size:len(short)]) && bytes.Equal(long[len(short):], make([]byte, extra))
}

// joinLines are the sequences of all kernels after the head of the first unit.
func joinLines(c *composer, s *section) []byte {
	b := lineHead(c, s.elf.Name)
	if c.failed != nil {
		return nil
	}
	for _, k := range lineOrder(c, s) {
		of := c.unitOf(k).byName[s.elf.Name]
		t := readLines(c, of)
		for _, q := range t.sequences {
			if q.owner == k {
				t.moved[q.place] = uint64(len(b)) + beforeAddress
				b = append(b, of.data[q.start:q.end]...)
			}
		}
	}
	//rule: The table of lines begins with its size.
	le.PutUint32(b, uint32(len(b)-4))
	return b
}

// joinLineRelocations are the relocations of all sequences.
func joinLineRelocations(c *composer, s *section) []byte {
	var b []byte
	about := strings.Replace(strings.Replace(s.elf.Name, ".rela.", ".", 1), ".rel.", ".", 1)
	order := lineOrder(c, s)
	//rule: Relocations of lines come in the order of the lines since sm_90, and in the reverse order else.
	//mutate: true
	if !c.rules.BanksLast || s.isMirror() {
		slices.Reverse(order)
	}
	for _, k := range order {
		u := c.unitOf(k)
		rows, of := u.byName[s.elf.Name], u.byName[about]
		if rows == nil || of == nil {
			c.fail(Disagree, u, s.elf.Name)
			return nil
		}
		t := readLines(c, of)
		relocationsOf(rows, func(r relocation) {
			if c.symbolOwner(u, r.symbol) == k {
				r.offset = t.moved[r.offset]
				b = c.appendRelocation(b, u, r)
			}
		})
	}
	return b
}
