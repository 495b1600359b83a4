package cubin

import "fmt"

// A Relocation is the type of a relocation. NVIDIA's names end in the width of the field
// and its first bit in an instruction of 128 bits.
type Relocation uint32

// The relocations that occur in code for the architectures that warpld knows.
const (
	R_CUDA_32                   Relocation = 1
	R_CUDA_64                   Relocation = 2
	R_CUDA_G64                  Relocation = 4
	R_CUDA_FUNC_DESC_64         Relocation = 35
	R_CUDA_ABS32_32             Relocation = 55
	R_CUDA_ABS32_LO_32          Relocation = 56
	R_CUDA_ABS32_HI_32          Relocation = 57
	R_CUDA_ABS47_34             Relocation = 58
	R_CUDA_ABS16_32             Relocation = 59
	R_CUDA_FUNC_DESC32_LO_32    Relocation = 62
	R_CUDA_FUNC_DESC32_HI_32    Relocation = 63
	R_CUDA_CONST_FIELD19_40     Relocation = 64 // in words, with the bank
	R_CUDA_CONST_FIELD21_38     Relocation = 66 // in bytes, with the bank
	R_CUDA_YIELD_OPCODE9_0      Relocation = 68 // would make a YIELD a NOP; about no symbol
	R_CUDA_YIELD_CLEAR_PRED4_87 Relocation = 69
	R_CUDA_UNUSED_CLEAR64       Relocation = 73 // clears the size of a removed function in .debug_frame
	R_CUDA_ABS24_40             Relocation = 74
	R_CUDA_ABS55_16_34          Relocation = 75
	R_CUDA_ABS20_44             Relocation = 100
	R_CUDA_UNIFIED              Relocation = 102 // those of unified tables are plain ones if there are none
	R_CUDA_UNIFIED32_LO_32      Relocation = 112
	R_CUDA_UNIFIED32_HI_32      Relocation = 113
	R_CUDA_ABS56_16_34          Relocation = 114 // the code is right without a table
	R_CUDA_CONST_FIELD22_37     Relocation = 115 // in bytes; the bank is there
)

// MercuryRelocation is added to the types of relocations of Mercury code, which the tools
// print only as numbers.
const MercuryRelocation Relocation = 0x10000

var relocationNames = map[Relocation]string{
	R_CUDA_32:                   "R_CUDA_32",
	R_CUDA_64:                   "R_CUDA_64",
	R_CUDA_G64:                  "R_CUDA_G64",
	R_CUDA_FUNC_DESC_64:         "R_CUDA_FUNC_DESC_64",
	R_CUDA_ABS32_32:             "R_CUDA_ABS32_32",
	R_CUDA_ABS32_LO_32:          "R_CUDA_ABS32_LO_32",
	R_CUDA_ABS32_HI_32:          "R_CUDA_ABS32_HI_32",
	R_CUDA_ABS47_34:             "R_CUDA_ABS47_34",
	R_CUDA_ABS16_32:             "R_CUDA_ABS16_32",
	R_CUDA_FUNC_DESC32_LO_32:    "R_CUDA_FUNC_DESC32_LO_32",
	R_CUDA_FUNC_DESC32_HI_32:    "R_CUDA_FUNC_DESC32_HI_32",
	R_CUDA_CONST_FIELD19_40:     "R_CUDA_CONST_FIELD19_40",
	R_CUDA_CONST_FIELD21_38:     "R_CUDA_CONST_FIELD21_38",
	R_CUDA_YIELD_OPCODE9_0:      "R_CUDA_YIELD_OPCODE9_0",
	R_CUDA_YIELD_CLEAR_PRED4_87: "R_CUDA_YIELD_CLEAR_PRED4_87",
	R_CUDA_UNUSED_CLEAR64:       "R_CUDA_UNUSED_CLEAR64",
	R_CUDA_ABS24_40:             "R_CUDA_ABS24_40",
	R_CUDA_ABS55_16_34:          "R_CUDA_ABS55_16_34",
	R_CUDA_ABS20_44:             "R_CUDA_ABS20_44",
	R_CUDA_UNIFIED:              "R_CUDA_UNIFIED",
	R_CUDA_UNIFIED32_LO_32:      "R_CUDA_UNIFIED32_LO_32",
	R_CUDA_UNIFIED32_HI_32:      "R_CUDA_UNIFIED32_HI_32",
	R_CUDA_ABS56_16_34:          "R_CUDA_ABS56_16_34",
	R_CUDA_CONST_FIELD22_37:     "R_CUDA_CONST_FIELD22_37",
}

// String returns NVIDIA's name of the relocation, or its number.
func (r Relocation) String() string {
	if name, ok := relocationNames[r]; ok {
		return name
	}
	return fmt.Sprintf("%d", uint32(r))
}
