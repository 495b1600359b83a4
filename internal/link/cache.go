package link

import (
	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/cache"
	"github.com/warpld/warpld/internal/action/local"
	"github.com/warpld/warpld/internal/message"
)

// cached puts the cache in front of the local runner. Without one, because it was
// not wanted or can't be used, the link is only slower. The second result ends its
// use.
func (l *linker) cached(r *local.Runner) (action.Runner, func()) {
	o := &l.options.Own
	if o.Cache == "off" || o.Keep {
		return r, func() {}
	}
	dir, err := cache.Dir(l.Env)
	if err == nil {
		var c *cache.Cache
		if c, err = cache.Open(dir, int64(o.CacheLimit)<<20, l.withoutCache); err == nil {
			c.Follow(l.options.Output)
			return c.Runner(r, r.Dir), c.Close
		}
	}
	l.withoutCache(err)
	return r, func() {}
}

// withoutCache is told once that the cache is of no use.
func (l *linker) withoutCache(err error) {
	l.log.Report(&message.Message{Severity: message.Info, ID: "cache", Tool: "warpld",
		Text: "this link goes without the cache", Notes: []string{err.Error()},
		Hint: "set WARPLD_CACHE_DIR to a directory that can be written to, or give --warpld-cache=off"})
}
