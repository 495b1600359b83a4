package link

import (
	"cmp"
	"runtime"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/cache"
	"github.com/warpld/warpld/internal/action/jobs"
	"github.com/warpld/warpld/internal/action/local"
	"github.com/warpld/warpld/internal/message"
)

// A workshop is where actions are done.
type workshop struct {
	runner action.Runner
	jobs   int // how many at once
	// limited is the runner without the cache.
	limited action.Runner
	// remember puts the cache in front of a runner.
	remember func(action.Runner) action.Runner
}

// open makes a workshop of the local runner, with the cache in front of it. Without
// one, because it was not wanted or can't be used, the link is only slower. The
// second result ends its use.
func (l *linker) open(r *local.Runner) (*workshop, func()) {
	cores := runtime.GOMAXPROCS(0)
	w := &workshop{jobs: cmp.Or(l.options.Own.Jobs, cores), remember: func(next action.Runner) action.Runner { return next }}
	limits := jobs.Limits{MakeFlags: l.Env("MAKEFLAGS"), Machine: max(w.jobs, cores)}
	c := l.cache()
	if c != nil {
		w.remember = func(next action.Runner) action.Runner { return c.Runner(next, r.Dir) }
		limits.Slots = c.Slots()
	}
	limited := jobs.New(r, limits)
	w.limited, w.runner = limited, w.remember(limited)
	return w, func() {
		limited.Close()
		if c != nil {
			c.Close()
		}
	}
}

// cache opens the cache, if there is to be one.
func (l *linker) cache() *cache.Cache {
	o := &l.options.Own
	if o.Cache == "off" || o.Keep {
		return nil
	}
	dir, err := cache.Dir(l.Env)
	if err == nil {
		var c *cache.Cache
		if c, err = cache.Open(dir, int64(o.CacheLimit)<<20, l.withoutCache); err == nil {
			c.Follow(l.options.Output)
			return c
		}
	}
	l.withoutCache(err)
	return nil
}

// withoutCache is told once that the cache is of no use.
func (l *linker) withoutCache(err error) {
	l.log.Report(&message.Message{Severity: message.Info, ID: "cache", Tool: "warpld",
		Text: "this link goes without the cache", Notes: []string{err.Error()},
		Hint: "set WARPLD_CACHE_DIR to a directory that can be written to, or give --warpld-cache=off"})
}
