package device

import (
	"slices"
	"strings"
)

// isLines reports whether a section is one of those that -lineinfo makes.
func isLines(name string) bool {
	switch name {
	case ".debug_frame", ".debug_line", ".nv_debug_line_sass", ".debug_str":
		return true
	}
	return strings.HasPrefix(name, sourceText)
}

// sourceText is how the names of sections with PTX begin.
const sourceText = ".nv_debug_ptx_txt"

// rewriteLines makes the tables of lines anew, as the finalizer does: of each unit
// only the functions that are left, in the order of their symbols.
func rewriteLines(symbols *symbolTable, sections *sectionTable) error {
	order := make([]int32, len(symbols.list))
	rank := int32(0)
	symbols.tableOrder(func(id symbolID, _ *symbol) { order[id], rank = rank, rank+1 })
	for _, name := range []string{".debug_line", ".nv_debug_line_sass"} {
		id, ok := sections.byOwner[sectionKey{name, noSection}]
		if !ok {
			continue
		}
		s := &sections.list[id]
		if len(s.edits.patches) > 0 {
			return unsupported("", "how lines in '%s' refer to other debug information", name)
		}
		t := lineTable{old: s.contents(), order: order}
		rows, ok := sections.byOwner[sectionKey{".rela" + name, id}]
		if ok {
			t.rows = sections.list[rows].edits.relocations
			slices.SortFunc(t.rows, func(a, b relocation) int { return compareOffsets(a.offset, b.offset) })
		}
		if !t.all() || len(t.rows) > 0 {
			return unsupported("", "the lines in '%s'", name)
		}
		s.setData(t.made)
		if ok {
			sections.list[rows].edits.relocations = t.madeRows
		}
	}
	return nil
}

func compareOffsets(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// A lineTable is one that is made anew.
type lineTable struct {
	order    []int32 // of symbols
	old      []byte
	at       int
	rows     []relocation // of what is left of old, by offset
	made     []byte
	madeRows []relocation
}

// all makes the whole table; false: it is not as the rules say.
func (t *lineTable) all() bool {
	for t.at < len(t.old) {
		if !t.unit() {
			return false
		}
	}
	return true
}

// A lineSequence is the lines of a function.
type lineSequence struct {
	start, end int
	row        relocation
}

// unit copies the lines of one input: u32 length, u16 version, u32 length of the
// rest of the header, and programs that each end with an end of sequence.
func (t *lineTable) unit() bool {
	const head, lengths = 10, 15
	b := t.old[t.at:]
	if len(b) < lengths || le.Uint16(b[4:]) != 2 {
		return false
	}
	size, header := uint64(le.Uint32(b))+4, uint64(le.Uint32(b[6:]))+head
	base := b[14]
	if size > uint64(len(b)) || header > size || base == 0 || lengths+uint64(base-1) > header {
		return false
	}
	p := lineProgram{b: b[:size], at: int(header), base: base, lengths: b[lengths:header]}
	var kept []lineSequence
	changed := false
	for p.at < len(p.b) {
		start := p.at
		if !p.sequence() {
			return false
		}
		q := lineSequence{start: start, end: p.at}
		if len(t.rows) == 0 || t.rows[0].offset >= uint64(t.at+q.end) {
			changed = true
			continue // of a function that is not there
		}
		if q.row = t.rows[0]; q.row.offset < uint64(t.at+start) {
			return false
		}
		t.rows = t.rows[1:]
		kept = append(kept, q)
	}
	less := func(a, c lineSequence) int { return int(t.order[a.row.symbol] - t.order[c.row.symbol]) }
	changed = changed || !slices.IsSortedFunc(kept, less)
	if changed && p.nested {
		return false // calls that were inlined name rows by their numbers
	}
	//rule: Lines of Mercury code come in the order of the symbols.
	slices.SortStableFunc(kept, less)
	start := len(t.made)
	t.made = append(t.made, b[:header]...)
	for _, q := range kept {
		q.row.offset += uint64(len(t.made) - t.at - q.start)
		t.made, t.madeRows = append(t.made, b[q.start:q.end]...), append(t.madeRows, q.row)
	}
	le.PutUint32(t.made[start:], uint32(len(t.made)-start-4))
	t.at += int(size)
	return true
}

// A lineProgram reads the operations of a unit.
type lineProgram struct {
	b       []byte
	at      int
	base    byte   // first special operation
	lengths []byte // numbers of operands of the operations before it
	nested  bool   // it says which calls were inlined
}

// sequence reads up to the end of a sequence.
func (p *lineProgram) sequence() bool {
	const (
		advance     = 9 // its operand has 2 bytes
		endSequence = 1
		lineInlined = 0x90
	)
	for p.at < len(p.b) {
		op := p.b[p.at]
		p.at++
		switch {
		case op >= p.base:
		case op == advance:
			p.at += 2
		case op != 0:
			for range p.lengths[op-1] {
				p.number()
			}
		default:
			size := p.number()
			if size == 0 || size > uint64(len(p.b)) || p.at+int(size) > len(p.b) {
				return false
			}
			op = p.b[p.at]
			p.at += int(size)
			if op == endSequence {
				return true
			}
			p.nested = p.nested || op >= lineInlined
		}
	}
	return false
}

// number reads one in base 128.
func (p *lineProgram) number() (n uint64) {
	for shift := 0; p.at < len(p.b); shift += 7 {
		c := p.b[p.at]
		p.at++
		if shift < 63 {
			n |= uint64(c&0x7f) << shift
		}
		if c < 0x80 {
			break
		}
	}
	return n
}
