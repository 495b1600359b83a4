package journal

import (
	"strings"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/progress"
	"github.com/warpld/warpld/internal/runners"
)

// StartProgress shows how far the link is, if somebody is there to see it, until the
// function that it returns is called. nvlink's own streams stay as they are unless one
// is a terminal or progress was asked for.
func (j *Journal) StartProgress(set *runners.Set) (end func()) {
	j.status.Parallel = set.InFlight
	j.status.Earlier = func() (steps []progress.Step) {
		for _, a := range set.Earlier(j.options.Output) {
			steps = append(steps, progress.Step{Label: a.Label, Wall: a.Wall})
		}
		return steps
	}
	j.status.Start(j.progressForm())
	return j.status.Close
}

func (j *Journal) progressForm() progress.Form {
	switch j.options.Own.Progress {
	case "plain":
		return progress.Plain
	case "json":
		return progress.JSON
	case "auto":
		// Of several links that make runs at once each would draw over the other.
		underMake := strings.Contains(j.streams.Env("MAKEFLAGS"), "--jobserver")
		if j.streams.Terminal && j.streams.Env("TERM") != "dumb" && !underMake {
			return progress.Line
		}
	}
	return progress.None
}

// sourceOf returns where a result came from.
func sourceOf(r *action.Result, err error) progress.Source {
	switch {
	case err != nil || !r.OK():
		return progress.Failed
	case r.Where != "":
		return progress.Remote
	case r.Cached:
		return progress.Cache
	}
	return progress.Ran
}
