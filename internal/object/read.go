package object

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/ar"
	"github.com/warpld/warpld/internal/object/bitcode"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/internal/object/fatbin"
	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/internal/object/ltoir"
)

// smallest is the size of the smallest file that nvlink opens, but for empty
// ones, which it ignores, and archives.
const smallest = 56

// smallFile is the size up to which reading a file as a whole takes less time than reading the
// needed parts.
const smallFile = 1 << 15

var smallFiles = sync.Pool{New: func() any { return new([smallFile]byte) }}

// An input is a file, or an archive member, that is being read.
type input struct {
	origin message.Origin
	source Source
	r      io.ReaderAt // the bytes of source, counted from its start
	head   []byte      // the first ones
}

func (in *input) readHead() error {
	in.head = make([]byte, min(in.source.Size, elf64.HeaderSize))
	_, err := io.ReadFull(io.NewSectionReader(in.r, 0, int64(len(in.head))), in.head)
	return err
}

// A reader collects the objects of one file.
type reader struct {
	lto      bool
	release  gpu.Release
	folder   string // the working folder
	objects  []*Object
	messages []*message.Message
	archive  os.FileInfo // of the file, if it is an archive
}

func (rd *reader) add(in *input, kind Kind) *Object {
	o := &Object{Origin: in.origin, Kind: kind, Source: in.source}
	rd.objects = append(rd.objects, o)
	return o
}

func (rd *reader) ignore(in *input, kind Kind, why string) *Object {
	o := rd.add(in, kind)
	o.Ignored = why
	return o
}

// expect is ignore for inputs that nobody expects to be linked.
func (rd *reader) expect(in *input, kind Kind, why string) *Object {
	o := rd.ignore(in, kind, why)
	o.Expected = true
	return o
}

// file reads a file that is named on the command line. Its extension decides what it is; its
// contents do only if the extension is unknown.
func (rd *reader) file(path string) error {
	in := &input{origin: message.Origin{File: path}}
	f, source, err := openFile(path)
	if err != nil {
		return couldNotOpen(in.origin, err)
	}
	defer f.Close()
	in.source, in.r = source, f
	if source.Size <= smallFile {
		buffer := smallFiles.Get().(*[smallFile]byte)
		defer smallFiles.Put(buffer)
		data := buffer[:source.Size]
		if _, err := io.ReadFull(f, data); err != nil {
			return couldNotOpen(in.origin, err)
		}
		in.r = bytes.NewReader(data)
	}
	if err := in.readHead(); err != nil {
		return couldNotOpen(in.origin, err)
	}
	switch {
	case source.Size == 0:
		rd.ignore(in, Unknown, "it is empty")
		return nil
	case source.Size < smallest && !ar.IsArchive(in.head):
		return couldNotOpen(in.origin, fmt.Errorf("it has only %d bytes", source.Size))
	}
	return rd.byExtension(in, f)
}

func (rd *reader) byExtension(in *input, f *os.File) error {
	_, base := filepath.Split(in.origin.File)
	dot := strings.LastIndexByte(base, '.')
	if dot < 0 {
		rd.ignore(in, Unknown, "its name has no extension that says what it is")
		return nil
	}
	switch extension := base[dot:]; extension {
	case ".so":
		rd.expect(in, Unknown, "it is a shared library by its name, from which no device code is linked")
	case ".ptx":
		return rd.ptx(in)
	case ".bc":
		return rd.bitcodeFile(in)
	case ".ltoir", ".nvvm":
		return rd.ltoir(in)
	case ".fatbin":
		return rd.fatbin(in)
	case ".cubin":
		return rd.cubin(in)
	default:
		if ar.IsArchive(in.head) {
			return rd.readArchive(in, f)
		}
		return rd.object(in, extension == ".o")
	}
	return nil
}

// isDevice reports whether the header of an ELF file is one of device code, however damaged
// the file is otherwise.
func (in *input) isDevice() bool {
	return elf64.IsELF(in.head) && len(in.head) >= 20 &&
		elf64.Machine(binary.LittleEndian.Uint16(in.head[18:])) == elf64.CUDA
}

// object reads a host object, or device code where it may be called as one.
func (rd *reader) object(in *input, device bool) error {
	const class32 = 1
	switch {
	case in.isDevice() && device:
		return rd.cubin(in)
	case in.isDevice():
		rd.ignore(in, Cubin, "it is device code, but not called .cubin or .o")
	case elf64.IsELF(in.head) && in.head[4] == class32:
		rd.ignore(in, Unknown, "it is a 32-bit object")
	case elf64.IsELF(in.head):
		return rd.host(in)
	case fatbin.IsContainer(in.head):
		rd.ignore(in, Fatbin, "it is a fat binary, but not called .fatbin")
	case ltoir.IsContainer(in.head):
		rd.ignore(in, LTOIR, "it is LTO-IR, but not called .ltoir")
	case bitcode.IsBitcode(in.head) && rd.lto:
		return rd.bitcodeObject(in)
	case in.origin.Member == "lib.rmeta":
		rd.expect(in, Unknown, "it is what rustc tells itself about a library")
	default:
		rd.ignore(in, Unknown, "it is neither an object nor an archive")
	}
	return nil
}

func (rd *reader) ltoir(in *input) error {
	if !rd.lto {
		return needsLTO(in.origin)
	}
	h, err := ltoir.Read(in.r, in.source.Size)
	if err != nil {
		return wrongNVVM(in.origin, err)
	}
	rd.add(in, LTOIR).Modules = []Module{{
		Kind:   NVVM,
		Arch:   h.Arch,
		Major:  h.Container.Major,
		Minor:  h.Container.Minor,
		Size:   in.source.Size,
		origin: in.origin,
		source: in.source,
	}}
	return nil
}

// cubin reads device code. nvlink ignores what it cannot read, if the header is one of device
// code.
func (rd *reader) cubin(in *input) error {
	if !elf64.IsELF(in.head) {
		return notElf(in.origin)
	}
	if !in.isDevice() {
		return notDeviceElf(in.origin)
	}
	f, err := cubin.Open(in.r, in.source.Size)
	switch {
	case err != nil:
		rd.ignore(in, Cubin, "it is damaged: "+err.Error()).Damaged = true
		return nil
	case !f.Relocatable():
		rd.ignore(in, Cubin, "its device code is linked already; compile it with -rdc=true or -dc")
		return nil
	}
	o := rd.add(in, Cubin)
	o.RegisterID = rd.registerID(in.origin)
	o.Modules = []Module{{
		Kind:   ELF,
		Arch:   f.Arch,
		Size:   in.source.Size,
		origin: in.origin,
		source: in.source,
	}}
	return nil
}

func (rd *reader) fatbin(in *input) error {
	if !fatbin.IsContainer(in.head) {
		return wrongFatbin(in.origin, nil)
	}
	containers, err := fatbin.Read(in.r, in.source.Size)
	if err != nil {
		return wrongFatbin(in.origin, err)
	}
	for i := range containers {
		o := rd.add(in, Fatbin)
		o.RegisterID = rd.registerID(in.origin)
		o.fill(in.source, &containers[i])
	}
	if len(containers) > 1 {
		rd.messages = append(rd.messages, severalFatbins(in.origin, len(containers)))
	}
	return nil
}

// fill sets the modules of an object to those of a container in source.
func (o *Object) fill(source Source, c *fatbin.Container) {
	o.Fatbin = source.part(c.Offset, c.Size)
	o.Modules = modules(o.Origin, source, c)
}

func (rd *reader) host(in *input) error {
	h, err := hostelf.Read(in.r, in.source.Size)
	if err != nil {
		return rd.damaged(in, err)
	}
	switch {
	case h.Type != elf64.Relocatable:
		rd.expect(in, Unknown, "it is a linked program or library")
		return nil
	case len(h.Relocatable) == 0 && len(h.Offloading) > 0 && rd.lto:
		return rd.offloading(in, h)
	case len(h.Relocatable) == 0:
		why := "it holds no device code"
		if len(h.Linked) > 0 {
			why = "its device code needs no link; to link it, compile it with -rdc=true or -dc"
		}
		o := rd.expect(in, HostObject, why)
		o.LinkedIDs = h.LinkedIDs
		o.setRefs(h)
		return nil
	}
	var parts []*Object
	for _, span := range h.Relocatable {
		source := in.source.part(span.Offset, span.Size)
		containers, err := fatbin.Read(io.NewSectionReader(in.r, span.Offset, span.Size), span.Size)
		if err != nil {
			return rd.damaged(in, err)
		}
		for i := range containers {
			o := &Object{Origin: in.origin, Kind: HostObject, Source: in.source}
			o.fill(source, &containers[i])
			parts = append(parts, o)
		}
	}
	if len(parts) == 0 {
		return rd.damaged(in, errors.New("the section for fat binaries is empty"))
	}
	rd.addParts(in, h, parts)
	return nil
}

// addParts adds the objects that a host object consists of: more than one only
// if "ld -r" made it of them. What host code refers to is then known for all of
// them together.
func (rd *reader) addParts(in *input, h *hostelf.File, parts []*Object) {
	if len(parts) > 1 {
		rd.messages = append(rd.messages, severalFatbins(in.origin, len(parts)))
	}
	for i, o := range parts {
		o.RegisterID = rd.registerID(in.origin)
		if i < len(h.ModuleIDs) {
			o.RegisterID = h.ModuleIDs[i]
		}
		o.setRefs(h)
	}
	parts[0].LinkedIDs = h.LinkedIDs
	rd.objects = append(rd.objects, parts...)
}

// setRefs sets what the host code refers to, if the object records it.
func (o *Object) setRefs(h *hostelf.File) {
	if h.Refs.Known() {
		o.HostRefs = &h.Refs
	}
}

// damaged reports a host object that cannot be read. nvlink goes on without it
// if it is in an archive.
func (rd *reader) damaged(in *input, err error) error {
	if in.origin.Member == "" {
		return noFatbin(in.origin, err)
	}
	rd.ignore(in, Unknown, "it is damaged: "+err.Error())
	return nil
}

// registerID names an input that has no name of its own in the registration
// file: its path, with "_" for what cannot be in a C identifier.
func (rd *reader) registerID(o message.Origin) string {
	path := o.String()
	if !filepath.IsAbs(path) {
		path = rd.folder + "/" + path
	}
	id := []byte(path)
	for i, c := range id {
		if !(('0' <= c && c <= '9') || ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z')) {
			id[i] = '_'
		}
	}
	return string(id)
}
