// Package object reads the inputs of a link, in all file formats, and returns what they hold.
// It recognises them as nvlink does.
//
// Reading an input reads only what is needed to plan a link: headers, names, small sections.
// The device code itself stays in the file until it is asked for, and no file is kept open in
// between.
package object

import (
	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/bitcode"
	"github.com/warpld/warpld/internal/object/fatbin"
	"github.com/warpld/warpld/internal/object/hostelf"
)

// Types of the formats that Objects are made of.
type (
	HostRefs   = hostelf.HostRefs
	ModuleKind = fatbin.Kind
)

// The kinds of modules. A fat binary may hold others, which no link uses.
const (
	PTX  = fatbin.PTX
	ELF  = fatbin.ELF
	NVVM = fatbin.NVVM
	// LLVM is bitcode of stock LLVM, which no fat binary holds.
	LLVM ModuleKind = 1 << 15
)

// ErrObfuscated is the error of Module.Data for code that only NVIDIA's own
// tools can read. Source and Fatbin of the Object can be handed to them.
var ErrObfuscated = fatbin.ErrObfuscated

// A Kind is the sort of input that an Object is.
type Kind uint8

const (
	Unknown    Kind = iota
	HostObject      // an object file of the host, in which there may be device code
	Fatbin          // a fat binary by itself
	Cubin           // device code by itself
	LTOIR           // an NVVM container by itself
	PTXFile         // PTX text by itself
	Bitcode         // LLVM bitcode by itself
)

var kindNames = [...]string{"unknown", "host object", "fat binary", "cubin", "LTO-IR", "PTX", "bitcode"}

func (k Kind) String() string { return kindNames[k] }

// An Object is one input, or one archive member, after reading. A file that "ld -r" made of
// several objects is read as one Object for each of them.
type Object struct {
	Origin message.Origin
	Kind   Kind
	// Modules are pieces of device code for the same program, for different architectures and
	// in different forms. A link uses the one that Choose returns.
	Modules []Module
	// HostRefs is nil if the object does not record what host code refers to, which is not the
	// same as empty lists.
	HostRefs *HostRefs
	// RegisterID names the object in the registration file. It is empty for an object that is
	// not named there.
	RegisterID string
	// LinkedIDs are the RegisterIDs of objects whose device code an earlier device link has
	// linked into this one. An nvlink that writes a registration file omits those objects,
	// unless they are linked as LTO-IR. Objects that are otherwise ignored have them, too.
	LinkedIDs []string
	// Source is the whole input, Fatbin the fat binary in it, if it has one.
	Source Source
	Fatbin Source
	// Ignored is why the object is not linked, or empty if it is. Expected means that this is
	// normal: it is host code. Damaged means that it is device code which cannot be read.
	Ignored  string
	Expected bool
	Damaged  bool
}

// A Module is one piece of device code.
type Module struct {
	Kind    ModuleKind
	Arch    gpu.Arch
	Options string // what it was compiled with, as the compiler recorded it
	Ident   string // name of the source, if the compiler recorded it
	Major   int    // version of the format of the code: PTX 9.0, LTO-IR 1.65
	Minor   int
	// Obfuscated code cannot be read by Data.
	Obfuscated bool
	// Is32Bit code cannot be linked with -m64.
	Is32Bit bool
	// Size is that of the code; where it is stored in a fat binary, with up to
	// 7 bytes of padding.
	Size int64
	// Bitcode describes the modules of a file of bitcode: one, or two if clang has
	// split it.
	Bitcode []bitcode.Module

	origin message.Origin
	source Source         // what the code is in
	member *fatbin.Member // which part of the source, or nil for the whole
	image  bool           // the source is an image in clang's container
}

// Data reads the code. It opens the file again for that.
func (m *Module) Data() ([]byte, error) {
	f, err := m.source.Open()
	if err != nil {
		return nil, couldNotOpen(m.origin, err)
	}
	defer f.Close()
	if m.member == nil {
		all := f.all
		if m.Kind == ELF {
			all = f.mapped
		}
		data, err := all()
		if err != nil {
			return nil, couldNotOpen(m.origin, err)
		}
		return data, nil
	}
	data, err := m.member.Payload(f, fatbin.MaxPayload)
	if err != nil {
		return nil, couldNotExpand(m.origin, err)
	}
	return data, nil
}

// Container returns the code for tools that can read it in every form: as a fat binary that
// holds nothing else, or unchanged if it was an input by itself.
func (m *Module) Container() ([]byte, error) {
	if m.member == nil {
		data, err := m.Data()
		if err == nil && m.image {
			data = fatbin.Stored(data, m.Arch)
		}
		return data, err
	}
	f, err := m.source.Open()
	if err != nil {
		return nil, couldNotOpen(m.origin, err)
	}
	defer f.Close()
	data, err := m.member.Extract(f)
	if err != nil {
		return nil, couldNotOpen(m.origin, err)
	}
	return data, nil
}

// String names the code for people: "LTO-IR for sm_80".
func (m *Module) String() string { return m.Form() + " for " + m.Arch.String() }

// Form names the kind of code for people. Bitcode is no kind that fat binaries have.
func (m *Module) Form() string {
	if m.Kind == LLVM {
		return "bitcode"
	}
	return m.Kind.String()
}

// modules returns the Modules of a fat binary's members.
func modules(o message.Origin, source Source, c *fatbin.Container) []Module {
	ms := make([]Module, len(c.Members))
	for i := range c.Members {
		member := &c.Members[i]
		ms[i] = Module{
			Kind:       member.Kind,
			Arch:       member.Arch,
			Options:    member.Options,
			Ident:      member.Ident,
			Major:      member.Major,
			Minor:      member.Minor,
			Obfuscated: member.Flags&fatbin.Obfuscated != 0,
			Is32Bit:    member.Flags&fatbin.Is64Bit == 0,
			Size:       member.Size(),
			origin:     o,
			source:     source,
			member:     member,
		}
		if ms[i].Kind == LLVM {
			ms[i].Kind = 0 // a damaged fat binary claims it
		}
	}
	return ms
}
