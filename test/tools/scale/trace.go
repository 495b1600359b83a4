// Package scale predicts how long links take on clusters of any size, from records of
// links (--warpld-record) that were made on one machine. docs/scale.md explains the
// model and holds it against measurements.
package scale

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/warpld/warpld/internal/record"
)

// A Job is one step of a link.
type Job struct {
	Label string
	// Work is the time of a processor that it takes; tools use one at a time.
	Work           time.Duration
	Sent, Received int64 // bytes
	// Here says that only the client's machine can do it.
	Here bool
	// After are the places of the jobs that must be done before.
	After []int
}

// A Trace is a link: its steps, and what the client does before and after them.
type Trace struct {
	Jobs   []Job
	Client time.Duration
}

// ReadTrace makes a trace of the record of a link whose steps all ran, one at a time
// (--warpld-jobs=1 --warpld-cache=off), so that none waited for another.
func ReadTrace(path string) (*Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := record.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t := &Trace{Client: time.Duration(r.Wall) * time.Microsecond}
	for _, a := range r.Actions {
		switch {
		case a.Source != "ran" || a.Where != "" || a.Failure != "":
			return nil, fmt.Errorf("%s: the step %s was not run, or not here: link with an empty cache and without a server",
				path, a.Label)
		case a.Label == "link in slices": // that is all of the others together
			continue
		}
		job := Job{Label: a.Label, Work: time.Duration(a.CPU) * time.Microsecond, Sent: a.Sent, Received: a.Received,
			Here: a.Label == "scan"}
		t.Jobs = append(t.Jobs, job)
		t.Client -= time.Duration(a.Wall) * time.Microsecond
	}
	t.Client = max(t.Client, 0)
	t.order()
	return t, nil
}

// stages are what the steps do, in the order in which they follow each other.
var stages = []string{"scan", "prepare", "summarize", "thin-link", "compile", "compile-thin", "assemble", "merge"}

// order finds out which steps wait for which. A record does not say it, but what a step
// does: each stage waits for the one before. Only an assembly needs no more than its
// own compilation, which is taken to be the one of the same rank by size.
func (t *Trace) order() {
	slices.SortStableFunc(t.Jobs, func(a, b Job) int {
		return cmp.Or(slices.Index(stages, a.Label)-slices.Index(stages, b.Label), cmp.Compare(b.Work, a.Work))
	})
	var before, stage []int // the places of the stage before, and of this one
	for i := range t.Jobs {
		job := &t.Jobs[i]
		if i > 0 && t.Jobs[i-1].Label != job.Label {
			before, stage = stage, nil
		}
		switch rank := len(stage); {
		case job.Label == "assemble" && rank < len(before):
			job.After = before[rank : rank+1]
		case job.Label != "assemble":
			job.After = before
		}
		stage = append(stage, i)
	}
}
