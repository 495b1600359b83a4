// Package container finds the device code in files of every kind that a build or a
// package has: host objects, shared libraries, executables, fat binaries and cubins, alone
// or in archives and in wheels, which are zip files.
//
// Files are read by offsets: of a file of some gigabytes only headers and tables are in
// memory, and of device code what a caller asks for. A compressed entry of a wheel can't be
// read by offsets; the caller supplies a place for it.
package container

import (
	"errors"
	"fmt"
	"io"

	"github.com/warpld/warpld/internal/object/ar"
	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/internal/object/fatbin"
	"github.com/warpld/warpld/internal/object/offload"
)

// What can be wrong with a file. Errors of this package wrap one of these, or an error of
// the package of the format.
var (
	ErrUnknown  = errors.New("neither an ELF file, an archive, a fat binary nor a wheel")
	ErrFormat   = errors.New("not as its format has it")
	ErrTooLarge = errors.New("larger than this reader takes")
)

// A Kind is the sort of file that device code is in.
type Kind uint8

// The kinds of files.
const (
	Object Kind = iota
	Library
	Program
	Fatbin
	Cubin
)

var kindNames = [...]string{"object", "shared library", "executable", "fat binary", "cubin"}

func (k Kind) String() string { return kindNames[k] }

// Linked reports whether the host's linker made the file, so that no device link can
// change it.
func (k Kind) Linked() bool { return k == Library || k == Program }

// A File is one file with, or without, device code.
type File struct {
	// Path is that of the file on disk. Inside are the names of entries of wheels and members
	// of archives that lead to this one, the outermost first.
	Path   string
	Inside []string
	Kind   Kind
	// ELF is the host's or the device's ELF file; it is nil for a fat binary.
	ELF     *elf64.File
	R       io.ReaderAt
	Size    int64
	Regions []Region
}

// Name returns the path with the names inside: "libx.a:y.o".
func (f *File) Name() string {
	name := f.Path
	for _, inside := range f.Inside {
		name += ":" + inside
	}
	return name
}

// A Region is a part of a file that is about device code: a section, or the whole file.
type Region struct {
	Section string // empty: the whole file
	Offset  int64
	Size    int64
	R       *io.SectionReader // its bytes
	Form    Form
	// Containers are the fat binaries, with offsets from the start of the region.
	Containers []fatbin.Container
	// Images are what clang's containers hold.
	Images []offload.Image
	// Problem is why the bytes from Unread on could not be read.
	Problem error
	Unread  int64
}

// A Form is what a region holds.
type Form uint8

// The forms of regions.
const (
	Fatbins    Form = iota // fat binaries with zeros between them
	Segments               // the table by which start-up code finds fat binaries
	Offloading             // clang's containers
	Code                   // one cubin
)

// A Walker finds files.
type Walker struct {
	// Visit is called for each file that has a form this package knows. Its readers are
	// valid until Visit returns.
	Visit func(*File) error
	// Damaged is called for a file inside another one that can't be read, with its name. The
	// walk goes on.
	Damaged func(name string, err error) error
	// Store stores size bytes that are read from r, for reading by offsets, and returns a
	// function that discards them. It may be nil: then compressed entries are damaged.
	Store func(r io.Reader, size int64) (stored io.ReaderAt, discard func(), err error)
	// Open opens a member of a thin archive by its path. It may be nil.
	Open func(path string) (r io.ReaderAt, size int64, done func(), err error)
}

// maxDepth is how deep files may lie in each other: a wheel with an archive with an object
// has three.
const maxDepth = 4

// Walk visits the file that is the first size bytes of r, or those inside of it. The error
// wraps ErrUnknown if the file has a form that this package doesn't know.
func (w *Walker) Walk(path string, r io.ReaderAt, size int64) error {
	return w.walk(&File{Path: path, R: r, Size: size})
}

func (w *Walker) walk(f *File) error {
	head := make([]byte, min(f.Size, elf64.HeaderSize))
	if n, err := f.R.ReadAt(head, 0); n < len(head) {
		return fmt.Errorf("its first bytes can't be read: %w", err)
	}
	switch {
	case elf64.IsELF(head):
		return w.elf(f)
	case fatbin.IsContainer(head):
		f.Kind = Fatbin
		f.Regions = []Region{fatbins("", f.R, 0, f.Size)}
		return w.Visit(f)
	case ar.IsArchive(head):
		return w.archive(f)
	case isZip(head):
		return w.zip(f)
	}
	return ErrUnknown
}

// inner walks through a file inside of another one. What is wrong with it does not end
// the walk.
func (w *Walker) inner(f *File) error {
	if len(f.Inside) >= maxDepth {
		return w.Damaged(f.Name(), fmt.Errorf("%w: files in files, %d deep", ErrTooLarge, len(f.Inside)))
	}
	inner := *w
	var visited error
	inner.Visit = func(f *File) error {
		visited = w.Visit(f)
		return visited
	}
	err := inner.walk(f)
	switch {
	case err == nil || errors.Is(err, ErrUnknown):
		return nil
	case visited != nil:
		return err
	}
	return w.Damaged(f.Name(), err)
}

// inside returns a file that lies in f.
func (f *File) inside(name string, r io.ReaderAt, size int64) *File {
	return &File{Path: f.Path, Inside: append(f.Inside[:len(f.Inside):len(f.Inside)], name), R: r, Size: size}
}

func (w *Walker) archive(f *File) error {
	a, err := ar.Open(f.R, f.Size)
	if err != nil {
		return err
	}
	for m, err := range a.Members() {
		if err != nil {
			return err
		}
		if m.Thin {
			if err := w.thin(f, m); err != nil {
				return err
			}
			continue
		}
		if err := w.inner(f.inside(m.Name, io.NewSectionReader(f.R, m.Offset, m.Size), m.Size)); err != nil {
			return err
		}
	}
	return nil
}

// thin walks through a member of a thin archive, which is a file of its own.
func (w *Walker) thin(f *File, m ar.Member) error {
	inner := f.inside(m.Name, nil, 0)
	if w.Open == nil || len(f.Inside) > 0 || m.InArchive != 0 {
		return w.Damaged(inner.Name(), fmt.Errorf("%w: it is not in the thin archive", ErrFormat))
	}
	r, size, done, err := w.Open(m.Name)
	if err != nil {
		return w.Damaged(inner.Name(), err)
	}
	defer done()
	inner.R, inner.Size = r, size
	return w.inner(inner)
}
