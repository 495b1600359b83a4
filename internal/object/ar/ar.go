// Package ar reads archives as ar makes them, normal and thin.
//
//	"!<arch>\n" or "!<thin>\n", then members, each at an even offset:
//	name 16, date 12, owner 6, group 6, mode 8, size 10 (all text, padded
//	with blanks), "`\n", contents
//
// Names longer than a header holds are in a member called "//" (GNU: "/123" is
// the name at offset 123 in it) or before the contents ("#1/20": BSD). A thin
// archive has only headers; its names are paths of files.
package ar

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
)

// What can be wrong with an archive. Errors of this package wrap one of these.
var (
	ErrFormat    = errors.New("not as the archive format has it")
	ErrTruncated = errors.New("beyond the end of the archive")
	ErrTooLarge  = errors.New("larger than this reader takes")
)

// An Error is where in an archive something is wrong.
type Error struct {
	Offset int64 // of the member's header
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("member at %#x: %v", e.Offset, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

const (
	normalMagic = "!<arch>\n"
	thinMagic   = "!<thin>\n"
	headerSize  = 60
	maxName     = 1 << 12 // the longest path of Linux
	maxNames    = 1 << 28 // of all members together
)

// IsArchive reports whether data starts as an archive does.
func IsArchive(data []byte) bool {
	return bytes.HasPrefix(data, []byte(normalMagic)) || bytes.HasPrefix(data, []byte(thinMagic))
}

// An Archive is an archive to be read member by member.
type Archive struct {
	Thin bool

	r     io.ReaderAt
	size  int64
	names string // contents of the "//" member, once met
}

// A Member is one file in an archive.
type Member struct {
	Name   string
	Header int64 // offset of its header in the archive
	Offset int64 // of its contents in the archive; unless it is thin
	Size   int64

	// A member of a thin archive is not in it: Name is then the path of a
	// file, relative to the folder of the archive. When InArchive is not 0,
	// that file is itself an archive, and the member is the one in it whose
	// header is there.
	Thin      bool
	InArchive int64
}

// Open opens the first size bytes of r as an archive.
func Open(r io.ReaderAt, size int64) (*Archive, error) {
	var magic [len(normalMagic)]byte
	if size < int64(len(magic)) {
		return nil, &Error{0, ErrTruncated}
	}
	if err := readFull(r, magic[:], 0); err != nil {
		return nil, &Error{0, err}
	}
	if !IsArchive(magic[:]) {
		return nil, &Error{0, fmt.Errorf("%w: wrong magic number", ErrFormat)}
	}
	return &Archive{Thin: string(magic[:]) == thinMagic, r: r, size: size}, nil
}

// Members returns the members in their order, without the symbol tables. After an error there
// are no more.
func (a *Archive) Members() iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		for offset := int64(len(normalMagic)); offset < a.size; {
			m, next, err := a.read(offset)
			if err != nil {
				yield(Member{Header: offset}, &Error{offset, err})
				return
			}
			if m != nil && !yield(*m, nil) {
				return
			}
			offset = next
		}
	}
}

// read reads one header and returns where the next one is. For what belongs to the archive
// itself the member is nil.
func (a *Archive) read(offset int64) (m *Member, next int64, err error) {
	var header [headerSize]byte
	if a.size-offset < headerSize {
		return nil, 0, fmt.Errorf("%w: %w: only %d bytes of a header", ErrFormat, ErrTruncated, a.size-offset)
	}
	if err := readFull(a.r, header[:], offset); err != nil {
		return nil, 0, err
	}
	if string(header[58:]) != "`\n" {
		return nil, 0, fmt.Errorf("%w: header does not end", ErrFormat)
	}
	size, err := strconv.ParseUint(strings.TrimRight(string(header[48:58]), " "), 10, 62)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: size %q", ErrFormat, header[48:58])
	}
	m = &Member{Header: offset, Offset: offset + headerSize, Size: int64(size)}
	field := strings.TrimRight(string(header[:16]), " ")
	own := ownName(field)
	if a.Thin && !own {
		m.Thin, m.Offset = true, 0
		next = offset + headerSize
	} else {
		if m.Size > a.size-m.Offset {
			return nil, 0, fmt.Errorf("%w: %d bytes of %d", ErrTruncated, m.Size, a.size-m.Offset)
		}
		next = m.Offset + m.Size + m.Size&1
	}
	if field == "//" {
		a.names, err = a.text(m.Offset, m.Size, maxNames)
		return nil, next, err
	}
	if own {
		return nil, next, nil
	}
	if err := a.name(m, field); err != nil {
		return nil, 0, err
	}
	if strings.HasPrefix(m.Name, "__.SYMDEF") {
		return nil, next, nil
	}
	return m, next, nil
}

// ownName reports whether a member holds names or symbols for the archive.
// Their contents are in the archive even if it is thin.
func ownName(field string) bool {
	return field == "/" || field == "//" || field == "/SYM64/" || strings.HasPrefix(field, "__.SYMDEF")
}

// name finds out what a member is called.
func (a *Archive) name(m *Member, field string) error {
	if digits, ok := strings.CutPrefix(field, "#1/"); ok && !m.Thin {
		return a.nameBefore(m, digits)
	}
	position, ok := strings.CutPrefix(field, "/")
	if !ok {
		m.Name = strings.TrimSuffix(field, "/")
		return nil
	}
	position, inner, nested := strings.Cut(position, ":")
	at, err := strconv.ParseUint(position, 10, 62)
	if err != nil || at >= uint64(len(a.names)) {
		return fmt.Errorf("%w: name %q, and %d bytes of long names", ErrFormat, field, len(a.names))
	}
	if nested {
		if m.InArchive, err = strconv.ParseInt(inner, 10, 63); err != nil || m.InArchive <= 0 {
			return fmt.Errorf("%w: name %q", ErrFormat, field)
		}
	}
	rest := a.names[at:min(uint64(len(a.names)), at+maxName)]
	end := strings.IndexAny(rest, "\n\x00") // GNU and LLVM write "/\n", COFF a NUL
	if end < 0 {
		return fmt.Errorf("%w: name %q does not end", ErrFormat, field)
	}
	m.Name = strings.TrimSuffix(rest[:end], "/")
	return nil
}

// nameBefore reads the name that precedes the contents.
func (a *Archive) nameBefore(m *Member, digits string) error {
	n, err := strconv.ParseInt(digits, 10, 63)
	if err != nil || n < 0 || n > m.Size {
		return fmt.Errorf("%w: name of %q bytes in a member of %d", ErrFormat, digits, m.Size)
	}
	name, err := a.text(m.Offset, n, maxName)
	if err != nil {
		return err
	}
	m.Name = strings.TrimRight(name, "\x00")
	m.Offset, m.Size = m.Offset+n, m.Size-n
	return nil
}

func (a *Archive) text(offset, size, limit int64) (string, error) {
	if size > limit {
		return "", fmt.Errorf("%w: %d bytes of names", ErrTooLarge, size)
	}
	b := make([]byte, size)
	err := readFull(a.r, b, offset)
	return string(b), err
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
