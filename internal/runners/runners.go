// Package runners puts together the stack of runners that does the actions of a link:
// this machine's processes, bounded by the number of jobs, behind a server's machines
// and the caches, if the options ask for them.
package runners

import (
	"cmp"
	"context"
	"runtime"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/cache"
	"github.com/warpld/warpld/internal/action/jobs"
	"github.com/warpld/warpld/internal/action/local"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/options"
)

// A Set is the stack of runners of a link.
type Set struct {
	// Runner is the whole stack.
	Runner action.Runner
	// Jobs is how many actions this machine does at once, and InFlight how many may be
	// in progress: with a server, it sets the limit.
	Jobs, InFlight int
	// Limited is the runner of this machine, without the caches and without a server.
	Limited action.Runner
	// Remember puts the caches, of this machine and of a server, in front of a runner
	// that does more than one process.
	Remember func(action.Runner) action.Runner

	cache *cache.Cache // nil if there is none
	close []func()
}

// A Request is what a Set depends on.
type Request struct {
	Options *options.Options
	Env     func(string) string
	// Self is the path of warpld's executable.
	Self string
	// Local starts the processes.
	Local *local.Runner
	// Report is called if a cache or a server cannot be used; the link is only slower
	// then.
	Report func(*message.Message)
}

// Open makes the stack. The caller must call Close. An error is one of the options.
func Open(ctx context.Context, r Request) (*Set, error) {
	cores := runtime.GOMAXPROCS(0)
	s := &Set{Jobs: cmp.Or(r.Options.Own.Jobs, cores), cache: r.openCache()}
	limits := jobs.Limits{MakeFlags: r.Env("MAKEFLAGS"), Machine: max(s.Jobs, cores)}
	digest := action.Digester(action.ReadDigest)
	cached := func(next action.Runner) action.Runner { return next }
	if s.cache != nil {
		digest = s.cache.Digest
		cached = func(next action.Runner) action.Runner { return s.cache.Runner(next, r.Local.Dir) }
		limits.Slots = s.cache.Slots()
	}
	limited := jobs.New(r.Local, limits)
	remote, err := r.openServer(ctx, machine{digest, r.Local.Dir, s.Jobs})
	s.Limited, s.Runner, s.InFlight = limited, cached(remote.front(limited)), r.inFlight(s.Jobs)
	if !r.Options.Own.KeepWorkDirs { // with that, every step leaves its directory
		s.Limited, s.Runner = action.RunInProcess(s.Limited), action.RunInProcess(s.Runner)
	}
	s.Remember = func(next action.Runner) action.Runner { return cached(remote.cache(next)) }
	s.close = []func(){remote.close, limited.Close}
	if s.cache != nil {
		s.close = append(s.close, func() { s.cache.Close() })
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close ends the use of the cache and of the server.
func (s *Set) Close() {
	for _, f := range s.close {
		f()
	}
}

// Earlier returns the actions of the last link of an output, as far as the cache knows
// them.
func (s *Set) Earlier(output string) []cache.Manifest {
	if s.cache == nil {
		return nil
	}
	actions, _ := s.cache.Why(output) // an error means that there was no such link
	return actions
}

// openCache opens the cache, and returns nil if there is to be none.
func (r *Request) openCache() *cache.Cache {
	o := &r.Options.Own
	if o.Cache == "off" || o.KeepWorkDirs {
		return nil
	}
	dir, err := cache.Dir(r.Env)
	if err == nil {
		var c *cache.Cache
		if c, err = cache.Open(dir, int64(o.CacheLimit)<<20, r.noteCacheDisabled); err == nil {
			c.Follow(r.Options.Output)
			return c
		}
	}
	r.noteCacheDisabled(err)
	return nil
}

// noteCacheDisabled reports that the link continues without a cache. The cache calls it
// once at most.
func (r *Request) noteCacheDisabled(err error) {
	r.Report(&message.Message{Severity: message.Info, ID: "cache", Tool: "warpld",
		Text: "this link goes without the cache", Notes: []string{err.Error()},
		Hint: "set WARPLD_CACHE_DIR to a directory that can be written to, or give --warpld-cache=off"})
}
