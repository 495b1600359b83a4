// Package cubin reads device code: ELF files for the machine CUDA, relocatable
// ones that are to be linked and executables that are not.
package cubin

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/object/elf64"
)

// ErrNotDevice: an ELF file, but not one of device code.
var ErrNotDevice = errors.New("not a device ELF")

const (
	toolSection = ".note.nv.tkinfo"
	infoSection = ".note.nv.cuinfo"
	compat      = ".nv.compat"

	sharedSection = ".nv.shared"
	sharedDebug   = ".nv_debug.shared"

	maxNotes   = 1 << 26 // a link of many inputs has the records of them all
	maxSymbols = 1 << 30
)

// A File is device code whose header, section table and notes were read.
type File struct {
	*elf64.File
	Arch gpu.Arch
	// Toolkit is the release of CUDA that made the file, as a number: 130 for 13.0. It is 0
	// if the file does not record it.
	Toolkit int
	// Virtual is the architecture that its source, such as PTX, was for. It is 0 if the
	// file does not record it.
	Virtual int
	// Tools are the records of the tools that made the file, the last one
	// first.
	Tools []Tool
}

// Open reads the device code that is the first size bytes of r, which is kept
// for later reads.
func Open(r io.ReaderAt, size int64) (*File, error) {
	e, err := elf64.Open(r, size)
	if err != nil {
		return nil, err
	}
	if e.Machine != elf64.CUDA {
		return nil, fmt.Errorf("%w: for machine %d", ErrNotDevice, e.Machine)
	}
	f := &File{File: e}
	if err := f.readTools(); err != nil {
		return nil, err
	}
	if err := f.readInfo(); err != nil {
		return nil, err
	}
	if err := f.readArch(); err != nil {
		return nil, err
	}
	return f, nil
}

// Parse is Open for device code in memory.
func Parse(data []byte) (*File, error) { return Open(bytes.NewReader(data), int64(len(data))) }

// Relocatable reports whether the code can be linked. Linked code takes no part
// in a link.
func (f *File) Relocatable() bool { return f.Type == elf64.Relocatable }

// readArch finds the architecture. The number is in the flags of the header.
// The suffix is where the version of the ABI and the toolkit put it: in the
// flags, in an attribute, or only in the options that the tools recorded.
func (f *File) readArch() error {
	const (
		oldABI         = 7 // CUDA 12 and before
		oldAccelerated = 0x800
		accelerated    = 0x8
	)
	flag := uint32(accelerated)
	f.Arch.Number = int(f.Flags >> 8 & 0xff)
	if f.ABIVersion() <= oldABI {
		flag, f.Arch.Number = oldAccelerated, int(f.Flags&0xff)
	}
	specific, err := f.compatSpecific()
	if err != nil {
		return err
	}
	if specific || f.Flags&flag != 0 {
		f.Arch.Suffix = gpu.AcceleratedSuffix
		return nil
	}
	for _, tool := range f.Tools {
		if a, ok := tool.arch(); ok && a.SameNumber(f.Arch) && a.IsFamilySpecific() {
			f.Arch.Suffix = gpu.FamilySuffix
			return nil
		}
	}
	return nil
}

// compatSpecific reports whether .nv.compat marks the code as being for one architecture
// only. In a table that is cut off the rows up to there count.
func (f *File) compatSpecific() (bool, error) {
	s := f.Section(compat)
	if s == nil {
		return false, nil
	}
	b, err := f.Data(s, maxNotes)
	if err != nil {
		return false, err
	}
	for row, err := range Rows(b) {
		if err != nil {
			break
		}
		if row.Format != EIFMT_SVAL && CompatAttribute(row.Attribute) == EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET {
			return row.Value != 0, nil
		}
	}
	return false, nil
}

// readInfo reads the version of the toolkit from .note.nv.cuinfo: u16 version
// of the note, u16 architecture, u32 toolkit.
func (f *File) readInfo() error {
	notes, err := f.notes(infoSection)
	for _, desc := range notes {
		if len(desc) >= 8 {
			f.Virtual = int(binary.LittleEndian.Uint16(desc[2:]))
			f.Toolkit = int(binary.LittleEndian.Uint32(desc[4:]))
		}
	}
	return err
}

// Symbols reads the symbol table. A file without one has none.
func (f *File) Symbols() (*elf64.SymbolTable, error) {
	for i := range f.Sections {
		if f.Sections[i].Type == elf64.Symtab {
			return f.File.Symbols(&f.Sections[i], maxSymbols)
		}
	}
	return &elf64.SymbolTable{}, nil
}

// IsKernel reports whether a symbol is a kernel that the file defines.
func IsKernel(y elf64.Symbol) bool {
	return y.Type == elf64.Function && y.Section != elf64.Undefined && y.Other&STO_CUDA_ENTRY != 0
}

// IsVariable reports whether a symbol is a variable that the file defines. Shared memory
// and the parameters of kernels, which have symbols too, are parts of kernels.
func (f *File) IsVariable(y elf64.Symbol) bool {
	isObject := y.Type == elf64.Object || y.Type == STT_CUDA_OBJECT
	if !isObject || y.Section == elf64.Undefined || uint64(y.Section) >= uint64(len(f.Sections)) {
		return false
	}
	section := f.Sections[y.Section].Name
	_, _, ofKernel := memoryOf(section)
	return !ofKernel && section != sharedSection && section != sharedDebug
}

// Kernels returns the names of the kernels, in the order of their symbols.
func (f *File) Kernels() ([]string, error) {
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, y := range symbols.All() {
		if IsKernel(y) {
			names = append(names, y.Name)
		}
	}
	return names, nil
}
