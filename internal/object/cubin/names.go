package cubin

import (
	"fmt"

	"github.com/warpld/warpld/internal/object/elf64"
)

// The names in this file are NVIDIA's, as cuobjdump -elf and nvdisasm print them, and in
// the style of debug/elf. Where those print none, the comment says so.

// Types of sections.
const (
	SHT_CUDA_INFO            elf64.SectionType = 0x70000000 // attributes: .nv.info
	SHT_CUDA_CALLGRAPH       elf64.SectionType = 0x70000001
	SHT_CUDA_PROTOTYPE       elf64.SectionType = 0x70000002
	SHT_CUDA_GLOBAL          elf64.SectionType = 0x70000007 // variables without a value
	SHT_CUDA_GLOBAL_INIT     elf64.SectionType = 0x70000008 // variables with a value
	SHT_CUDA_SHARED          elf64.SectionType = 0x7000000a
	SHT_CUDA_RELOCINFO       elf64.SectionType = 0x7000000b // .nv.rel.action
	SHT_CUDA_RESERVED_SHARED elf64.SectionType = 0x70000015 // shared memory of the system
	SHT_CUDA_CONSTANT_B0     elf64.SectionType = 0x70000064 // and the banks after it
	SHT_CUDA_COMPAT_INFO     elf64.SectionType = 0x70000086 // .nv.compat

	// ConstantBanks is how many types there are from SHT_CUDA_CONSTANT_B0 on.
	ConstantBanks = 18
)

// Types of the sections of Mercury code. The tools print only their numbers.
const (
	SHT_MERCURY_CAPSULE   elf64.SectionType = 0x70000016 // .nv.capmerc.text.*
	SHT_MERCURY_CONSTANT  elf64.SectionType = 0x7000007c // .nv.merc.nv.constant.user
	SHT_MERCURY_RELA      elf64.SectionType = 0x70000082
	SHT_MERCURY_INFO      elf64.SectionType = 0x70000083
	SHT_MERCURY_SYMTAB    elf64.SectionType = 0x70000085
	SHT_MERCURY_CALLGRAPH elf64.SectionType = 0x7000008a // since 13.4
	SHT_MERCURY_PROTOTYPE elf64.SectionType = 0x7000008b // since 13.4
)

var sectionTypes = map[elf64.SectionType]string{
	elf64.Null: "SHT_NULL", elf64.ProgBits: "SHT_PROGBITS", elf64.Symtab: "SHT_SYMTAB", elf64.Strtab: "SHT_STRTAB",
	elf64.Rela: "SHT_RELA", elf64.Note: "SHT_NOTE", elf64.NoBits: "SHT_NOBITS", elf64.Rel: "SHT_REL",
	elf64.SymtabShndx: "SHT_SYMTAB_SHNDX",

	SHT_CUDA_INFO:            "SHT_CUDA_INFO",
	SHT_CUDA_CALLGRAPH:       "SHT_CUDA_CALLGRAPH",
	SHT_CUDA_PROTOTYPE:       "SHT_CUDA_PROTOTYPE",
	SHT_CUDA_GLOBAL:          "SHT_CUDA_GLOBAL",
	SHT_CUDA_GLOBAL_INIT:     "SHT_CUDA_GLOBAL_INIT",
	SHT_CUDA_SHARED:          "SHT_CUDA_SHARED",
	SHT_CUDA_RELOCINFO:       "SHT_CUDA_RELOCINFO",
	SHT_CUDA_RESERVED_SHARED: "SHT_CUDA_RESERVED_SHARED",
	SHT_CUDA_COMPAT_INFO:     "SHT_CUDA_COMPAT_INFO",
}

// IsConstantBank reports whether sections of the type are pieces of a bank of constants.
func IsConstantBank(t elf64.SectionType) bool {
	return t >= SHT_CUDA_CONSTANT_B0 && t < SHT_CUDA_CONSTANT_B0+ConstantBanks
}

// SectionTypeName returns the name of a type of sections, or its number in hexadecimal.
func SectionTypeName(t elf64.SectionType) string {
	if IsConstantBank(t) {
		return fmt.Sprintf("SHT_CUDA_CONSTANT_B%d", t-SHT_CUDA_CONSTANT_B0)
	}
	if name, ok := sectionTypes[t]; ok {
		return name
	}
	return fmt.Sprintf("%#x", uint32(t))
}

// Flags of sections.
const (
	SHF_NOTE_NV_CUINFO = 0x1000000
	SHF_NOTE_NV_TKINFO = 0x2000000
	// SHF_MERCURY marks sections of Mercury code. The tools print only its number.
	SHF_MERCURY = 0x10000000
)

// STT_CUDA_OBJECT is the type of the symbols of variables in relocatable code.
const STT_CUDA_OBJECT elf64.SymbolType = 13

// What a symbol is: st_other. The lowest two bits are ELF's visibility.
const (
	STO_CUDA_MANAGED         = 0x04
	STO_CUDA_ENTRY           = 0x10 // a kernel
	STO_CUDA_GLOBAL          = 0x20
	STO_CUDA_SHARED          = 0x40
	STO_CUDA_CONSTANT        = 0x80
	STO_CUDA_RESERVED_SHARED = 0xa0

	STV_INTERNAL = 0x01
)

// A Format is how the row of an attribute stores its value.
type Format byte

// The formats of rows.
const (
	EIFMT_NVAL Format = 1 // no value
	EIFMT_BVAL Format = 2 // one byte
	EIFMT_HVAL Format = 3 // two bytes
	EIFMT_SVAL Format = 4 // as many bytes after the row as the two bytes of the value say
)

// Known reports whether the format is one of those above.
func (f Format) Known() bool { return f >= EIFMT_NVAL && f <= EIFMT_SVAL }

// String returns NVIDIA's name of the format.
func (f Format) String() string {
	if !f.Known() {
		return fmt.Sprintf("%#x", byte(f))
	}
	return [...]string{"EIFMT_NVAL", "EIFMT_BVAL", "EIFMT_HVAL", "EIFMT_SVAL"}[f-EIFMT_NVAL]
}

// An Attribute is what a row of .nv.info is about.
type Attribute byte

// The attributes that occur in code for the architectures that warpld knows.
const (
	EIATTR_CTAIDZ_USED                 Attribute = 0x04
	EIATTR_MAX_THREADS                 Attribute = 0x05
	EIATTR_PARAM_CBANK                 Attribute = 0x0a // section symbol of bank 0, place and size of parameters
	EIATTR_EXTERNS                     Attribute = 0x0f // undefined functions that are called
	EIATTR_REQNTID                     Attribute = 0x10
	EIATTR_FRAME_SIZE                  Attribute = 0x11 // function, bytes of its stack frame
	EIATTR_MIN_STACK_SIZE              Attribute = 0x12 // kernel, bytes of stack with all that it calls
	EIATTR_KPARAM_INFO                 Attribute = 0x17
	EIATTR_CBANK_PARAM_SIZE            Attribute = 0x19
	EIATTR_MAXREG_COUNT                Attribute = 0x1b // the limit of a kernel's registers
	EIATTR_EXIT_INSTR_OFFSETS          Attribute = 0x1c
	EIATTR_CRS_STACK_SIZE              Attribute = 0x1e
	EIATTR_MAX_STACK_SIZE              Attribute = 0x23 // in relocatable code only
	EIATTR_COOP_GROUP_INSTR_OFFSETS    Attribute = 0x28
	EIATTR_COOP_GROUP_MASK_REGIDS      Attribute = 0x29
	EIATTR_WMMA_USED                   Attribute = 0x2b
	EIATTR_ATOM16_EMUL_INSTR_REG_MAP   Attribute = 0x2e
	EIATTR_REGCOUNT                    Attribute = 0x2f // function, number of registers
	EIATTR_INT_WARP_WIDE_INSTR_OFFSETS Attribute = 0x31
	EIATTR_INDIRECT_BRANCH_TARGETS     Attribute = 0x34
	EIATTR_SW2861232_WAR               Attribute = 0x35
	EIATTR_SW_WAR                      Attribute = 0x36
	EIATTR_CUDA_API_VERSION            Attribute = 0x37
	EIATTR_NUM_MBARRIERS               Attribute = 0x38 // of a kernel, with those of all it calls
	EIATTR_MBARRIER_INSTR_OFFSETS      Attribute = 0x39
	EIATTR_CTA_PER_CLUSTER             Attribute = 0x3d
	EIATTR_EXPLICIT_CLUSTER            Attribute = 0x3e
	EIATTR_MAX_CLUSTER_RANK            Attribute = 0x3f
	EIATTR_INSTR_REG_MAP               Attribute = 0x40
	EIATTR_RESERVED_SMEM_USED          Attribute = 0x41
	EIATTR_UNUSED_LOAD_BYTE_OFFSET     Attribute = 0x44
	EIATTR_KPARAM_INFO_V2              Attribute = 0x45
	EIATTR_SYSCALL_OFFSETS             Attribute = 0x46
	EIATTR_VRC_CTA_INIT_COUNT          Attribute = 0x4a
	EIATTR_NUM_BARRIERS                Attribute = 0x4c // the number is the value of the row
	EIATTR_SPARSE_MMA_MASK             Attribute = 0x50
	EIATTR_GEN_ERRBAR_AT_EXIT          Attribute = 0x53
	EIATTR_ANNOTATIONS                 Attribute = 0x55 // what some instructions are for, and their places
	EIATTR_MERCURY_FINALIZER_OPTIONS   Attribute = 0x5a
	EIATTR_MERCURY_ISA_VERSION         Attribute = 0x5f
	EIATTR_LANGUAGE                    Attribute = 0x66
	EIATTR_NVSAL_SW_WAR                Attribute = 0x6b
	EIATTR_PREEXIT_USED                Attribute = 0x6d
)

var attributeNames = map[Attribute]string{
	EIATTR_CTAIDZ_USED:                 "EIATTR_CTAIDZ_USED",
	EIATTR_MAX_THREADS:                 "EIATTR_MAX_THREADS",
	EIATTR_PARAM_CBANK:                 "EIATTR_PARAM_CBANK",
	EIATTR_EXTERNS:                     "EIATTR_EXTERNS",
	EIATTR_REQNTID:                     "EIATTR_REQNTID",
	EIATTR_FRAME_SIZE:                  "EIATTR_FRAME_SIZE",
	EIATTR_MIN_STACK_SIZE:              "EIATTR_MIN_STACK_SIZE",
	EIATTR_KPARAM_INFO:                 "EIATTR_KPARAM_INFO",
	EIATTR_CBANK_PARAM_SIZE:            "EIATTR_CBANK_PARAM_SIZE",
	EIATTR_MAXREG_COUNT:                "EIATTR_MAXREG_COUNT",
	EIATTR_EXIT_INSTR_OFFSETS:          "EIATTR_EXIT_INSTR_OFFSETS",
	EIATTR_CRS_STACK_SIZE:              "EIATTR_CRS_STACK_SIZE",
	EIATTR_MAX_STACK_SIZE:              "EIATTR_MAX_STACK_SIZE",
	EIATTR_COOP_GROUP_INSTR_OFFSETS:    "EIATTR_COOP_GROUP_INSTR_OFFSETS",
	EIATTR_COOP_GROUP_MASK_REGIDS:      "EIATTR_COOP_GROUP_MASK_REGIDS",
	EIATTR_WMMA_USED:                   "EIATTR_WMMA_USED",
	EIATTR_ATOM16_EMUL_INSTR_REG_MAP:   "EIATTR_ATOM16_EMUL_INSTR_REG_MAP",
	EIATTR_REGCOUNT:                    "EIATTR_REGCOUNT",
	EIATTR_INT_WARP_WIDE_INSTR_OFFSETS: "EIATTR_INT_WARP_WIDE_INSTR_OFFSETS",
	EIATTR_INDIRECT_BRANCH_TARGETS:     "EIATTR_INDIRECT_BRANCH_TARGETS",
	EIATTR_SW2861232_WAR:               "EIATTR_SW2861232_WAR",
	EIATTR_SW_WAR:                      "EIATTR_SW_WAR",
	EIATTR_CUDA_API_VERSION:            "EIATTR_CUDA_API_VERSION",
	EIATTR_NUM_MBARRIERS:               "EIATTR_NUM_MBARRIERS",
	EIATTR_MBARRIER_INSTR_OFFSETS:      "EIATTR_MBARRIER_INSTR_OFFSETS",
	EIATTR_CTA_PER_CLUSTER:             "EIATTR_CTA_PER_CLUSTER",
	EIATTR_EXPLICIT_CLUSTER:            "EIATTR_EXPLICIT_CLUSTER",
	EIATTR_MAX_CLUSTER_RANK:            "EIATTR_MAX_CLUSTER_RANK",
	EIATTR_INSTR_REG_MAP:               "EIATTR_INSTR_REG_MAP",
	EIATTR_RESERVED_SMEM_USED:          "EIATTR_RESERVED_SMEM_USED",
	EIATTR_UNUSED_LOAD_BYTE_OFFSET:     "EIATTR_UNUSED_LOAD_BYTE_OFFSET",
	EIATTR_KPARAM_INFO_V2:              "EIATTR_KPARAM_INFO_V2",
	EIATTR_SYSCALL_OFFSETS:             "EIATTR_SYSCALL_OFFSETS",
	EIATTR_VRC_CTA_INIT_COUNT:          "EIATTR_VRC_CTA_INIT_COUNT",
	EIATTR_NUM_BARRIERS:                "EIATTR_NUM_BARRIERS",
	EIATTR_SPARSE_MMA_MASK:             "EIATTR_SPARSE_MMA_MASK",
	EIATTR_GEN_ERRBAR_AT_EXIT:          "EIATTR_GEN_ERRBAR_AT_EXIT",
	EIATTR_ANNOTATIONS:                 "EIATTR_ANNOTATIONS",
	EIATTR_MERCURY_FINALIZER_OPTIONS:   "EIATTR_MERCURY_FINALIZER_OPTIONS",
	EIATTR_MERCURY_ISA_VERSION:         "EIATTR_MERCURY_ISA_VERSION",
	EIATTR_LANGUAGE:                    "EIATTR_LANGUAGE",
	EIATTR_NVSAL_SW_WAR:                "EIATTR_NVSAL_SW_WAR",
	EIATTR_PREEXIT_USED:                "EIATTR_PREEXIT_USED",
}

// Known reports whether the attribute is one of those above.
func (a Attribute) Known() bool { return attributeNames[a] != "" }

// String returns NVIDIA's name of the attribute, or its number in hexadecimal.
func (a Attribute) String() string {
	if name, ok := attributeNames[a]; ok {
		return name
	}
	return fmt.Sprintf("%#x", byte(a))
}

// A CompatAttribute is what a row of .nv.compat is about: what code demands of the driver.
type CompatAttribute byte

// The attributes of .nv.compat.
const (
	EICOMPAT_ATTR_ISA_CLASS                         CompatAttribute = 0x02
	EICOMPAT_ATTR_INST_TENSORMAP_V1                 CompatAttribute = 0x03
	EICOMPAT_ATTR_INST_TCGEN05_MMA                  CompatAttribute = 0x05
	EICOMPAT_ATTR_ENABLE_OPPORTUNISTIC_FINALIZATION CompatAttribute = 0x06
	EICOMPAT_ATTR_MERCURY_ISA_MAJOR_MINOR_VERSION   CompatAttribute = 0x07
	EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET           CompatAttribute = 0x09 // 1: code for one architecture only
	EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE             CompatAttribute = 0x0b // bits of features
	EICOMPAT_ATTR_CUDA_INTERNAL_TARGET              CompatAttribute = 0x0c
	EICOMPAT_ATTR_0D                                CompatAttribute = 0x0d // the tools print only its number
	EICOMPAT_ATTR_FINALIZER_VERSION                 CompatAttribute = 0x0e
)

var compatNames = map[CompatAttribute]string{
	EICOMPAT_ATTR_ISA_CLASS:                         "EICOMPAT_ATTR_ISA_CLASS",
	EICOMPAT_ATTR_INST_TENSORMAP_V1:                 "EICOMPAT_ATTR_INST_TENSORMAP_V1",
	EICOMPAT_ATTR_INST_TCGEN05_MMA:                  "EICOMPAT_ATTR_INST_TCGEN05_MMA",
	EICOMPAT_ATTR_ENABLE_OPPORTUNISTIC_FINALIZATION: "EICOMPAT_ATTR_ENABLE_OPPORTUNISTIC_FINALIZATION",
	EICOMPAT_ATTR_MERCURY_ISA_MAJOR_MINOR_VERSION:   "EICOMPAT_ATTR_MERCURY_ISA_MAJOR_MINOR_VERSION",
	EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET:           "EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET",
	EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE:             "EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE",
	EICOMPAT_ATTR_CUDA_INTERNAL_TARGET:              "EICOMPAT_ATTR_CUDA_INTERNAL_TARGET",
	EICOMPAT_ATTR_FINALIZER_VERSION:                 "EICOMPAT_ATTR_FINALIZER_VERSION",
}

// String returns NVIDIA's name of the attribute, or its number in hexadecimal.
func (a CompatAttribute) String() string {
	if name, ok := compatNames[a]; ok {
		return name
	}
	return fmt.Sprintf("%#x", byte(a))
}
