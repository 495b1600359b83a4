// Package gate compares the resources of kernels with a baseline, so that a build fails
// when a kernel needs more registers, spills or disappears.
package gate

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/pattern"
	"github.com/warpld/warpld/internal/record"
	"github.com/warpld/warpld/internal/report"
	"github.com/warpld/warpld/internal/size"
)

// Format is the version of baselines.
const Format = 1

// ErrFormat: the file is no baseline that this program reads.
var ErrFormat = errors.New("not a baseline")

// A Baseline is the resources that kernels had, and how much more they may have.
type Baseline struct {
	Format int `json:"format"`
	// Blocks are the numbers of threads for which occupancy is recorded.
	Blocks []int `json:"block_sizes"`
	// Tolerances are by name of a resource; those that are missing are 0. The one of "code"
	// is in percent, the others are in the units of the resource.
	Tolerances map[string]int `json:"tolerances"`
	Kernels    []Kernel       `json:"kernels"`
}

// A Kernel is one kernel for one architecture. If several units have it, each number is
// the largest.
type Kernel struct {
	Name      string `json:"kernel"`
	Arch      string `json:"architecture"`
	Registers int    `json:"registers"`
	Spills    int    `json:"spills"`
	Stack     int    `json:"stack"`
	Shared    int    `json:"shared"`
	Constant  int    `json:"constant"`
	Code      int    `json:"code"`
	// Occupancy is in percent, by threads of a block.
	Occupancy map[string]int `json:"occupancy,omitempty"`
}

// The resources, in the order in which they are compared.
const (
	Registers = "registers"
	Spills    = "spills"
	Stack     = "stack"
	Shared    = "shared"
	Constant  = "constant"
	Code      = "code"
	Occupancy = "occupancy"
)

// Resources are the names that tolerances may have.
var Resources = []string{Registers, Spills, Stack, Shared, Constant, Code, Occupancy}

// New returns an empty baseline: blocks of 256 threads, no tolerances but 5 % of code.
func New() *Baseline {
	return &Baseline{Format: Format, Blocks: []int{256}, Tolerances: map[string]int{Code: 5}}
}

// FromFiles sets the kernels to those of files that were measured.
func (b *Baseline) FromFiles(files []*size.File) {
	all := kernels{}
	for _, f := range files {
		for i := range f.Pieces {
			for _, fn := range f.Pieces[i].Functions {
				r := fn.Resources
				if r == nil {
					continue
				}
				k := Kernel{Name: fn.Name, Arch: f.Pieces[i].Arch.String(), Registers: r.Registers, Spills: r.Spills,
					Stack: r.Stack, Shared: int(min(r.Shared, maxNumber)), Code: int(min(r.Code, maxNumber))}
				for _, bank := range r.Constant {
					k.Constant += int(min(bank.Bytes, maxNumber))
				}
				all.add(k)
			}
		}
	}
	b.Kernels = all.list(b.Blocks)
}

// FromRecord sets the kernels to those of a link.
func (b *Baseline) FromRecord(r *record.Record) {
	all := kernels{}
	for _, k := range r.Kernels {
		row := Kernel{Name: k.Name, Arch: r.Target, Registers: k.Registers, Spills: k.Spills, Stack: k.Stack,
			Shared: int(min(k.Shared, maxNumber)), Code: int(min(k.Code, maxNumber))}
		for _, bytes := range k.Constant {
			row.Constant += int(min(bytes, maxNumber))
		}
		all.add(row)
	}
	b.Kernels = all.list(b.Blocks)
}

// maxNumber is larger than any resource: damaged files may claim more.
const maxNumber = 1 << 40

type key struct{ name, arch string }

// kernels are the kernels by name and architecture.
type kernels map[key]*Kernel

// add adds a kernel. Where there is one already, the larger numbers count.
func (ks kernels) add(k Kernel) {
	k.Name = stableName(k.Name)
	have := ks[key{k.Name, k.Arch}]
	if have == nil {
		ks[key{k.Name, k.Arch}] = &k
		return
	}
	for _, resource := range Resources[:len(Resources)-1] {
		*have.field(resource) = max(*have.field(resource), *k.field(resource))
	}
}

// list returns the kernels in the order of their names and architectures, with their
// occupancy.
func (ks kernels) list(blocks []int) (list []Kernel) {
	for _, k := range ks {
		for _, threads := range blocks {
			if o, known := report.OccupancyOf(k.Arch, threads, k.Registers, uint64(k.Shared)); known {
				if k.Occupancy == nil {
					k.Occupancy = map[string]int{}
				}
				k.Occupancy[strconv.Itoa(threads)] = o.Percent()
			}
		}
		list = append(list, *k)
	}
	slices.SortFunc(list, compareKernels)
	return list
}

func compareKernels(a, b Kernel) int {
	x, _ := gpu.Parse(a.Arch)
	y, _ := gpu.Parse(b.Arch)
	return cmp.Or(cmp.Compare(a.Name, b.Name), gpu.Compare(x, y))
}

// field returns the number of a resource, but for occupancy.
func (k *Kernel) field(resource string) *int {
	switch resource {
	case Registers:
		return &k.Registers
	case Spills:
		return &k.Spills
	case Stack:
		return &k.Stack
	case Shared:
		return &k.Shared
	case Constant:
		return &k.Constant
	}
	return &k.Code
}

// nvcc names the anonymous namespace of a unit after it: a number that depends on the
// folder, the length and the name of the file, and another number or the unit's first
// symbol, as in _GLOBAL__N__bdbc3347_4_a_cu_d58cf05e.
var (
	folderNumber = pattern.Lazy(`_[0-9a-f]{8}_(\d+_)`)
	unitNumber   = pattern.Lazy(`_cu_[0-9a-f]{8}`)
)

// stableName returns a name without what depends on the folder of the build. It is as long
// as before, so that it can be demangled.
func stableName(name string) string {
	name = folderNumber().ReplaceAllString(name, "_00000000_${1}")
	return unitNumber().ReplaceAllString(name, "_cu_00000000")
}

// Write writes the baseline. Each kernel has a line, so that changes can be reviewed.
func (b *Baseline) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	blocks, err := json.Marshal(b.Blocks)
	if err != nil {
		return err
	}
	tolerances, err := json.Marshal(b.Tolerances)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "{\n \"format\": %d,\n \"block_sizes\": %s,\n \"tolerances\": %s,\n \"kernels\": [", b.Format, blocks,
		tolerances)
	for i := range b.Kernels {
		line, err := json.Marshal(&b.Kernels[i])
		if err != nil {
			return err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n  ")
		out.Write(line)
	}
	out.WriteString("\n ]\n}\n")
	return out.Flush()
}

// firstKernelLine is the line of the first kernel in a baseline as Write writes it.
const firstKernelLine = 6

// maxTolerance is the largest tolerance.
const maxTolerance = 1 << 20

// maxBaseline is the size of the largest baseline that is read.
const maxBaseline = 1 << 28

// Read reads a baseline.
func Read(r io.Reader) (*Baseline, error) {
	b := &Baseline{}
	if err := json.NewDecoder(io.LimitReader(r, maxBaseline)).Decode(b); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if b.Format != Format {
		return nil, fmt.Errorf("%w: format %d", ErrFormat, b.Format)
	}
	for _, name := range slices.Sorted(maps.Keys(b.Tolerances)) {
		if n := b.Tolerances[name]; !slices.Contains(Resources, name) || n < 0 || n > maxTolerance {
			return nil, fmt.Errorf("%w: tolerance %d of %q", ErrFormat, n, name)
		}
	}
	seen := map[key]bool{}
	for _, k := range b.Kernels {
		if seen[key{k.Name, k.Arch}] {
			return nil, fmt.Errorf("%w: %s for %s is there twice", ErrFormat, k.Name, k.Arch)
		}
		seen[key{k.Name, k.Arch}] = true
	}
	return b, nil
}
