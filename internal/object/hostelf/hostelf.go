// Package hostelf reads the device parts of host objects: where the fat
// binaries are, what the object is called in the registration file, and which
// device symbols the host code refers to.
package hostelf

import (
	"fmt"
	"io"
	"strings"

	"github.com/warpld/warpld/internal/object/elf64"
)

// Sections that nvcc and clang put into host objects.
const (
	RelocatableSection = "__nv_relfatbin" // device code to be linked
	LinkedSection      = ".nv_fatbin"     // device code that needs no link
	SegmentSection     = ".nvFatBinSegment"
	moduleIDSection    = "__nv_module_id"
)

// Module ids that do not name a module of this object: code that needs no
// device link has noModuleID, and the output of a device link has the ids of
// its inputs after linkedPrefix.
const (
	noModuleID   = "__NV_MODULE_ID"
	linkedPrefix = "def "
)

// Limits on what is read into memory.
const (
	maxModuleIDs = 1 << 20
	maxRefs      = 1 << 26
)

// A Span is a piece of a file.
type Span struct{ Offset, Size int64 }

// A File is what a host object holds about device code.
type File struct {
	Machine elf64.Machine
	Type    elf64.Type
	// Relocatable are the sections with device code for a device link, Linked those with code
	// that needs none.
	Relocatable []Span
	Linked      []Span
	// ModuleIDs are the arguments of DEFINE_REGISTER_FUNC, one for each fat
	// binary in Relocatable. An object made by "ld -r" has several.
	ModuleIDs []string
	// LinkedIDs are the module ids of objects that an earlier device link has
	// linked into Linked.
	LinkedIDs []string
	Refs      HostRefs
	// Offloading are the sections with clang's containers of device code.
	Offloading []Span
}

// HostRefs are the patterns of device symbols that host code refers to. They
// are of mangled names, and "*" in them stands for any text.
type HostRefs struct {
	Kernels   Refs
	Devices   Refs
	Constants Refs
	// Missing are the sections that are absent or have no bytes (an empty list has one). For
	// nvlink an object without the section of external kernels records nothing about what it
	// refers to, and the other sections are empty if they are missing.
	Missing []string
}

// Refs are patterns of symbols with external and with internal linkage.
type Refs struct{ External, Internal []string }

// externalKernels is the section that decides whether host references count.
const externalKernels = ".nvHRKE"

// Known reports whether the object records what it refers to.
func (h *HostRefs) Known() bool {
	for _, name := range h.Missing {
		if name == externalKernels {
			return false
		}
	}
	return true
}

// Read reads the host object that is the first size bytes of r.
func Read(r io.ReaderAt, size int64) (*File, error) {
	e, err := elf64.Open(r, size)
	if err != nil {
		return nil, err
	}
	f := &File{Machine: e.Machine, Type: e.Type}
	unread := size
	for i := range e.Sections {
		s := &e.Sections[i]
		if s.Name != RelocatableSection && s.Name != LinkedSection && s.Name != moduleIDSection {
			continue
		}
		offset, length, err := e.Bytes(s)
		if err != nil {
			return nil, err
		}
		// Without this many sections could be made of the same bytes.
		if unread -= length; unread < 0 {
			return nil, &elf64.Error{Part: "section " + s.Name, Err: fmt.Errorf("%w: overlaps others", elf64.ErrFormat)}
		}
		if err := f.add(e, s, Span{offset, length}); err != nil {
			return nil, err
		}
	}
	if err := f.Refs.read(e); err != nil {
		return nil, err
	}
	return f, f.readClang(e)
}

// add reads a section into f.
func (f *File) add(e *elf64.File, s *elf64.Section, span Span) error {
	switch {
	case span.Size == 0:
	case s.Name == RelocatableSection:
		f.Relocatable = append(f.Relocatable, span)
	case s.Name == LinkedSection:
		f.Linked = append(f.Linked, span)
	default:
		text, err := e.Data(s, maxModuleIDs)
		if err != nil {
			return err
		}
		for _, id := range split(text) {
			if linked, ok := strings.CutPrefix(id, linkedPrefix); ok {
				f.LinkedIDs = append(f.LinkedIDs, linked)
			} else if id != noModuleID {
				f.ModuleIDs = append(f.ModuleIDs, id)
			}
		}
	}
	return nil
}

func (h *HostRefs) read(e *elf64.File) error {
	for _, l := range h.Lists() {
		s := e.Section(l.Section)
		if s == nil || s.Size == 0 {
			h.Missing = append(h.Missing, l.Section)
			continue
		}
		text, err := e.Data(s, maxRefs)
		if err != nil {
			return err
		}
		*l.Patterns = split(text)
	}
	return nil
}

// split separates strings that end in NULs. Empty ones are padding, or mark an empty list.
func split(text []byte) []string {
	return strings.FieldsFunc(string(text), func(c rune) bool { return c == 0 })
}
