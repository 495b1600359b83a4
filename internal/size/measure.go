// Package size measures device code: what takes how many bytes of a file, by architecture,
// kind, translation unit, kernel, template and section, and what is there more than once.
package size

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/object/container"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/internal/object/fatbin"
	"github.com/warpld/warpld/internal/object/offload"
)

// The parts of a device section that are not code.
const (
	PartHeaders    = "headers"    // of fat binaries and their members
	PartPadding    = "padding"    // zeros between what is aligned
	PartSegments   = "segments"   // the table by which start-up code finds fat binaries
	PartUnreadable = "unreadable" // what follows something damaged
)

// The kinds of device code.
const (
	KindSASS  = "SASS"
	KindPTX   = "PTX"
	KindLTOIR = "LTO-IR"
	KindDebug = "debug"
	KindOther = "other"
)

// Limits on what is expanded of a file: damaged headers may claim anything.
const (
	maxPayload   = 1 << 30
	maxExpansion = 64 // of the whole file
	freeBytes    = 1 << 30
	memory       = 96 << 20 // what expanded code may take at once, but for larger pieces
)

// A File is what was measured of one file.
type File struct {
	Name    string
	Kind    container.Kind
	Machine string
	Size    int64
	Device  int64            // bytes of all sections that are about device code
	Parts   map[string]int64 // of Device, what is no code
	Pieces  []Piece
	// Sections are the names and sizes of the device sections.
	Sections []Section
	Problems []string
}

// A Section is one that is about device code.
type Section struct {
	Name string `json:"name"`
	Size int64  `json:"bytes"`
}

// A Piece is one member of a fat binary, or a cubin by itself.
type Piece struct {
	Section string
	Unit    string // translation unit
	Kind    string
	Arch    gpu.Arch
	Version string // of PTX or LTO-IR
	Ident   string
	Options string
	// Stored is what it takes in the file, without header and padding, and Expanded what it
	// is after it was expanded.
	Stored, Expanded int64
	Compression      string
	Digest           [16]byte // of what it is after it was expanded
	// Relocatable code is meant for a device link.
	Relocatable bool
	Functions   []Function
	// Needs are the functions that relocatable code calls and does not define.
	Needs []string
	// Bytes are the expanded bytes by class of section.
	Bytes map[string]int64
	// Problem is why it was not looked into.
	Problem string
}

// A Function is a kernel or a device function with a section of its own.
type Function struct {
	Name   string
	Kernel bool
	Weak   bool
	Local  bool  // no other unit can mean this one
	Code   int64 // bytes of instructions
	Data   int64 // bytes of all other sections that belong to it
	Params int64 // bytes of parameters, of a kernel
	Digest [16]byte
	// Resources is nil for a function that is no kernel.
	Resources *cubin.Resources
}

// machineNames are the hosts' processors that CUDA has.
var machineNames = map[elf64.Machine]string{elf64.X8664: "x86-64", elf64.AArch64: "aarch64", elf64.CUDA: "CUDA"}

func machineName(m elf64.Machine) string {
	if name, known := machineNames[m]; known {
		return name
	}
	return fmt.Sprintf("machine %d", m)
}

// A Meter measures files. It is safe for several goroutines.
type Meter struct{ room *semaphore.Weighted }

// NewMeter returns a Meter.
func NewMeter() *Meter { return &Meter{room: semaphore.NewWeighted(memory)} }

// Measure measures a file.
func (m *Meter) Measure(f *container.File) (*File, error) {
	out := &File{Name: f.Name(), Kind: f.Kind, Size: f.Size, Parts: map[string]int64{}}
	if f.ELF != nil {
		out.Machine = machineName(f.ELF.Machine)
	}
	var jobs []job
	for i := range f.Regions {
		jobs = append(jobs, out.region(f, &f.Regions[i])...)
	}
	out.Pieces = make([]Piece, len(jobs))
	var expanded atomic.Int64
	limit := maxExpansion*f.Size + freeBytes
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range jobs {
		out.Pieces[i] = jobs[i].piece
		group.Go(func() error {
			p, need := &out.Pieces[i], min(max(jobs[i].piece.Expanded, 1), memory)
			if expanded.Add(p.Expanded) > limit || p.Expanded > maxPayload {
				p.Problem = fmt.Sprintf("%d bytes, expanded, are more than is looked into", p.Expanded)
				return nil
			}
			if err := m.room.Acquire(context.Background(), need); err != nil {
				return err
			}
			defer m.room.Release(need)
			return p.look(jobs[i].data)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	for _, p := range out.Pieces {
		if p.Problem != "" {
			out.Problems = append(out.Problems, fmt.Sprintf("%s for %s in %s: %s", p.Kind, p.Arch, p.Unit, p.Problem))
		}
	}
	return out, nil
}

// A job is a piece to be looked into.
type job struct {
	piece Piece
	data  func() ([]byte, error)
}

// region accounts for the bytes of a region and returns the pieces in it.
func (f *File) region(in *container.File, g *container.Region) (jobs []job) {
	f.Device += g.Size
	f.Sections = append(f.Sections, Section{g.Section, g.Size})
	if g.Problem != nil {
		f.Problems = append(f.Problems, fmt.Sprintf("%s: %v", g.Section, g.Problem))
		f.Parts[PartUnreadable] += g.Size - g.Unread
	}
	switch g.Form {
	case container.Segments:
		f.Parts[PartSegments] += g.Size
	case container.Code:
		p := Piece{Unit: f.Name, Kind: KindSASS, Stored: g.Size, Expanded: g.Size}
		jobs = append(jobs, job{p, read(g, 0, g.Size)})
	case container.Offloading:
		left := g.Unread
		for i := range g.Images {
			jobs = append(jobs, f.image(g, &g.Images[i]))
			left -= g.Images[i].Size
		}
		f.Parts[PartHeaders] += left
	case container.Fatbins:
		left := g.Unread
		for i := range g.Containers {
			c := &g.Containers[i]
			left -= c.Size
			jobs = append(jobs, f.container(in, g, c, i)...)
		}
		f.Parts[PartPadding] += left
	}
	return jobs
}

// container accounts for the bytes of a fat binary.
func (f *File) container(in *container.File, g *container.Region, c *fatbin.Container, index int) (jobs []job) {
	left := c.Size
	for i := range c.Members {
		m := &c.Members[i]
		_, header := m.Header()
		stored := m.Length
		if m.Compressed() > 0 {
			stored = m.Compressed()
		}
		f.Parts[PartHeaders] += header
		f.Parts[PartPadding] += m.Length - stored
		left -= header + m.Length
		p := Piece{Section: g.Section, Unit: unitName(in, g, c, index), Kind: kindOf(m.Kind), Arch: m.Arch,
			Ident: m.Ident, Options: m.Options, Stored: stored, Expanded: m.Size(), Compression: compression(m.Flags)}
		if p.Kind != KindSASS {
			p.Version = fmt.Sprintf("%d.%d", m.Major, m.Minor)
		}
		jobs = append(jobs, job{p, func() ([]byte, error) { return m.Payload(g.R, maxPayload) }})
	}
	f.Parts[PartHeaders] += left
	return jobs
}

// image returns the piece for an image of clang's.
func (f *File) image(g *container.Region, m *offload.Image) job {
	p := Piece{Section: g.Section, Unit: f.Name, Kind: KindOther, Stored: m.Size, Expanded: m.Size}
	p.Arch, _ = gpu.Parse(m.Arch)
	switch m.Kind {
	case offload.Cubin, offload.Object:
		p.Kind = KindSASS
	case offload.PTX:
		p.Kind = KindPTX
	}
	return job{p, read(g, m.Offset, m.Size)}
}

func read(g *container.Region, offset, size int64) func() ([]byte, error) {
	return func() ([]byte, error) {
		data := make([]byte, size)
		_, err := g.R.ReadAt(data, offset)
		return data, err
	}
}

// unitName names the translation unit of a fat binary. A linked file has no names of the
// objects that it was made of, so its units have numbers, and names where nvcc recorded
// those of the sources.
func unitName(in *container.File, g *container.Region, c *fatbin.Container, index int) string {
	name := in.Name()
	if !in.Kind.Linked() && len(g.Containers) == 1 {
		return name
	}
	name = fmt.Sprintf("%s#%s%d", name, sectionMark(g.Section), index+1)
	for i := range c.Members {
		if ident := c.Members[i].Ident; ident != "" {
			return name + " (" + ident + ")"
		}
	}
	return name
}

// sectionMark distinguishes the units of the section for device links from others.
func sectionMark(section string) string {
	if section == "__nv_relfatbin" {
		return "rdc"
	}
	return ""
}

func kindOf(k fatbin.Kind) string {
	switch k {
	case fatbin.ELF:
		return KindSASS
	case fatbin.PTX:
		return KindPTX
	case fatbin.NVVM:
		return KindLTOIR
	}
	return KindOther
}

func compression(f fatbin.Flags) string {
	switch f & (fatbin.LZ4 | fatbin.Zstd) {
	case fatbin.LZ4:
		return "lz4"
	case fatbin.Zstd:
		return "zstd"
	}
	return ""
}

// look looks into a piece. What is wrong with it is a problem of the piece; only a file
// that can't be read is an error.
func (p *Piece) look(read func() ([]byte, error)) error {
	data, err := read()
	if errors.Is(err, fatbin.ErrObfuscated) {
		return nil // the usual form of LTO-IR; nothing is wrong with it
	}
	if err != nil {
		p.Problem = err.Error()
		return nil
	}
	digest := sha256.Sum256(data)
	p.Digest = [16]byte(digest[:])
	if p.Kind != KindSASS {
		return nil
	}
	if err := p.dissect(data); err != nil {
		p.Problem, p.Bytes, p.Functions = err.Error(), nil, nil
	}
	return nil
}
