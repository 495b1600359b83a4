package device

import (
	"encoding/binary"
	"strings"

	"github.com/warpld/warpld/internal/object/elf64"
)

var le = binary.LittleEndian

// Types of sections. Those from 0x70000000 on are NVIDIA's.
const (
	typeNull      elf64.SectionType = 0
	typeProgBits  elf64.SectionType = 1
	typeSymtab    elf64.SectionType = 2
	typeStrtab    elf64.SectionType = 3
	typeRela      elf64.SectionType = 4
	typeNote      elf64.SectionType = 7
	typeNoBits    elf64.SectionType = 8
	typeRel       elf64.SectionType = 9
	typeInfo      elf64.SectionType = 0x70000000 // attributes
	typeCallGraph elf64.SectionType = 0x70000001
	typePrototype elf64.SectionType = 0x70000002
	typeGlobal    elf64.SectionType = 0x70000007 // variables without a value
	typeInit      elf64.SectionType = 0x70000008 // variables with a value
	typeShared    elf64.SectionType = 0x7000000a
	typeRelAction elf64.SectionType = 0x7000000b
	typeReserved  elf64.SectionType = 0x70000015 // shared memory of the system, on sm_110
	typeConstant0 elf64.SectionType = 0x70000064 // and the banks after it
	typeCompat    elf64.SectionType = 0x70000086
	constantBanks                   = 18
)

// Flags of sections.
const (
	flagWrite = 0x1
	flagAlloc = 0x2
	flagExec  = 0x4
	flagOwned = 0x40 // sh_info is the section it belongs to
)

// What a symbol of a variable or a function is: st_other, and the type of
// variables in relocatable code.
const (
	otherKernel   = 0x10
	otherGlobal   = 0x20
	otherManaged  = 0x24
	otherShared   = 0x40
	otherConstant = 0x80
	otherReserved = 0xa0
	otherHidden   = 0x81 // parameters and constants of the optimizer: not in the output
	otherKept     = 0x1f // what remains in an executable

	typeData elf64.SymbolType = 13
)

const (
	symbolSize  = 24
	sectionSize = 64
	segmentSize = 56
	relSize     = 16
	relaSize    = 24
	callSize    = 8
)

// isConstant reports whether a section is a piece of a constant bank.
func isConstant(t elf64.SectionType) bool {
	return t >= typeConstant0 && t < typeConstant0+constantBanks
}

// isDebug reports whether a section holds debug information.
func isDebug(name string) bool {
	return strings.HasPrefix(name, ".debug_") || strings.HasPrefix(name, ".nv_debug_")
}

// occupiesOnly reports whether a section has only a size, no bytes: variables
// without a value, and shared memory.
func occupiesOnly(t elf64.SectionType) bool {
	return t == typeGlobal || t == typeShared || t == typeReserved
}

// alignUp rounds up to a multiple of a power of two; 0 counts as 1.
func alignUp(n, align uint64) uint64 {
	if align < 2 {
		return n
	}
	return (n + align - 1) &^ (align - 1)
}
