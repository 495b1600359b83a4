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

// CheckTrace holds a trace against the format and against the record of its link, field
// by field, and gives what is wrong.
func CheckTrace(text []byte, r *record.Record) (wrong []string) {
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	var trace struct {
		Unit   string       `json:"displayTimeUnit"`
		Events []traceEvent `json:"traceEvents"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&trace); err != nil {
		return []string{err.Error()}
	}
	if trace.Unit != "ms" && trace.Unit != "ns" {
		complain("displayTimeUnit is %q", trace.Unit)
	}
	named, tracks := map[int]bool{}, map[int][]traceEvent{}
	found := map[string]int{}
	for i, e := range trace.Events {
		switch {
		case e.Name == nil || *e.Name == "" || e.Process == nil || e.Track == nil || e.Start == nil:
			complain("event %d lacks a name, a time or a track", i)
			continue
		case e.Phase == "M":
			if e.Args["name"] == nil || e.Length != nil || (*e.Name != "process_name" && *e.Name != "thread_name") {
				complain("event %d names nothing: %+v", i, e)
			}
			named[*e.Track] = named[*e.Track] || *e.Name == "thread_name"
			continue
		case e.Phase != "X" || e.Length == nil || *e.Length < 0 || *e.Start < 0 || e.Category == "":
			complain("event %d is no slice: %+v", i, e)
			continue
		case !named[*e.Track]:
			complain("event %d is on the track %d, which has no name", i, *e.Track)
		}
		tracks[*e.Track] = append(tracks[*e.Track], e)
		found[slot(e.Category, *e.Name, *e.Start, *e.Length)]++
	}
	for track, events := range tracks {
		checkNesting(track, events, complain)
	}
	expect := func(category, name string, start, length int64) {
		if found[slot(category, name, start, length)]--; found[slot(category, name, start, length)] < 0 {
			complain("no slice for the %s %s at %d", category, name, start)
		}
	}
	for _, p := range r.Phases {
		expect("phase", p.Name, p.Start, p.Wall)
	}
	for _, a := range r.Actions {
		expect("action", a.Label, a.Start, a.Wall)
		for _, s := range a.Stages {
			expect("stage", s.Name, s.Start, s.Wall)
		}
	}
	return wrong
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
