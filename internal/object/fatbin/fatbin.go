// Package fatbin reads fat binaries: device code for several architectures,
// as PTX, as relocatable or linked code, or as LTO-IR.
//
// A container has a header of 16 bytes (magic u32, version u16, header size
// u16, size of all members u64) and members back to back. Linked host objects
// hold several containers, with zeros between them.
//
// A member has a header, fixed up to offset 64, then its variable part, then
// the payload; all numbers are little-endian:
//
//	 0 u16 kind            24 u16 minor, 26 u16 major version of the payload
//	 2 u16 0x0101          28 u32 architecture
//	 4 u32 header size     32 u32 offset, 36 u32 length of the identifier
//	 8 u64 payload size    40 u64 flags
//	16 u32 compressed size 48 u64 tag of the obfuscation
//	20 u32 offset of the   56 u64 expanded size
//	       options: u32 offset, u32 length
//
// Offsets count from the start of the member, 0 means none; the compressed and
// expanded size are 0 when the payload is stored, and the payload size is
// rounded up to 8.
package fatbin

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"github.com/warpld/warpld/internal/gpu"
)

// What can be wrong with a fat binary. Errors of this package wrap one of
// these.
var (
	ErrFormat    = errors.New("not as the fat binary format has it")
	ErrTruncated = errors.New("beyond the end of the fat binary")
	ErrTooLarge  = errors.New("larger than this reader takes")
	// ErrObfuscated: only NVIDIA's tools can read the payload.
	ErrObfuscated = errors.New("payload is obfuscated")
)

// An Error is where in a fat binary something is wrong.
type Error struct {
	Offset int64 // of the container or member
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("fat binary at %#x: %v", e.Offset, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// A Kind is the type of a payload. There are more than the ones named here.
type Kind uint16

const (
	PTX  Kind = 1
	ELF  Kind = 2
	NVVM Kind = 8 // LTO-IR
)

func (k Kind) String() string {
	switch k {
	case PTX:
		return "PTX"
	case ELF:
		return "ELF"
	case NVVM:
		return "LTO-IR"
	}
	return fmt.Sprintf("kind %d", uint16(k))
}

// Flags of a member.
type Flags uint64

const (
	Is64Bit        Flags = 0x1
	Debug          Flags = 0x2
	Linux          Flags = 0x10
	LZ4            Flags = 0x2000
	Zstd           Flags = 0x8000
	Obfuscated     Flags = 0x10000
	ArchSpecific   Flags = 0x100000 // suffix "a"
	FamilySpecific Flags = 0x200000 // suffix "f"
)

const (
	magic        = 0xBA55ED50
	preambleSize = 16
	fixedSize    = 64

	maxHeader  = 1 << 20 // of one member, with identifier and options
	maxMembers = 1 << 16 // of one container
)

// A Container is one fat binary.
type Container struct {
	Offset  int64
	Size    int64 // with its header
	Members []Member
}

// A Member is one piece of device code.
type Member struct {
	Kind    Kind
	Arch    gpu.Arch
	Flags   Flags
	Major   int // version of the payload's format
	Minor   int
	Ident   string
	Options string // what it was compiled with; not always text

	Offset int64 // of the payload
	Length int64 // of the payload as it is in the file, with padding

	start      int64 // of the member's header
	compressed int64
	expanded   int64
}

// Header returns where the header of the member is, and how long it is with identifier
// and options.
func (m *Member) Header() (offset, size int64) { return m.start, m.Offset - m.start }

// Compressed returns how many bytes of the payload in the file are compressed code. It is
// 0 for a stored payload.
func (m *Member) Compressed() int64 {
	if m.Flags&(LZ4|Zstd) == 0 {
		return 0
	}
	return m.compressed
}

// IsContainer reports whether data starts as a container does.
func IsContainer(data []byte) bool {
	return len(data) >= 4 && binary.LittleEndian.Uint32(data) == magic
}

// Read reads all containers in the first size bytes of r, and the headers of
// their members.
func Read(r io.ReaderAt, size int64) ([]Container, error) {
	var containers []Container
	for c, err := range All(r, size) {
		if err != nil {
			return nil, err
		}
		containers = append(containers, c)
	}
	return containers, nil
}

// All returns the containers in the first size bytes of r one after the other, with the
// headers of their members. After an error, which is an *Error, there are no more.
func All(r io.ReaderAt, size int64) iter.Seq2[Container, error] {
	return func(yield func(Container, error) bool) {
		for end := int64(0); ; {
			offset, err := skipZeros(r, end, size)
			if err != nil {
				yield(Container{}, &Error{offset, err})
				return
			}
			if offset == size {
				return
			}
			c, err := readContainer(r, offset, size)
			if err != nil {
				yield(Container{}, err)
				return
			}
			if !yield(*c, nil) {
				return
			}
			end = offset + c.Size
		}
	}
}

// skipZeros finds the first byte from offset on that is not zero.
func skipZeros(r io.ReaderAt, offset, size int64) (int64, error) {
	var b [512]byte
	for offset < size {
		n := min(size-offset, int64(len(b)))
		if err := readFull(r, b[:n], offset); err != nil {
			return offset, err
		}
		for _, c := range b[:n] {
			if c != 0 {
				return offset, nil
			}
			offset++
		}
	}
	return offset, nil
}

func readContainer(r io.ReaderAt, offset, size int64) (*Container, error) {
	le := binary.LittleEndian
	var b [preambleSize]byte
	if size-offset < preambleSize {
		return nil, &Error{offset, ErrTruncated}
	}
	if err := readFull(r, b[:], offset); err != nil {
		return nil, &Error{offset, err}
	}
	version, header, members := le.Uint16(b[4:]), int64(le.Uint16(b[6:])), le.Uint64(b[8:])
	switch {
	case !IsContainer(b[:]):
		return nil, &Error{offset, fmt.Errorf("%w: wrong magic number %#x", ErrFormat, le.Uint32(b[:]))}
	case version != 1 || header < preambleSize:
		return nil, &Error{offset, fmt.Errorf("%w: version %d, header of %d bytes", ErrFormat, version, header)}
	case header > size-offset || members > uint64(size-offset-header):
		return nil, &Error{offset, fmt.Errorf("%w: %d bytes, %d are there", ErrTruncated, members, size-offset-header)}
	}
	c := &Container{Offset: offset, Size: header + int64(members)}
	for at, end := offset+header, offset+c.Size; at < end; {
		m, next, err := readMember(r, at, end)
		if err != nil {
			return nil, &Error{at, err}
		}
		if len(c.Members) == maxMembers {
			return nil, &Error{at, fmt.Errorf("%w: more than %d members", ErrTooLarge, maxMembers)}
		}
		c.Members = append(c.Members, *m)
		at = next
	}
	return c, nil
}

// readMember reads the header of the member at offset in a container that ends at end, and
// returns where the next member is.
func readMember(r io.ReaderAt, offset, end int64) (m *Member, next int64, err error) {
	le := binary.LittleEndian
	var fixed [fixedSize]byte
	if end-offset < fixedSize {
		return nil, 0, fmt.Errorf("%w: only %d bytes of a member", ErrTruncated, end-offset)
	}
	if err := readFull(r, fixed[:], offset); err != nil {
		return nil, 0, err
	}
	header, payload := int64(le.Uint32(fixed[4:])), le.Uint64(fixed[8:])
	switch {
	case header < fixedSize:
		return nil, 0, fmt.Errorf("%w: member header of %d bytes", ErrFormat, header)
	case header > maxHeader:
		return nil, 0, fmt.Errorf("%w: member header of %d bytes", ErrTooLarge, header)
	case header > end-offset || payload > uint64(end-offset-header):
		return nil, 0, fmt.Errorf("%w: member of %d+%d bytes, %d are there", ErrTruncated, header, payload, end-offset)
	}
	m = parseMember(fixed[:])
	m.start, m.Offset, m.Length = offset, offset+header, int64(payload)
	if m.compressed > m.Length {
		return nil, 0, fmt.Errorf("%w: %d compressed bytes in a payload of %d", ErrTruncated, m.compressed, m.Length)
	}
	if header > fixedSize {
		variable := make([]byte, header)
		if err := readFull(r, variable, offset); err != nil {
			return nil, 0, err
		}
		if err := m.parseVariable(variable); err != nil {
			return nil, 0, err
		}
	}
	return m, m.Offset + m.Length, nil
}

func parseMember(b []byte) *Member {
	le := binary.LittleEndian
	m := &Member{
		Kind:       Kind(le.Uint16(b)),
		compressed: int64(le.Uint32(b[16:])),
		Minor:      int(le.Uint16(b[24:])),
		Major:      int(le.Uint16(b[26:])),
		Arch:       gpu.Arch{Number: int(le.Uint32(b[28:]))},
		Flags:      Flags(le.Uint64(b[40:])),
		expanded:   int64(min(le.Uint64(b[56:]), math.MaxInt64)),
	}
	switch {
	case m.Flags&ArchSpecific != 0:
		m.Arch.Suffix = gpu.AcceleratedSuffix
	case m.Flags&FamilySpecific != 0:
		m.Arch.Suffix = gpu.FamilySuffix
	}
	return m
}

// parseVariable reads identifier and options from the whole header.
func (m *Member) parseVariable(b []byte) (err error) {
	le := binary.LittleEndian
	if m.Ident, err = textAt(b, le.Uint32(b[32:]), le.Uint32(b[36:])); err != nil {
		return fmt.Errorf("identifier: %w", err)
	}
	at := uint64(le.Uint32(b[20:]))
	if at == 0 {
		return nil
	}
	if at+8 > uint64(len(b)) {
		return fmt.Errorf("options: %w: at %d of %d", ErrFormat, at, len(b))
	}
	if m.Options, err = textAt(b, le.Uint32(b[at:]), le.Uint32(b[at+4:])); err != nil {
		return fmt.Errorf("options: %w", err)
	}
	return nil
}

func textAt(b []byte, offset, length uint32) (string, error) {
	if length == 0 {
		return "", nil
	}
	if uint64(offset)+uint64(length) > uint64(len(b)) {
		return "", fmt.Errorf("%w: %d bytes at %d of %d", ErrFormat, length, offset, len(b))
	}
	return string(b[offset : offset+length]), nil
}

func readFull(r io.ReaderAt, b []byte, offset int64) error {
	n, err := r.ReadAt(b, offset)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return ErrTruncated
	}
	return err
}
