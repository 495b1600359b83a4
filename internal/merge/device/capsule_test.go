package device

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// capsuleOf makes a capsule of so many instructions, of which some are in the first
// program only.
func capsuleOf(count, elsewhere uint32, records ...[]byte) []byte {
	b := le.AppendUint32(make([]byte, 4), capsuleMark)
	b = le.AppendUint32(le.AppendUint32(b, count), elsewhere)
	return append(b, slices.Concat(records...)...)
}

// record is one of a kind, of so many bytes.
func record(size int, first ...byte) []byte { return append(first, make([]byte, size-len(first))...) }

func TestFindRecords(t *testing.T) {
	half, whole := record(16, recordHalf), record(32, recordWhole, 0x22)
	last := []byte{recordWait, 1} // one that became two
	for name, c := range map[string]struct {
		capsule      []byte
		instructions uint64
		want         []uint32
	}{
		"all of them":      {capsuleOf(3, 0, half, whole, last), 4, []uint32{16, 32, inGroup, inGroup}},
		"one in the other": {capsuleOf(3, 2, half, last), 4, []uint32{16, inFirstProgram, inGroup, inGroup}},
		"short ones": {capsuleOf(3, 0, record(4, recordShort), record(4, recordCall),
			record(2, recordWait|recordFlag)), 3, []uint32{16, 20, 24}},
		"one that follows": {capsuleOf(2, 0, record(18, recordMixed, 1, recordHalf), whole), 3,
			[]uint32{inGroup, inGroup, 34}},
		"a long one follows":     {capsuleOf(1, 0, record(34, recordMixed|recordFlag, 0, recordWhole)), 1, []uint32{16}},
		"an unknown record":      {capsuleOf(1, 0, record(16, 3)), 1, nil},
		"no record":              {capsuleOf(2, 0, half), 2, nil},
		"a record too many":      {capsuleOf(1, 0, half, half), 1, nil},
		"half a record":          {capsuleOf(1, 0, half[:8]), 1, nil},
		"more instructions":      {capsuleOf(1, 0, half), 2, nil},
		"fewer instructions":     {capsuleOf(2, 0, half, half), 1, nil},
		"bits that are not here": {capsuleOf(1<<31, 0), 1 << 31, nil},
		"another mark":           {make([]byte, 64), 1, nil},
		"nothing":                {nil, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, known := findRecords(c.capsule, c.instructions)
			if known != (c.want != nil) || (known && !cmp.Equal(got, c.want)) {
				t.Errorf("%v, %v; want %v", got, known, c.want)
			}
		})
	}
}

// lines makes a unit of the lines of functions, each of which begins with the
// address, 3 bytes after the start of the sequence, and has a number of its own.
func lines(functions ...byte) []byte {
	header := []byte{1, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1}
	var program []byte
	for _, f := range functions {
		program = append(program, 0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0) // the address
		program = append(program, 3, f, 1, 20, 0, 1, 1)            // lines, and the end
	}
	b := le.AppendUint32(nil, uint32(6+len(header)+len(program)))
	b = le.AppendUint32(le.AppendUint16(b, 2), uint32(len(header)))
	return slices.Concat(b, header, program)
}

const (
	lineHead     = 24 // of what lines makes
	lineSize     = 18 // of a function
	addressInSeq = 3
)

func TestLineTable(t *testing.T) {
	row := func(unit uint64, n int, symbol symbolID) relocation {
		return relocation{offset: unit + lineHead + uint64(n)*lineSize + addressInSeq, symbol: symbol}
	}
	second := uint64(len(lines(1, 2)))
	inlined := lines(1, 2)
	inlined[lineHead+2] = 0x90
	for name, c := range map[string]struct {
		old   []byte
		rows  []relocation
		want  []byte
		wants []relocation
	}{
		"all": {lines(1, 2), []relocation{row(0, 0, 1), row(0, 1, 2)}, lines(1, 2), []relocation{row(0, 0, 1),
			row(0, 1, 2)}},
		"another order": {lines(2, 1), []relocation{row(0, 0, 2), row(0, 1, 1)}, lines(1, 2), []relocation{row(0, 0, 1),
			row(0, 1, 2)}},
		"one is gone": {lines(1, 2, 3), []relocation{row(0, 0, 1), row(0, 2, 3)}, lines(1, 3), []relocation{row(0, 0, 1),
			row(0, 1, 3)}},
		"none is left": {lines(1, 2), nil, lines(), nil},
		"two units": {slices.Concat(lines(1, 2), lines(3)), []relocation{row(0, 1, 2), row(second, 0, 3)},
			slices.Concat(lines(2), lines(3)),
			[]relocation{row(0, 0, 2), row(uint64(len(lines(2))), 0, 3)}},
		"inlined calls stay": {inlined, []relocation{row(0, 0, 1), row(0, 1, 2)}, inlined, []relocation{row(0, 0, 1),
			row(0, 1, 2)}},
		"inlined calls move":  {inlined, []relocation{row(0, 0, 2), row(0, 1, 1)}, nil, nil},
		"two rows":            {lines(1), []relocation{row(0, 0, 1), row(0, 0, 1)}, nil, nil},
		"a row in the header": {lines(1), []relocation{{offset: 4}}, nil, nil},
		"half a unit":         {lines(1)[:30], []relocation{row(0, 0, 1)}, nil, nil},
		"a sequence without end": {append(lines(1)[:lineHead+lineSize-3:lineHead+lineSize-3], 4, 4, 4),
			[]relocation{row(0, 0, 1)}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			made := lineTable{old: c.old, rows: c.rows, order: []int32{0, 1, 2, 3}}
			done := made.all() && len(made.rows) == 0
			if done != (c.want != nil) {
				t.Fatalf("%v; want %v", done, c.want != nil)
			}
			if done && !(cmp.Equal(made.made, c.want) && slices.Equal(made.madeRows, c.wants)) {
				t.Errorf("%x %v\nwant %x %v", made.made, made.madeRows, c.want, c.wants)
			}
		})
	}
}

// FuzzFinalized reads capsules and lines: there is no more than there was.
func FuzzFinalized(f *testing.F) {
	f.Add(capsuleOf(3, 2, record(16, recordHalf), []byte{recordWait, 1}), uint16(4))
	f.Add(lines(1, 2), uint16(27))
	f.Fuzz(func(t *testing.T, data []byte, n uint16) {
		if records, known := findRecords(data, uint64(n)); known && len(records) != int(n) {
			t.Errorf("%d records of %d instructions", len(records), n)
		}
		made := lineTable{old: data, rows: []relocation{{offset: uint64(n)}}, order: []int32{0}}
		if made.all() && len(made.made) > len(data) {
			t.Errorf("%d bytes of %d", len(made.made), len(data))
		}
	})
}
