package report

import (
	"fmt"

	"github.com/warpld/warpld/internal/record"
)

// Sizes of the timeline, in units of its drawing.
const (
	lineWidth  = 1000
	lineHeight = 22
	barHeight  = 16
	lineTop    = 24 // for the scale
)

// A timeline is the drawing of phases and actions over time.
type timeline struct {
	Height int
	Ticks  []tick
	Bars   []bar
	Tracks int // of actions
}

type tick struct {
	X    float64
	Text string
}

type bar struct {
	X, Width  float64
	Y, Height int
	Class     string
	Title     string
	Label     string // only if there is room
}

// newTimeline draws a link. It returns nil if there is nothing to draw.
func newTimeline(r *record.Record) *timeline {
	whole := sane(r.Wall)
	for _, a := range r.Actions {
		whole = max(whole, sane(a.Start)+sane(a.Wall))
	}
	if whole == 0 {
		return nil
	}
	t := &timeline{}
	scale := float64(lineWidth) / float64(whole)
	add := func(row int, start, wall int64, class, title, label string) {
		b := bar{X: float64(sane(start)) * scale, Width: max(1, float64(sane(wall))*scale), Y: lineTop + row*lineHeight,
			Height: barHeight, Class: class, Title: title}
		b.X = max(0, min(b.X, lineWidth-1))
		b.Width = min(b.Width, lineWidth-b.X)
		if room := int(b.Width / 7); len(label) < room {
			b.Label = label
		}
		t.Bars = append(t.Bars, b)
	}
	for _, p := range r.Phases {
		add(0, p.Start, p.Wall, "phase", fmt.Sprintf("%s: %s", p.Name, duration(p.Wall)), p.Name)
	}
	for _, placed := range r.Tracks() {
		a := placed.Action
		t.Tracks = max(t.Tracks, placed.Track)
		title := fmt.Sprintf("%s: %s, %s", a.Label, duration(ran(a)), source(a))
		if a.Waited > 0 {
			title += ", after it had waited for " + duration(a.Waited)
		}
		add(placed.Track, sane(a.Start)+sane(a.Waited), ran(a), class(a), title, a.Label)
	}
	t.Height = lineTop + (t.Tracks+1)*lineHeight
	t.Ticks = ticks(whole, scale)
	return t
}

// ran is how long an action took without the time that it waited for others.
func ran(a *record.Action) int64 { return max(0, sane(a.Wall)-sane(a.Waited)) }

// sane bounds a time that a record claims.
func sane(us int64) int64 {
	const century = 100 * 365 * 24 * 3600 * 1_000_000
	return min(max(us, 0), century)
}

// class is what kind of bar an action has.
func class(a *record.Action) string {
	if a.Failure != "" {
		return "failed"
	}
	return place(a)
}

// place is where the result of an action was made.
func place(a *record.Action) string {
	switch {
	case a.Source == "cache":
		return "cached"
	case a.Where != "":
		return "remote"
	}
	return "ran"
}

// source returns where the result of an action is from.
func source(a *record.Action) string {
	switch class(a) {
	case "failed":
		return "failed: " + a.Failure
	case "cached":
		if a.Where != "" {
			return "from the cache of " + a.Where
		}
		return "from the cache"
	case "remote":
		return "ran on " + a.Where
	}
	return "ran here"
}

// ticks are round times, not more than ten.
func ticks(whole int64, scale float64) (list []tick) {
	step := int64(1)
	for factor := 0; whole/step > 10; factor++ {
		step = step * []int64{2, 5, 2}[factor%3] / []int64{1, 2, 1}[factor%3]
	}
	for at := int64(0); at <= whole; at += step {
		list = append(list, tick{X: float64(at) * scale, Text: duration(at)})
	}
	return list
}
