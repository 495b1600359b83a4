package container

import (
	"fmt"
	"io"

	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/internal/object/fatbin"
	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/internal/object/offload"
)

// SharedObject is the type of shared libraries and of executables that may be loaded
// anywhere.
const SharedObject elf64.Type = 3

// interpreter is the section that distinguishes such an executable from a library.
const interpreter = ".interp"

func (w *Walker) elf(f *File) error {
	e, err := elf64.Open(f.R, f.Size)
	if err != nil {
		return err
	}
	f.ELF = e
	switch {
	case e.Machine == elf64.CUDA:
		f.Kind = Cubin
		f.Regions = []Region{{Size: f.Size, R: io.NewSectionReader(f.R, 0, f.Size), Form: Code}}
		return w.Visit(f)
	case e.Type == elf64.Relocatable:
		f.Kind = Object
	case e.Type == elf64.Executable || e.Section(interpreter) != nil:
		f.Kind = Program
	case e.Type == SharedObject:
		f.Kind = Library
	default:
		return fmt.Errorf("%w: ELF file of type %d", ErrUnknown, e.Type)
	}
	if err := f.regions(e); err != nil {
		return err
	}
	return w.Visit(f)
}

// regions finds the sections of a host's file that are about device code.
func (f *File) regions(e *elf64.File) error {
	unread := f.Size
	for i := range e.Sections {
		s := &e.Sections[i]
		form, known := formOf(s.Name)
		if !known {
			continue
		}
		offset, size, err := e.Bytes(s)
		if err != nil {
			return err
		}
		if size == 0 {
			continue
		}
		// Without this many sections could be made of the same bytes.
		if unread -= size; unread < 0 {
			return &elf64.Error{Part: "section " + s.Name, Err: fmt.Errorf("%w: overlaps others", elf64.ErrFormat)}
		}
		f.Regions = append(f.Regions, region(form, s.Name, f.R, offset, size))
	}
	return nil
}

func formOf(section string) (form Form, known bool) {
	switch section {
	case hostelf.LinkedSection, hostelf.RelocatableSection:
		return Fatbins, true
	case hostelf.SegmentSection:
		return Segments, true
	case offload.Section:
		return Offloading, true
	}
	return 0, false
}

func region(form Form, section string, r io.ReaderAt, offset, size int64) Region {
	switch form {
	case Fatbins:
		return fatbins(section, r, offset, size)
	case Offloading:
		return offloading(section, r, offset, size)
	}
	return Region{Section: section, Offset: offset, Size: size, R: io.NewSectionReader(r, offset, size), Form: form}
}

// fatbins reads a region of fat binaries. What follows a damaged one is not read.
func fatbins(section string, r io.ReaderAt, offset, size int64) Region {
	g := Region{Section: section, Offset: offset, Size: size, R: io.NewSectionReader(r, offset, size)}
	for c, err := range fatbin.All(g.R, size) {
		if err != nil {
			g.Problem = err
			return g
		}
		g.Containers = append(g.Containers, c)
		g.Unread = c.Offset + c.Size
	}
	g.Unread = size
	return g
}

// offloading reads a region of clang's containers.
func offloading(section string, r io.ReaderAt, offset, size int64) Region {
	g := Region{Section: section, Offset: offset, Size: size, R: io.NewSectionReader(r, offset, size),
		Form: Offloading, Unread: size}
	images, err := offload.Read(g.R, size)
	if err != nil {
		g.Problem, g.Unread = err, 0
		return g
	}
	g.Images = images
	return g
}
