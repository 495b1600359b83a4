package object

import (
	"io"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/object/bitcode"
	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/internal/object/offload"
)

// bitcodeFile reads a file that is called .bc. nvlink refuses all of them; with
// -dlto those that are bitcode for a GPU are linked.
func (rd *reader) bitcodeFile(in *input) error {
	if !rd.lto || !bitcode.IsBitcode(in.head) {
		return unexpectedBitcode(in.origin)
	}
	module, err := readBitcode(in)
	switch {
	case err != nil:
		return wrongBitcode(in.origin, err)
	case !forGPU(module.Bitcode[0].Triple):
		return foreignBitcode(in.origin, module.Bitcode[0].Triple)
	}
	rd.add(in, Bitcode).Modules = []Module{*module}
	return nil
}

// bitcodeObject reads bitcode that stands in the place of an object. A build that
// optimizes its host code at link time has such objects too, and an archive may
// hold anything.
func (rd *reader) bitcodeObject(in *input) error {
	module, err := readBitcode(in)
	switch {
	case err != nil && in.origin.Member == "":
		return wrongBitcode(in.origin, err)
	case err != nil:
		rd.ignore(in, Bitcode, "it is damaged: "+err.Error())
	case !forGPU(module.Bitcode[0].Triple):
		rd.expect(in, Bitcode, "it is bitcode for "+module.Bitcode[0].Triple)
	default:
		rd.add(in, Bitcode).Modules = []Module{*module}
	}
	return nil
}

func forGPU(triple string) bool { return strings.HasPrefix(triple, "nvptx64-") }

// readBitcode reads an input that is bitcode as a whole. Only its functions record the
// architecture.
func readBitcode(in *input) (*Module, error) {
	open := OpenSource{SectionReader: io.NewSectionReader(in.r, 0, in.source.Size)}
	data, err := open.all()
	if err != nil {
		return nil, err
	}
	f, err := bitcode.Read(data)
	if err != nil {
		return nil, err
	}
	m := &Module{Kind: LLVM, Bitcode: f.Modules, Size: in.source.Size, origin: in.origin, source: in.source}
	for i := range f.Modules {
		for _, cpu := range f.Modules[i].CPUs {
			if a, ok := gpu.Parse(cpu); ok && gpu.Compare(a, m.Arch) > 0 {
				m.Arch = a
			}
		}
	}
	return m, nil
}

// offloading reads the containers of an object of clang's. "ld -r" may have joined
// objects; the next one begins where an architecture comes again.
func (rd *reader) offloading(in *input, h *hostelf.File) error {
	var parts []*Object
	for _, span := range h.Offloading {
		images, err := offload.Read(io.NewSectionReader(in.r, span.Offset, span.Size), span.Size)
		if err != nil {
			return rd.damagedBitcode(in, err)
		}
		seen := map[string]bool{}
		for _, image := range images {
			if !forGPU(image.Triple) {
				continue
			}
			m, err := imageModule(in, span, image)
			if err != nil {
				return rd.damagedBitcode(in, err)
			}
			if len(seen) == 0 || seen[image.Arch] {
				parts = append(parts, &Object{Origin: in.origin, Kind: HostObject, Source: in.source})
				clear(seen)
			}
			seen[image.Arch] = true
			last := parts[len(parts)-1]
			last.Modules = append(last.Modules, *m)
		}
	}
	if len(parts) == 0 {
		rd.expect(in, HostObject, "its device code is not for a GPU of NVIDIA's")
		return nil
	}
	for _, o := range parts {
		o.setRefs(h)
	}
	rd.objects = append(rd.objects, parts...)
	return nil
}

// imageModule returns the Module of an image. What is neither bitcode, code nor PTX has no
// kind, so that no link chooses it.
func imageModule(in *input, span hostelf.Span, image offload.Image) (*Module, error) {
	part := &input{
		origin: in.origin,
		source: in.source.part(span.Offset+image.Offset, image.Size),
		r:      io.NewSectionReader(in.r, span.Offset+image.Offset, image.Size),
	}
	m := &Module{Size: image.Size, origin: in.origin, source: part.source, image: true}
	switch image.Kind {
	case offload.Bitcode:
		var err error
		if m, err = readBitcode(part); err != nil {
			return nil, err
		}
	case offload.Cubin, offload.Object:
		m.Kind = ELF
	case offload.PTX:
		m.Kind = PTX
	}
	if a, ok := gpu.Parse(image.Arch); ok {
		m.Arch = a
	}
	return m, nil
}

// damagedBitcode is damaged for clang's objects.
func (rd *reader) damagedBitcode(in *input, err error) error {
	if in.origin.Member == "" {
		return wrongBitcode(in.origin, err)
	}
	rd.ignore(in, HostObject, "it is damaged: "+err.Error())
	return nil
}

// HasBitcode reports whether the object has code for LLVM.
func (o *Object) HasBitcode() bool {
	return slices.ContainsFunc(o.Modules, func(m Module) bool { return m.Kind == LLVM })
}

// BitcodeFiles reads the code and returns each of its modules as a file of its own.
func (m *Module) BitcodeFiles() ([][]byte, error) {
	data, err := m.Data()
	if err != nil {
		return nil, err
	}
	f, err := bitcode.Read(data)
	if err != nil {
		return nil, wrongBitcode(m.origin, err)
	}
	var files [][]byte
	for i := range f.Modules {
		files = append(files, f.Extract(i))
	}
	return files, nil
}
