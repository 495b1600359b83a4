package device

import (
	"encoding/binary"
	"strings"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/cubin/layout"
	"github.com/warpld/warpld/internal/object/elf64"
)

var le = binary.LittleEndian

// What a symbol of a variable is: st_other.
const (
	otherManaged = cubin.STO_CUDA_GLOBAL | cubin.STO_CUDA_MANAGED
	// parameters and constants of the optimizer: not in the output
	otherHidden = cubin.STO_CUDA_CONSTANT | cubin.STV_INTERNAL
	otherKept   = 0x1f // what remains in an executable
)

// callSize is the size of a row of the call graph.
const callSize = 8

// isDebug reports whether a section holds debug information.
func isDebug(name string) bool {
	return strings.HasPrefix(name, ".debug_") || strings.HasPrefix(name, ".nv_debug_")
}

// occupiesOnly reports whether a section has only a size, no bytes: variables
// without a value, and shared memory.
func occupiesOnly(t elf64.SectionType) bool {
	return t == cubin.SHT_CUDA_GLOBAL || t == cubin.SHT_CUDA_SHARED || t == cubin.SHT_CUDA_RESERVED_SHARED
}

// alignUp rounds up to a multiple of a power of two; 0 counts as 1.
func alignUp(n, align uint64) uint64 { return layout.AlignUp(n, align) }

// isAlignment reports whether something may be aligned so.
func isAlignment(n uint64) bool { return n > 0 && n <= maxAlign && n&(n-1) == 0 }
