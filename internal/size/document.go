package size

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/warpld/warpld/internal/gpu"
)

// Format is the version of the document.
const Format = 1

// ErrVersion: the document is of another version than this program reads.
var ErrVersion = errors.New("document of another version")

// A Document is what `warpld size` knows about some files. Rows are sorted by bytes, the
// largest first.
type Document struct {
	Format int `json:"format"`
	// Device is the sum of all device sections. The rows of Parts add up to it.
	Device int64 `json:"device_bytes"`
	// Expanded is the sum of all code after it was expanded. The rows of Kinds and, for
	// cubins, those of Sections add up to it.
	Expanded   int64         `json:"expanded_bytes"`
	Files      []FileRow     `json:"files"`
	Parts      []Part        `json:"parts"`
	Archs      []ArchRow     `json:"architectures"`
	Units      []UnitRow     `json:"units"`
	Kernels    []FunctionRow `json:"functions"`
	Templates  []TemplateRow `json:"templates"`
	Sections   []Row         `json:"sections"`
	Duplicates Duplicates    `json:"duplicates"`
	Problems   []string      `json:"problems,omitempty"`
}

// A FileRow is one file.
type FileRow struct {
	Name     string    `json:"name"`
	Kind     string    `json:"kind"`
	Machine  string    `json:"machine,omitempty"`
	Size     int64     `json:"bytes"`
	Device   int64     `json:"device_bytes"`
	Pieces   int       `json:"pieces"`
	Sections []Section `json:"device_sections,omitempty"`
}

// A Part is something that takes bytes of device sections.
type Part struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// An ArchRow is all code of one kind for one architecture.
type ArchRow struct {
	Arch     string `json:"architecture"`
	Kind     string `json:"kind"`
	Pieces   int    `json:"pieces"`
	Stored   int64  `json:"bytes"`
	Expanded int64  `json:"expanded_bytes"`
}

// A UnitRow is all code of one translation unit.
type UnitRow struct {
	Name     string `json:"name"`
	Pieces   int    `json:"pieces"`
	Kernels  int    `json:"kernels"`
	Stored   int64  `json:"bytes"`
	Expanded int64  `json:"expanded_bytes"`
}

// A FunctionRow is a kernel or device function for one architecture, in all its copies.
type FunctionRow struct {
	Name   string `json:"name"`
	Arch   string `json:"architecture"`
	Kernel bool   `json:"kernel"`
	Copies int    `json:"copies"`
	// Bodies is how many different bodies the copies have.
	Bodies int   `json:"bodies"`
	Code   int64 `json:"code_bytes"` // of all copies
	Bytes  int64 `json:"bytes"`      // with the other sections that belong to it
	// Resources are those of the first copy.
	Registers int      `json:"registers,omitempty"`
	Stack     int      `json:"stack,omitempty"`
	Spills    int      `json:"spills,omitempty"`
	Shared    uint64   `json:"shared,omitempty"`
	Units     []string `json:"units,omitempty"` // at most some
}

// A TemplateRow is all instantiations of a template, or all overloads of a function.
type TemplateRow struct {
	Name      string `json:"name"`
	Instances int    `json:"instances"` // different names
	Copies    int    `json:"copies"`    // with those for other architectures and in other units
	Bytes     int64  `json:"bytes"`
}

// A Row is a name and the bytes it takes.
type Row struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
	Bytes int64  `json:"bytes"`
}

// Duplicates is what is there more than once. All of it is expanded code.
type Duplicates struct {
	// Code is all code of functions, and Extra the part of it that is the same as another
	// function of the same name for the same architecture.
	Code  int64 `json:"code_bytes"`
	Extra int64 `json:"extra_bytes"`
	// Link is what a device link would save: it keeps one copy of every name that
	// has no internal linkage.
	Link int64 `json:"saved_by_device_link_bytes"`
	// Pieces are the bytes of whole cubins, PTX and so on that are there again.
	Pieces int64 `json:"extra_piece_bytes"`
}

// mostUnits is how many units a row names.
const mostUnits = 8

// New returns the document about some files.
func New(files []*File) *Document {
	b := &builder{parts: map[string]int64{}, archs: map[archKey]*ArchRow{}, units: map[string]*UnitRow{},
		functions: map[functionKey]*function{}, sections: map[string]*Row{}, pieces: map[[16]byte]bool{}}
	for _, f := range files {
		b.file(f)
	}
	return b.document()
}

// A builder adds up what was measured.
type builder struct {
	doc       Document
	parts     map[string]int64
	archs     map[archKey]*ArchRow
	units     map[string]*UnitRow
	functions map[functionKey]*function
	sections  map[string]*Row
	pieces    map[[16]byte]bool
}

type archKey struct {
	arch gpu.Arch
	kind string
}

type functionKey struct {
	arch gpu.Arch
	name string
}

// A function is a FunctionRow that is being added up.
type function struct {
	FunctionRow
	arch   gpu.Arch
	bodies map[[16]byte]bool
	// programs are the linked files that have it, "" for all that are not linked yet.
	programs map[string]bool
}

func (b *builder) file(f *File) {
	b.doc.Device += f.Device
	b.doc.Files = append(b.doc.Files, FileRow{Name: f.Name, Kind: f.Kind.String(), Machine: f.Machine, Size: f.Size,
		Device: f.Device, Pieces: len(f.Pieces), Sections: f.Sections})
	for part, n := range f.Parts {
		b.parts[part] += n
	}
	for _, p := range f.Problems {
		b.doc.Problems = append(b.doc.Problems, f.Name+": "+p)
	}
	program := ""
	if f.Kind.Linked() {
		program = f.Name
	}
	for i := range f.Pieces {
		b.piece(&f.Pieces[i], program)
	}
}

func (b *builder) piece(p *Piece, program string) {
	b.doc.Expanded += p.Expanded
	unit := b.units[p.Unit]
	if unit == nil {
		unit = &UnitRow{Name: p.Unit}
		b.units[p.Unit] = unit
	}
	unit.Pieces++
	unit.Stored += p.Stored
	unit.Expanded += p.Expanded
	if p.Digest != ([16]byte{}) {
		if b.pieces[p.Digest] {
			b.doc.Duplicates.Pieces += p.Expanded
		}
		b.pieces[p.Digest] = true
	}
	debug := int64(0)
	for class, n := range p.Bytes {
		row := b.sections[class]
		if row == nil {
			row = &Row{Name: class}
			b.sections[class] = row
		}
		row.Count++
		row.Bytes += n
		if isDebug(class) {
			debug += n
		}
	}
	stored := share(p.Stored, debug, p.Expanded)
	b.kind(p.Arch, p.Kind, p.Stored-stored, p.Expanded-debug)
	if debug > 0 {
		b.kind(p.Arch, KindDebug, stored, debug)
	}
	for i := range p.Functions {
		if b.function(p, &p.Functions[i], program); p.Functions[i].Kernel {
			unit.Kernels++
		}
	}
}

// share returns what some of the expanded bytes take in the file: the same part of
// compressed ones.
func share(stored, some, expanded int64) int64 {
	if stored == expanded || expanded == 0 {
		return some
	}
	return int64(float64(stored) * (float64(some) / float64(expanded)))
}

func (b *builder) kind(arch gpu.Arch, kind string, stored, expanded int64) {
	row := b.archs[archKey{arch, kind}]
	if row == nil {
		row = &ArchRow{Arch: archName(arch, kind), Kind: kind}
		b.archs[archKey{arch, kind}] = row
	}
	row.Pieces++
	row.Stored += stored
	row.Expanded += expanded
	b.parts[kind] += stored
}

// archName returns sm_80 for code, compute_80 for PTX and lto_80 for LTO-IR.
func archName(a gpu.Arch, kind string) string {
	switch kind {
	case KindPTX:
		return "compute_" + a.Digits()
	case KindLTOIR:
		return "lto_" + a.Digits()
	}
	return a.String()
}

func (b *builder) function(p *Piece, fn *Function, program string) {
	key := functionKey{p.Arch, fn.Name}
	f := b.functions[key]
	if f == nil {
		f = &function{arch: p.Arch, bodies: map[[16]byte]bool{}, programs: map[string]bool{}}
		f.Name, f.Arch, f.Kernel = fn.Name, p.Arch.String(), fn.Kernel
		if r := fn.Resources; r != nil {
			f.Registers, f.Stack, f.Spills, f.Shared = r.Registers, r.Stack, r.Spills, r.Shared
		}
		b.functions[key] = f
	}
	d := &b.doc.Duplicates
	d.Code += fn.Code
	if f.bodies[fn.Digest] {
		d.Extra += fn.Code
	}
	if f.programs[program] && !fn.Local {
		d.Link += fn.Code + fn.Data
	}
	f.bodies[fn.Digest], f.programs[program] = true, true
	f.Copies++
	f.Code += fn.Code
	f.Bytes += fn.Code + fn.Data
	if len(f.Units) < mostUnits {
		f.Units = append(f.Units, p.Unit)
	}
}

func (b *builder) document() *Document {
	d := &b.doc
	d.Format = Format
	for _, name := range slices.Sorted(maps.Keys(b.parts)) {
		if b.parts[name] > 0 {
			d.Parts = append(d.Parts, Part{name, b.parts[name]})
		}
	}
	byBytes(d.Parts, func(p *Part) (int64, string) { return p.Bytes, p.Name })
	for _, row := range b.archs {
		d.Archs = append(d.Archs, *row)
	}
	byBytes(d.Archs, func(r *ArchRow) (int64, string) { return r.Stored, r.Arch + r.Kind })
	for _, row := range b.units {
		d.Units = append(d.Units, *row)
	}
	byBytes(d.Units, func(r *UnitRow) (int64, string) { return r.Stored, r.Name })
	for _, f := range b.functions {
		f.Bodies = len(f.bodies)
		d.Kernels = append(d.Kernels, f.FunctionRow)
	}
	byBytes(d.Kernels, func(r *FunctionRow) (int64, string) { return r.Bytes, r.Name + r.Arch })
	d.Templates = templates(d.Kernels)
	for _, row := range b.sections {
		d.Sections = append(d.Sections, *row)
	}
	byBytes(d.Sections, func(r *Row) (int64, string) { return r.Bytes, r.Name })
	return d
}

// byBytes sorts rows by bytes, the largest first, and by name.
func byBytes[T any](rows []T, key func(*T) (int64, string)) {
	slices.SortFunc(rows, func(x, y T) int {
		a, nameA := key(&x)
		b, nameB := key(&y)
		return cmp.Or(cmp.Compare(b, a), cmp.Compare(nameA, nameB))
	})
}

// Write writes the document as JSON.
func (d *Document) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(d)
}

// maxDocument is the size of the largest document that is read.
const maxDocument = 1 << 30

// Read reads a document that Write wrote.
func Read(r io.Reader) (*Document, error) {
	d := &Document{}
	if err := json.NewDecoder(io.LimitReader(r, maxDocument)).Decode(d); err != nil {
		return nil, err
	}
	if d.Format != Format {
		return nil, fmt.Errorf("%w: %d", ErrVersion, d.Format)
	}
	return d, nil
}
