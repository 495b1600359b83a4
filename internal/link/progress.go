package link

import (
	"strings"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/cache"
	"github.com/warpld/warpld/internal/progress"
)

// startProgress shows how far the link is, if somebody is there to see it. nvlink's
// own streams stay as they are unless one is a terminal or it was asked for.
func (l *linker) startProgress(w *workshop, c *cache.Cache) {
	l.status.Parallel = w.inFlight
	l.status.Earlier = func() []progress.Step { return earlierSteps(c, l.options.Output) }
	l.status.Start(l.progressForm())
}

func (l *linker) progressForm() progress.Form {
	switch l.options.Own.Progress {
	case "plain":
		return progress.Plain
	case "json":
		return progress.JSON
	case "auto":
		// Of several links that make runs at once each would draw over the other.
		if l.Terminal && l.Env("TERM") != "dumb" && !strings.Contains(l.Env("MAKEFLAGS"), "--jobserver") {
			return progress.Line
		}
	}
	return progress.None
}

// earlierSteps are those of the last link of an output.
func earlierSteps(c *cache.Cache, output string) (steps []progress.Step) {
	if c == nil {
		return nil
	}
	actions, _ := c.Why(output) // none: there was no such link
	for _, a := range actions {
		steps = append(steps, progress.Step{Label: a.Label, Wall: a.Wall})
	}
	return steps
}

// sourceOf is where a result came from.
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
