package device

import (
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// A capsule holds the Mercury code of a function: the section of the
// instructions u32, a mark u32, the number of instructions u32, a bit for each of
// them in words of 32, and a record for each whose bit is clear. The others are
// the same in the first program, and have no bytes here. Words of 2 bytes say of
// how many instructions of the first program one became, in the bits from 7 on.
const (
	capsuleHead = 12
	capsuleMark = 0xc0000001

	recordHalf  = 0x01 // an instruction of 16 bytes
	recordWhole = 0x02 // of 32 bytes
	recordShort = 0x41 // in 4 bytes
	recordCall  = 0x42 // in 4 bytes
	recordWait  = 0x50 // 2 bytes, about an instruction of the first program
	recordMixed = 0x51 // 2 bytes, and a record follows
	recordFlag  = 0x80 // may be set in the last two
)

// recordSize is the size of the record at the beginning of bytes, or 0 if no rule
// knows it.
func recordSize(b []byte) uint64 {
	switch {
	case len(b) == 0:
		return 0
	case b[0] == recordHalf:
		return 16
	case b[0] == recordWhole:
		return 32
	case b[0] == recordShort || b[0] == recordCall:
		return 4
	case b[0]&^recordFlag == recordWait:
		return 2
	case b[0]&^recordFlag == recordMixed && len(b) > 2 && b[2] == recordHalf:
		return 2 + 16
	case b[0]&^recordFlag == recordMixed && len(b) > 2 && b[2] == recordWhole:
		return 2 + 32
	}
	return 0
}

// Places of instructions that are not a record of their own.
const (
	inFirstProgram = ^uint32(0)
	inGroup        = inFirstProgram - 1 // one of several that a record is about
)

// findRecords gives the places of the records by the numbers of the
// instructions in the first program. All must be as the rules say: the records
// end where the capsule does, and are about as many instructions as there are.
func findRecords(capsule []byte, instructions uint64) ([]uint32, bool) {
	if len(capsule) < capsuleHead || le.Uint32(capsule[4:]) != capsuleMark {
		return nil, false
	}
	count, size := uint64(le.Uint32(capsule[8:])), uint64(len(capsule))
	at := capsuleHead + (count+31)/32*4
	if at > size || count > instructions {
		return nil, false
	}
	records := make([]uint32, 0, instructions)
	for i := range count {
		place, covers := inFirstProgram, uint64(1)
		if capsule[capsuleHead+i/8]>>(i%8)&1 == 0 {
			length := recordSize(capsule[min(at, size):])
			if length == 0 || length > size-at {
				return nil, false
			}
			place = uint32(at)
			if covers = recordCovers(capsule[at:]); covers != 1 {
				place = inGroup
			}
			at += length
		}
		if covers > instructions-uint64(len(records)) {
			return nil, false
		}
		for range covers {
			records = append(records, place)
		}
	}
	return records, at == size && uint64(len(records)) == instructions
}

// recordCovers is how many instructions of the first program a record is about.
func recordCovers(record []byte) uint64 {
	switch record[0] &^ recordFlag {
	case recordWait, recordMixed:
		//rule: A record of a capsule may be about several instructions.
		//mutate: uint64(le.Uint16(record) >> 7) -> 1
		return uint64(le.Uint16(record) >> 7)
	}
	return 1
}

// A constantRow is a relocation of the first program on a constant. Those of the
// second program are about the same instructions, in the same order.
type constantRow struct {
	offset uint64
	symbol uint32
	addend int64
}

// A capsuleRows finds where a capsule holds the offsets of constants.
type capsuleRows struct {
	rows         []constantRow // that are left
	capsule      []byte
	instructions uint64
	records      []uint32
	last         uint64 // offset of the last row of the second program
}

// newCapsuleRows reads the relocations of a function on constants.
func newCapsuleRows(o *object, s, capsule *elf64.Section) *capsuleRows {
	c := &capsuleRows{last: ^uint64(0)}
	if s.Type != elf64.Rela || capsule.Type != cubin.SHT_MERCURY_CAPSULE {
		return c
	}
	c.capsule, c.instructions = o.bytes(capsule), o.file.Sections[s.Info].Size/instruction
	for b := o.bytes(s); len(b) >= elf64.RelaSize; b = b[elf64.RelaSize:] {
		if index := le.Uint32(b[12:]); uint64(index) < uint64(len(o.symbols)) && isConstantSymbol(&o.symbols[index]) {
			c.rows = append(c.rows, constantRow{le.Uint64(b), index, int64(le.Uint64(b[16:]))})
		}
	}
	return c
}

func isConstantSymbol(y *elf64.Symbol) bool {
	return y.Type == cubin.STT_CUDA_OBJECT && y.Other == cubin.STO_CUDA_CONSTANT
}

// next makes a row of the second program say where the capsule holds the offset.
// It does not if the instruction is in the first program only. What is not as in
// all capsules that were seen is not known.
func (c *capsuleRows) next(r *relocation, symbol uint32) (found, known bool) {
	if (r.kind != mercuryOffset3 && r.kind != mercuryOffset4) || len(c.rows) == 0 || r.offset >= c.last {
		return false, false
	}
	row := c.rows[0]
	if row.symbol != symbol || row.addend != r.addend || row.offset%instruction != 0 {
		return false, false
	}
	c.rows, c.last = c.rows[1:], r.offset
	if c.records == nil {
		if c.records, known = findRecords(c.capsule, c.instructions); !known {
			return false, false
		}
	}
	number := row.offset / instruction
	if number >= uint64(len(c.records)) || c.records[number] == inGroup {
		return false, false
	}
	at := c.records[number]
	if at == inFirstProgram {
		return false, true
	}
	const load = 0x22
	record := c.capsule[at:]
	if record[0] != recordWhole || record[1] != load {
		return false, false
	}
	size := recordSize(record)
	//rule: Capsules hold the offsets of constants.
	//mutate: uint64(at)+size-4 -> uint64(at)+size-8
	r.offset, r.kind = uint64(at)+size-4, capsuleField
	return true, le.Uint32(record[size-4:]) == 0
}
