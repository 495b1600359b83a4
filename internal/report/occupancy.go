package report

import (
	"strconv"
	"strings"
)

// Limits are those of one multiprocessor, from the tables of the CUDA C++ Programming
// Guide ("technical specifications per compute capability").
type limits struct {
	warps, blocks, shared int // shared memory in bytes
}

const kb = 1024

var limitsOf = map[int]limits{
	75: {32, 16, 64 * kb}, 80: {64, 32, 164 * kb}, 86: {48, 16, 100 * kb}, 87: {48, 16, 164 * kb}, 89: {48, 24, 100 * kb},
	90: {64, 32, 228 * kb}, 100: {64, 32, 228 * kb}, 103: {64, 32, 228 * kb}, 110: {48, 24, 228 * kb}, 120: {48, 24, 100 * kb}, 121: {48, 24, 100 * kb},
}

const (
	registersOfPart = 16384 // a multiprocessor has four parts with registers of their own
	parts           = 4
	warpSize        = 32
	registerUnit    = 256 // registers come to a warp in these units
)

// An Occupancy is how many warps of a kernel a multiprocessor can hold at once.
type Occupancy struct {
	Warps, Most int
	// Limit names what allows no more.
	Limit string
}

// Percent is the share of the warps that there could be.
func (o Occupancy) Percent() int { return o.Warps * 100 / o.Most }

// OccupancyOf computes it for blocks of some threads, of a kernel with so many
// registers for a thread and bytes of shared memory for a block. Of targets whose limits
// are not known it says nothing.
func OccupancyOf(target string, threads, registers int, shared uint64) (Occupancy, bool) {
	number, err := strconv.Atoi(strings.TrimRight(strings.TrimPrefix(target, "sm_"), "af"))
	l, known := limitsOf[number]
	if err != nil || !known || threads <= 0 {
		return Occupancy{}, false
	}
	warps := roundUp(threads, warpSize) / warpSize
	blocks, limit := l.blocks, "blocks"
	atMost := func(n int, what string) {
		if n < blocks {
			blocks, limit = n, what
		}
	}
	atMost(l.warps/warps, "warps")
	switch {
	case registers > registersOfPart/warpSize:
		atMost(0, "registers")
	case registers > 0:
		inPart := registersOfPart / roundUp(registers*warpSize, registerUnit)
		atMost(inPart*parts/warps, "registers")
	}
	unit, reserved := 128, kb
	if number < 80 {
		unit, reserved = 256, 0
	}
	if shared > uint64(l.shared) {
		atMost(0, "shared memory")
	} else if bytes := roundUp(int(shared)+reserved, unit); bytes > 0 {
		atMost(l.shared/bytes, "shared memory")
	}
	return Occupancy{Warps: blocks * warps, Most: l.warps, Limit: limit}, true
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }
