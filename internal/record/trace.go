package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// An event is one of Chrome's trace event format: a complete event (X) with its
// start and length in microseconds, or the name of a track (M).
type event struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Phase    string         `json:"ph"`
	Start    int64          `json:"ts"`
	Length   *int64         `json:"dur,omitempty"`
	Process  int            `json:"pid"`
	Track    int            `json:"tid"`
	Args     map[string]any `json:"args,omitempty"`
}

// WriteTrace writes the link as a timeline that Perfetto and Chrome open: the phases on one
// track, the actions on as many as ran at the same time, and in an action the calls of its
// worker.
func (r *Record) WriteTrace(w io.Writer) error {
	const linker = 1
	events := []event{
		{Name: "process_name", Phase: "M", Process: linker, Args: map[string]any{"name": "warpld " + r.Target}},
		{Name: "thread_name", Phase: "M", Process: linker, Args: map[string]any{"name": "phases"}},
	}
	for _, p := range r.Phases {
		events = append(events, event{Name: p.Name, Category: "phase", Phase: "X", Start: p.Start, Length: &p.Wall,
			Process: linker})
	}
	tracks := 0
	for _, t := range r.Tracks() {
		if t.Track > tracks {
			tracks = t.Track
			name := fmt.Sprintf("actions %d", tracks)
			events = append(events, event{Name: "thread_name", Phase: "M", Process: linker, Track: tracks,
				Args: map[string]any{"name": name}})
		}
		a := t.Action
		args := map[string]any{"tool": a.Tool, "arguments": a.Arguments, "source": a.Source, "cpu_us": a.CPU,
			"memory": a.Memory}
		if a.Failure != "" {
			args["failure"] = a.Failure
		}
		slice := func(name, category string, start, length int64, args map[string]any) {
			events = append(events, event{Name: name, Category: category, Phase: "X", Start: start, Length: &length,
				Process: linker, Track: t.Track, Args: args})
		}
		slice(a.Label, "action", a.Start, a.Wall, args)
		if a.Waited > 0 {
			slice("waiting", "wait", a.Start, a.Waited, nil)
		}
		for _, stage := range a.Stages {
			slice(stage.Name, "stage", stage.Start, stage.Wall, nil)
		}
	}
	return json.NewEncoder(w).Encode(map[string]any{"displayTimeUnit": "ms", "traceEvents": events})
}

// A Tracked is an action and the track that it is shown on.
type Tracked struct {
	Action *Action
	Track  int
}

// Tracks assigns each action to the first track that is free when it starts, so that those on
// one track never overlap. Tracks count from 1.
func (r *Record) Tracks() []Tracked {
	var list []Tracked
	for i := range r.Actions {
		list = append(list, Tracked{Action: &r.Actions[i]})
	}
	slices.SortStableFunc(list, func(a, b Tracked) int { return cmp.Compare(a.Action.Start, b.Action.Start) })
	var free []int64 // when each track is free again
	for i, t := range list {
		at := slices.IndexFunc(free, func(end int64) bool { return end <= t.Action.Start })
		if at < 0 {
			at = len(free)
			free = append(free, 0)
		}
		free[at] = t.Action.Start + t.Action.Wall
		list[i].Track = at + 1
	}
	return list
}
