package link

import (
	"cmp"
	"context"
	"runtime"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/cache"
	"github.com/warpld/warpld/internal/action/jobs"
	"github.com/warpld/warpld/internal/action/local"
	"github.com/warpld/warpld/internal/merge"
	"github.com/warpld/warpld/internal/message"
)

// A workshop is where actions are done.
type workshop struct {
	runner action.Runner
	jobs   int // how many this machine does at once
	// inFlight is how many may be under way: with a server, it sets the limit.
	inFlight int
	// limited is the runner without the cache and without a server.
	limited action.Runner
	// remember puts the caches, of this machine and of a server, in front of a runner
	// that does more than one process.
	remember func(action.Runner) action.Runner
}

// open makes a workshop of the local runner, with a server and the cache in front of
// it. Without them, because they were not wanted or can't be used, the link is only
// slower. The second result ends their use; an error is one of the options.
func (l *linker) open(ctx context.Context, r *local.Runner) (*workshop, func(), error) {
	cores := runtime.GOMAXPROCS(0)
	w := &workshop{jobs: cmp.Or(l.options.Own.Jobs, cores)}
	limits := jobs.Limits{MakeFlags: l.Env("MAKEFLAGS"), Machine: max(w.jobs, cores)}
	c := l.cache()
	digest := action.Digester(action.ReadDigest)
	cached := func(next action.Runner) action.Runner { return next }
	if c != nil {
		digest = c.Digest
		cached = func(next action.Runner) action.Runner { return c.Runner(next, r.Dir) }
		limits.Slots = c.Slots()
	}
	limited := jobs.New(r, limits)
	s, err := l.remote(ctx, machine{digest, r.Dir, w.jobs})
	w.limited, w.runner, w.inFlight = limited, cached(s.front(limited)), l.inFlight(w.jobs)
	if !l.options.Own.KeepWorkDirs { // with that, every step leaves its directory
		w.limited, w.runner = merge.Here(w.limited), merge.Here(w.runner)
	}
	w.remember = func(next action.Runner) action.Runner { return cached(s.cache(next)) }
	if err == nil {
		l.startProgress(w, c)
	}
	return w, func() {
		l.status.Close()
		s.close()
		limited.Close()
		if c != nil {
			c.Close()
		}
	}, err
}

// cache opens the cache, if there is to be one.
func (l *linker) cache() *cache.Cache {
	o := &l.options.Own
	if o.Cache == "off" || o.KeepWorkDirs {
		return nil
	}
	dir, err := cache.Dir(l.Env)
	if err == nil {
		var c *cache.Cache
		if c, err = cache.Open(dir, int64(l.options.Own.CacheLimit)<<20, l.withoutCache); err == nil {
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
