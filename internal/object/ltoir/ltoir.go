// Package ltoir recognises LTO-IR as nvcc makes it: NVVM containers.
//
// What the code is stays opaque; the header is enough to tell who can read it.
// All numbers are little-endian:
//
//	 0 magic ed 43 4e 7f
//	 4 u8 major, u8 minor version of the container
//	 6 u8 major, u8 minor version of NVVM IR
//	 8 u8 major, u8 minor version of its debug information
//	10 u8 major, u8 minor version of LLVM
//	12 u16 size of this header (24)
//	14 u16 level of the IR (1: for LTO)
//	16 u32 where the fields end
//	20 u32 where the code starts
//	24 fields: u16 tag, u16 value, up to tag 0
//
// Tag 1 is ten times the architecture's number, and tag 0x20 says that the code
// is for this architecture only: suffix "a". Suffix "f" is not recorded.
package ltoir

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/warpld/warpld/internal/gpu"
)

// What can be wrong with a container. Errors of this package wrap one of these.
var (
	ErrFormat    = errors.New("not an NVVM container")
	ErrTruncated = errors.New("NVVM container is cut off")
)

const (
	magic      = "\xed\x43\x4e\x7f"
	fixedSize  = 24
	maxHeader  = 1 << 20
	tagArch    = 1
	tagOneArch = 0x20
)

// A Version is one of those a container records.
type Version struct{ Major, Minor int }

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// A Header describes a container. CUDA 13.0 writes container version 1.65,
// CUDA 13.4 1.67; a libnvvm refuses what is newer than itself.
type Header struct {
	Container Version
	IR        Version
	Debug     Version
	LLVM      Version
	Level     int
	Arch      gpu.Arch
}

// IsContainer reports whether data starts as a container does.
func IsContainer(data []byte) bool { return len(data) >= 4 && string(data[:4]) == magic }

// Read reads the header of the container that is the first size bytes of r.
func Read(r io.ReaderAt, size int64) (*Header, error) {
	var fixed [fixedSize]byte
	if err := read(r, fixed[:], 0, size); err != nil {
		return nil, err
	}
	if !IsContainer(fixed[:]) {
		return nil, fmt.Errorf("%w: starts with % x", ErrFormat, fixed[:4])
	}
	le := binary.LittleEndian
	fieldsEnd, code := int64(le.Uint32(fixed[16:])), int64(le.Uint32(fixed[20:]))
	header := int64(le.Uint16(fixed[12:]))
	if header != fixedSize || fieldsEnd < header || code < fieldsEnd || code > maxHeader {
		return nil, fmt.Errorf("%w: header of %d bytes, fields up to %d, code from %d", ErrFormat, header, fieldsEnd, code)
	}
	if code >= size {
		return nil, fmt.Errorf("%w: code starts at %d of %d", ErrTruncated, code, size)
	}
	version := func(at int) Version { return Version{int(fixed[at]), int(fixed[at+1])} }
	h := &Header{
		Container: version(4),
		IR:        version(6),
		Debug:     version(8),
		LLVM:      version(10),
		Level:     int(le.Uint16(fixed[14:])),
	}
	fields := make([]byte, fieldsEnd-header)
	if err := read(r, fields, header, size); err != nil {
		return nil, err
	}
	h.parseFields(fields)
	return h, nil
}

func (h *Header) parseFields(b []byte) {
	for ; len(b) >= 4; b = b[4:] {
		tag, value := binary.LittleEndian.Uint16(b), int(binary.LittleEndian.Uint16(b[2:]))
		switch tag {
		case 0:
			return
		case tagArch:
			h.Arch.Number = value / 10
		case tagOneArch:
			if value != 0 {
				h.Arch.Suffix = gpu.AcceleratedSuffix
			}
		}
	}
}

func read(r io.ReaderAt, b []byte, offset, size int64) error {
	if size-offset < int64(len(b)) {
		return fmt.Errorf("%w: %d bytes", ErrTruncated, size)
	}
	n, err := r.ReadAt(b, offset)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: no %d bytes at %d", ErrTruncated, len(b), offset)
	}
	return err
}
