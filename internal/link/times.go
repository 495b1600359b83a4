package link

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/warpld/warpld/internal/object"
)

const timeHeader = "source file name , phase name , phase input files , phase output file , arch , tool, metric , unit\n"

// A phaseTime is one row of -time.
type phaseTime struct {
	// place orders the rows: that of the native code in the link, or behind all of
	// it for the optimized part.
	place                   int
	phase, from, inputs, to string
	wall                    time.Duration
}

// timeOfLTO is the row of a phase of the optimized part.
func (l *linker) timeOfLTO(phase, from, to string) phaseTime {
	return phaseTime{place: len(l.plan.Native), phase: phase, from: from, to: to}
}

// took adds to a row; all runs of a tool for the optimized part share one.
func (l *linker) took(row phaseTime, wall time.Duration) {
	at := slices.IndexFunc(l.times, func(t phaseTime) bool { return t.place == row.place && t.phase == row.phase })
	if at < 0 {
		at = len(l.times)
		l.times = append(l.times, row)
	}
	l.times[at].wall += wall
}

// tookAssembly is took for a run of ptxas. Native code that it refuses has no row.
func (b *build) tookAssembly(a *assembly, wall time.Duration, ok bool) {
	if a.piece == nil {
		b.took(b.timeOfLTO("ptxas", "lto.ptx", "lto.cubin"), wall)
		return
	}
	if !ok {
		return
	}
	origin := a.piece.Object.Origin.String()
	row := phaseTime{place: a.place, phase: "ptxas", from: "ptx", inputs: origin, to: "cubin"}
	if a.piece.Object.Kind == object.PTXFile {
		row.from, row.to = origin, ""
	}
	b.took(row, wall)
}

// writeTimes appends to the table of -time, which begins with its header.
func (l *linker) writeTimes() error {
	path := l.options.TimeFile
	if path == "" {
		return nil
	}
	slices.SortStableFunc(l.times, func(a, b phaseTime) int { return cmp.Compare(a.place, b.place) })
	var rows strings.Builder
	for _, t := range l.times {
		fmt.Fprintf(&rows, "%s , %s , %s , %s , %s , nvlink , %.4f , ms\n", t.from, t.phase, t.inputs, t.to, l.options.Arch, float64(t.wall.Microseconds())/1000)
	}
	if path == "-" {
		_, err := io.WriteString(l.Stdout, timeHeader+rows.String())
		return err
	}
	header := timeHeader
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		header = ""
	}
	return cannotWrite("Cannot open file", path, writeTo(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, strings.NewReader(header+rows.String())))
}
