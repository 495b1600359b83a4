package hostelf

import (
	"encoding/binary"

	"github.com/warpld/warpld/internal/object/elf64"
)

// An operand is what an instruction loads an address for, among the operands of the
// functions that register symbols: the handle, the host's address, and the name twice.
type operand uint8

const (
	otherOperand operand = iota // it is not known
	hostAddress
	deviceName
)

// operand returns what the relocation's instruction loads an address for, by its register.
func (r *relocation) operand(m elf64.Machine, code []byte) operand {
	switch m {
	case elf64.X8664:
		const rcx, rdx, rsi = 1, 2, 6
		switch r.registerX86(code) {
		case rsi:
			return hostAddress
		case rcx, rdx:
			return deviceName
		}
	case elf64.AArch64:
		const pageOfSymbol = 275 // ADR_PREL_PG_HI21; the register of the ADD behind it counts
		if r.kind == pageOfSymbol {
			return hostAddress
		}
		switch r.registerARM(code) {
		case 1:
			return hostAddress
		case 2, 3:
			return deviceName
		}
	}
	return otherOperand
}

const noRegister = -1

// registerX86 returns the number of the register that LEA with an address relative to RIP,
// or MOV with a constant, writes.
func (r *relocation) registerX86(code []byte) int {
	if r.place < 3 || r.place > uint64(len(code)) {
		return noRegister
	}
	before := code[r.place-3 : r.place]
	prefix, opcode, last := before[0], before[1], int(before[2])
	const (
		wide, extended   = 0x48, 4 // REX.W and REX.R
		lea, moveWide    = 0x8d, 0xc7
		modes, relative  = 0xc7, 0x05 // of the last byte: which bits, and an address relative to RIP
		direct, moveFrom = 0xc0, 0xb8
		absolute, signed = 10, 11 // R_X86_64_32 and R_X86_64_32S
	)
	switch isAbsolute := r.kind == absolute || r.kind == signed; {
	case opcode == lea && prefix&^extended == wide && last&modes == relative:
		return int(prefix&extended)<<1 | last>>3&7
	case isAbsolute && opcode == moveWide && prefix == wide && last&^7 == direct:
		return last & 7
	case isAbsolute && last&^7 == moveFrom && opcode&0xf0 != 0x40:
		return last & 7
	}
	return noRegister
}

// registerARM returns the number of the register that ADD with a constant, or ADR, writes.
func (r *relocation) registerARM(code []byte) int {
	const size = 4
	if len(code) < size || r.place > uint64(len(code)-size) {
		return noRegister
	}
	const (
		addMask, add = 0x7f800000, 0x11000000
		adrMask, adr = 0x9f000000, 0x10000000
	)
	word := binary.LittleEndian.Uint32(code[r.place:])
	if word&addMask == add || word&adrMask == adr {
		return int(word & 31)
	}
	return noRegister
}
