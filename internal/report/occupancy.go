package report

import "github.com/warpld/warpld/internal/gpu"

const (
	registersOfPart = 16384 // a multiprocessor has four parts with registers of their own
	parts           = 4
	warpSize        = 32
	registerUnit    = 256 // registers come to a warp in these units
)

// An Occupancy is the number of warps of a kernel that a multiprocessor can hold at once.
type Occupancy struct {
	Warps, Most int
	// Limit names what allows no more.
	Limit string
}

// Percent is the share of the warps that there could be.
func (o Occupancy) Percent() int { return o.Warps * 100 / o.Most }

// multiprocessorOf returns the limits of a target's multiprocessor, or nil.
func multiprocessorOf(target string) *gpu.Multiprocessor {
	a, ok := gpu.Parse(target)
	if !ok {
		return nil
	}
	row, known := gpu.Find(a.Number)
	if !known {
		return nil
	}
	return row.Multiprocessor
}

// OccupancyOf returns the occupancy for blocks of some threads, of a kernel with so many
// registers for each thread and bytes of shared memory for each block. It returns false
// for targets whose limits are not known.
func OccupancyOf(target string, threads, registers int, shared uint64) (Occupancy, bool) {
	l := multiprocessorOf(target)
	if l == nil || threads <= 0 {
		return Occupancy{}, false
	}
	warps := roundUp(threads, warpSize) / warpSize
	blocks, limit := l.Blocks, "blocks"
	atMost := func(n int, what string) {
		if n < blocks {
			blocks, limit = n, what
		}
	}
	atMost(l.Warps/warps, "warps")
	switch {
	case registers > registersOfPart/warpSize:
		atMost(0, "registers")
	case registers > 0:
		inPart := registersOfPart / roundUp(registers*warpSize, registerUnit)
		atMost(inPart*parts/warps, "registers")
	}
	if shared > uint64(l.Shared) {
		atMost(0, "shared memory")
	} else if bytes := roundUp(int(shared)+l.SharedPerBlock, l.SharedUnit); bytes > 0 {
		atMost(l.Shared/bytes, "shared memory")
	}
	return Occupancy{Warps: blocks * warps, Most: l.Warps, Limit: limit}, true
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }
