package fatbin

import (
	"encoding/binary"

	"github.com/warpld/warpld/internal/gpu"
)

// Stored returns a container whose only member is an uncompressed cubin.
func Stored(cubin []byte, a gpu.Arch) []byte {
	padded := (len(cubin) + 7) &^ 7
	data := make([]byte, preambleSize+fixedSize+padded)
	le := binary.LittleEndian
	preamble(data, fixedSize+padded)
	m := data[preambleSize:]
	le.PutUint16(m, uint16(ELF))
	le.PutUint16(m[2:], 0x0101)
	le.PutUint32(m[4:], fixedSize)
	le.PutUint64(m[8:], uint64(padded))
	le.PutUint16(m[24:], 8) // version 1.8 of the payload's format
	le.PutUint16(m[26:], 1)
	le.PutUint32(m[28:], uint32(a.Number))
	flags := Is64Bit | Linux
	switch {
	case a.IsAccelerated():
		flags |= ArchSpecific
	case a.IsFamilySpecific():
		flags |= FamilySpecific
	}
	le.PutUint64(m[40:], uint64(flags))
	copy(m[fixedSize:], cubin)
	return data
}

// preamble writes the head of a container for members of this size.
func preamble(data []byte, size int) {
	le := binary.LittleEndian
	le.PutUint32(data, magic)
	le.PutUint16(data[4:], 1) // version
	le.PutUint16(data[6:], preambleSize)
	le.PutUint64(data[8:], uint64(size))
}
