package kit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/warpld/warpld/internal/record"
)

// A traceEvent has the fields of Chrome's trace event format that warpld writes.
type traceEvent struct {
	Name     *string        `json:"name"`
	Category string         `json:"cat"`
	Phase    string         `json:"ph"`
	Start    *int64         `json:"ts"`
	Length   *int64         `json:"dur"`
	Process  *int           `json:"pid"`
	Track    *int           `json:"tid"`
	Args     map[string]any `json:"args"`
}

// A traceCheck collects the slices of a trace and what is wrong with it.
type traceCheck struct {
	wrong  []string
	named  map[int]bool
	tracks map[int][]traceEvent
	found  map[string]int
}

func (c *traceCheck) complain(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// CheckTrace checks a trace against the format and against the record of its link, field
// by field, and returns what is wrong.
func CheckTrace(text []byte, r *record.Record) (wrong []string) {
	var trace struct {
		Unit   string       `json:"displayTimeUnit"`
		Events []traceEvent `json:"traceEvents"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&trace); err != nil {
		return []string{err.Error()}
	}
	c := &traceCheck{named: map[int]bool{}, tracks: map[int][]traceEvent{}, found: map[string]int{}}
	if trace.Unit != "ms" && trace.Unit != "ns" {
		c.complain("displayTimeUnit is %q", trace.Unit)
	}
	for i, e := range trace.Events {
		c.add(i, e)
	}
	for track, events := range c.tracks {
		checkNesting(track, events, c.complain)
	}
	for _, p := range r.Phases {
		c.expect("phase", p.Name, p.Start, p.Wall)
	}
	for _, a := range r.Actions {
		c.expect("action", a.Label, a.Start, a.Wall)
		for _, s := range a.Stages {
			c.expect("stage", s.Name, s.Start, s.Wall)
		}
	}
	return c.wrong
}

// add checks an event by itself and takes it in if it is a slice.
func (c *traceCheck) add(i int, e traceEvent) {
	switch {
	case e.Name == nil || *e.Name == "" || e.Process == nil || e.Track == nil || e.Start == nil:
		c.complain("event %d lacks a name, a time or a track", i)
		return
	case e.Phase == "M":
		if e.Args["name"] == nil || e.Length != nil || (*e.Name != "process_name" && *e.Name != "thread_name") {
			c.complain("event %d names nothing: %+v", i, e)
		}
		c.named[*e.Track] = c.named[*e.Track] || *e.Name == "thread_name"
		return
	case e.Phase != "X" || e.Length == nil || *e.Length < 0 || *e.Start < 0 || e.Category == "":
		c.complain("event %d is no slice: %+v", i, e)
		return
	case !c.named[*e.Track]:
		c.complain("event %d is on the track %d, which has no name", i, *e.Track)
	}
	c.tracks[*e.Track] = append(c.tracks[*e.Track], e)
	c.found[slot(e.Category, *e.Name, *e.Start, *e.Length)]++
}

// expect complains if there is no slice left for a part of the record.
func (c *traceCheck) expect(category, name string, start, length int64) {
	key := slot(category, name, start, length)
	if c.found[key]--; c.found[key] < 0 {
		c.complain("no slice for the %s %s at %d", category, name, start)
	}
}

func slot(category, name string, start, length int64) string {
	return fmt.Sprint(category, "/", name, "/", start, "/", length)
}

// checkNesting: of two slices on a track one is within the other, or they have no time in
// common. Slices come in the order of their starts, the outer one first.
func checkNesting(track int, events []traceEvent, complain func(string, ...any)) {
	var open []int64 // the ends of the slices that are not over
	last := int64(0)
	for _, e := range events {
		start, end := *e.Start, *e.Start+*e.Length
		if start < last {
			complain("track %d goes back in time at %s", track, *e.Name)
		}
		last = start
		open = slices.DeleteFunc(open, func(end int64) bool { return end <= start })
		for _, outer := range open {
			if end > outer {
				complain("%s on track %d ends at %d, behind the slice that it began in, which ends at %d", *e.Name, track, end,
					outer)
			}
		}
		open = append(open, end)
	}
}
