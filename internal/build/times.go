package build

import (
	"slices"
	"time"

	"github.com/warpld/warpld/internal/object"
)

// A Time is one row of -time: how long a tool ran for a part of the link.
type Time struct {
	// Place orders the rows: the index of the native code, or the number of such code
	// for the optimized part.
	Place                   int
	Phase, From, Inputs, To string
	Wall                    time.Duration
}

// tookLTO adds to the row of a phase of the optimized part.
func (b *build) tookLTO(phase, from, to string, wall time.Duration) {
	b.took(Time{Place: len(b.in.Plan.Native), Phase: phase, From: from, To: to, Wall: wall})
}

func (b *build) tookNVVM(wall time.Duration) { b.tookLTO("cicc", "lto.nvvm", "lto.ptx", wall) }
func (b *build) tookLLVM(wall time.Duration) { b.tookLTO("llvm", "llvm.bc", "llvm.ptx", wall) }

// tookAssembly adds to the row of a run of ptxas. Native code that ptxas refuses has no
// row.
func (b *build) tookAssembly(a *Assembly, wall time.Duration) {
	if a.Piece == nil {
		b.tookLTO("ptxas", "lto.ptx", "lto.cubin", wall)
		return
	}
	if a.failed {
		return
	}
	origin := a.Piece.Object.Origin.String()
	row := Time{Place: a.place, Phase: "ptxas", From: "ptx", Inputs: origin, To: "cubin", Wall: wall}
	if a.Piece.Object.Kind == object.PTXFile {
		row.From, row.To = origin, ""
	}
	b.took(row)
}

// took adds to a row; all runs of a tool for the optimized part share one.
func (b *build) took(row Time) {
	times := b.result.Times
	at := slices.IndexFunc(times, func(t Time) bool { return t.Place == row.Place && t.Phase == row.Phase })
	if at < 0 {
		b.result.Times = append(times, row)
		return
	}
	times[at].Wall += row.Wall
}
