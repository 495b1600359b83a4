package bitcode

// Ids of abbreviations that mean something in every block; the others are those
// that the block defines, in order.
const (
	endBlock      = 0
	enterBlock    = 1
	defineAbbrev  = 2
	unabbreviated = 3
	firstAbbrev   = 4
)

// Encodings of an operand of an abbreviation.
const (
	encodeFixed = 1
	encodeVBR   = 2
	encodeArray = 3
	encodeChar6 = 4
	encodeBlob  = 5
)

const char6 = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._"

// Limits that no compiler comes near.
const (
	maxAbbrevs  = 1 << 16
	maxOperands = 1 << 10 // of one abbreviation
	maxDepth    = 32
)

// An operand is one of an abbreviation: a number that is always the same, or how a
// number is written.
type operand struct {
	literal  bool
	value    uint64 // the number, or the width of it
	encoding uint64
}

type abbrev []operand

// A record is one piece of information in a block.
type record struct {
	code uint64
	ops  []uint64
	blob []byte
}

// text is a record whose numbers are characters.
func (r *record) text() string {
	if r.blob != nil {
		return string(r.blob)
	}
	return characters(r.ops)
}

func characters(ops []uint64) string {
	text := make([]byte, len(ops))
	for i, op := range ops {
		text[i] = byte(op)
	}
	return string(text)
}

// op returns an operand, or zero if the record is shorter.
func (r *record) op(i int) uint64 {
	if i < len(r.ops) {
		return r.ops[i]
	}
	return 0
}

// A stream is bitcode as LLVM's container format has it: blocks, which hold
// records and further blocks.
type stream struct {
	bits *cursor
	// shared are the abbreviations that the stream defines for all blocks of a kind.
	shared map[uint64][]abbrev
	depth  int
}

// A block is one that was entered.
type block struct {
	id      uint64
	width   uint64 // of abbreviation ids
	end     uint64 // in bits
	abbrevs []abbrev
}

// blockInfo is the block that defines abbreviations for others.
const (
	blockInfo  = 0
	infoSetBID = 1
)

// enter reads the head of a block, behind the id that announced it.
func (s *stream) enter() *block {
	b := &block{id: s.bits.vbr(8), width: s.bits.vbr(4)}
	s.bits.align()
	words := s.bits.fixed(32)
	if s.bits.err == nil && (b.width < 2 || b.width > 32) {
		s.bits.fail(ErrFormat, "abbreviations of %d bits at byte %d", b.width, s.bits.at/8)
	}
	if s.bits.err == nil && words > s.bits.left()/32 {
		s.bits.fail(ErrTruncated, "block %d of %d words at byte %d", b.id, words, s.bits.at/8)
	}
	b.end = s.bits.at + words*32
	b.abbrevs = append(b.abbrevs, s.shared[b.id]...)
	return b
}

// read reads a block: it calls each with its records, and inner with the blocks in it, which
// inner may read; those that it doesn't read are skipped. Afterwards the cursor is behind the
// block.
func (s *stream) read(b *block, each func(*record), inner func(*block)) {
	if s.depth++; s.depth > maxDepth {
		s.bits.fail(ErrFormat, "blocks in blocks, %d deep", s.depth)
	}
	defer func() { s.depth-- }()
	outer := s.bits.end
	s.bits.end = b.end
	for s.bits.err == nil && s.step(b, each, inner) {
	}
	s.bits.end = outer
	if s.bits.err == nil {
		s.bits.at = b.end
	}
}

// step reads one entry of a block and reports whether there may be more.
func (s *stream) step(b *block, each func(*record), inner func(*block)) bool {
	switch id := s.bits.fixed(b.width); {
	case s.bits.err != nil, id == endBlock:
		return false
	case id == enterBlock:
		child := s.enter()
		if s.bits.err != nil {
			return false
		}
		if child.id == blockInfo {
			s.readInfo(child)
		} else if inner != nil {
			inner(child)
		}
		if s.bits.err == nil {
			s.bits.at = child.end
		}
	case id == defineAbbrev:
		if len(b.abbrevs) == maxAbbrevs {
			s.bits.fail(ErrFormat, "more than %d abbreviations", maxAbbrevs)
		}
		b.abbrevs = append(b.abbrevs, s.readAbbrev())
	default:
		if r := s.readRecord(b, id); s.bits.err == nil && each != nil {
			each(r)
		}
	}
	return true
}

// readInfo records the abbreviations that a block defines for other blocks.
func (s *stream) readInfo(b *block) {
	var about uint64
	known := false
	for s.bits.err == nil && s.bits.at < b.end {
		switch id := s.bits.fixed(b.width); id {
		case endBlock:
			return
		case defineAbbrev:
			if !known || len(s.shared[about]) == maxAbbrevs {
				s.bits.fail(ErrFormat, "an abbreviation for no block at byte %d", s.bits.at/8)
				return
			}
			s.shared[about] = append(s.shared[about], s.readAbbrev())
		case unabbreviated:
			if r := s.readRecord(b, id); r.code == infoSetBID {
				about, known = r.op(0), true
			}
		default:
			s.bits.fail(ErrFormat, "entry %d among abbreviations for blocks", id)
		}
	}
}

// readAbbrev reads the definition of an abbreviation.
func (s *stream) readAbbrev() abbrev {
	count := s.bits.vbr(5)
	if s.bits.err == nil && (count == 0 || count > maxOperands) {
		s.bits.fail(ErrFormat, "an abbreviation of %d operands", count)
	}
	var a abbrev
	for i := uint64(0); i < count && s.bits.err == nil; i++ {
		if s.bits.fixed(1) == 1 {
			a = append(a, operand{literal: true, value: s.bits.vbr(8)})
			continue
		}
		o := operand{encoding: s.bits.fixed(3)}
		switch o.encoding {
		case encodeFixed, encodeVBR:
			if o.value = s.bits.vbr(5); o.value > 64 || (o.encoding == encodeVBR && o.value == 1) {
				s.bits.fail(ErrFormat, "numbers of %d bits", o.value)
			}
		case encodeArray, encodeChar6, encodeBlob:
		default:
			s.bits.fail(ErrFormat, "encoding %d of an operand", o.encoding)
		}
		a = append(a, o)
	}
	return a
}

func (s *stream) readRecord(b *block, id uint64) *record {
	if id == unabbreviated {
		r := &record{code: s.bits.vbr(6)}
		count := s.bits.vbr(6)
		if s.bits.err == nil && count > s.bits.left()/6 {
			s.bits.fail(ErrTruncated, "a record of %d numbers at byte %d", count, s.bits.at/8)
		}
		for i := uint64(0); i < count && s.bits.err == nil; i++ {
			r.ops = append(r.ops, s.bits.vbr(6))
		}
		return r
	}
	if id-firstAbbrev >= uint64(len(b.abbrevs)) {
		s.bits.fail(ErrFormat, "abbreviation %d of %d in block %d", id-firstAbbrev, len(b.abbrevs), b.id)
		return &record{}
	}
	return s.readAbbreviated(b.abbrevs[id-firstAbbrev])
}

// readAbbreviated reads a record; the first number is its code.
func (s *stream) readAbbreviated(a abbrev) *record {
	r := &record{}
	for i := 0; i < len(a) && s.bits.err == nil; i++ {
		switch a[i].encoding {
		case encodeArray:
			if i != len(a)-2 {
				s.bits.fail(ErrFormat, "an array that is not the last of a record")
				break
			}
			s.readArray(r, a[i+1])
			i++
		case encodeBlob:
			length := s.bits.vbr(6)
			s.bits.align()
			r.blob = s.bits.bytes(length)
			s.bits.align()
		default:
			r.ops = append(r.ops, s.scalar(a[i]))
		}
	}
	if len(r.ops) == 0 {
		s.bits.fail(ErrFormat, "a record without a code at byte %d", s.bits.at/8)
		return r
	}
	r.code, r.ops = r.ops[0], r.ops[1:]
	return r
}

func (s *stream) readArray(r *record, element operand) {
	count := s.bits.vbr(6)
	width := element.value
	if element.encoding == encodeChar6 {
		width = 6
	}
	// Elements that take no room could be any number of them.
	if s.bits.err == nil && (element.literal || width == 0 || element.encoding == encodeArray ||
		element.encoding == encodeBlob) {
		s.bits.fail(ErrFormat, "an array of nothing at byte %d", s.bits.at/8)
	}
	if s.bits.err == nil && count > s.bits.left()/width {
		s.bits.fail(ErrTruncated, "an array of %d numbers at byte %d", count, s.bits.at/8)
	}
	for i := uint64(0); i < count && s.bits.err == nil; i++ {
		r.ops = append(r.ops, s.scalar(element))
	}
}

func (s *stream) scalar(o operand) uint64 {
	switch {
	case o.literal:
		return o.value
	case o.encoding == encodeVBR && o.value > 0:
		return s.bits.vbr(o.value)
	case o.encoding == encodeChar6:
		return uint64(char6[s.bits.fixed(6)])
	case o.encoding == encodeFixed:
		return s.bits.fixed(o.value)
	}
	return 0
}
