package remote

import (
	"context"
	"errors"
	"time"

	"github.com/warpld/warpld/internal/action"
)

// cacheRunner asks the server's cache before it asks the runner behind it.
type cacheRunner struct {
	client *Client
	next   action.Runner
}

// Cache returns a Runner that returns results from the server's cache and runs the others with
// next, whose results are uploaded if the Config asks for it.
func (c *Client) Cache(next action.Runner) action.Runner { return &cacheRunner{c, next} }

// Run implements action.Runner.
func (r *cacheRunner) Run(ctx context.Context, a *action.Action) (*action.Result, error) {
	if a.Impure != "" || r.client.down.Load() {
		return r.next.Run(ctx, a)
	}
	encoding, err := a.Encode(r.client.digest, action.Place{})
	if err != nil {
		return nil, err
	}
	step := r.client.step(a, encoding)
	result, err := r.client.find(ctx, step)
	if result != nil || err != nil {
		return result, err
	}
	result, err = r.next.Run(ctx, a)
	r.client.share(step, result, err)
	return result, err
}

// share stores a result that was made here, while the link goes on.
func (c *Client) share(step *Step, result *action.Result, err error) {
	if err != nil || !c.upload.Load() || !result.OK() || result.Where != "" || c.down.Load() {
		return
	}
	c.behind.Go(func() {
		if err := c.server.Store(c.closing, step, result); err != nil {
			c.upload.Store(false)
			c.reportOnce(withoutStoring, err)
		}
	})
}

// FromCache is where a result is from that nobody had to run an action for.
const FromCache = "the remote cache"

// find looks a result up and returns nil if there is none that is valid. An error is one of the
// options.
func (c *Client) find(ctx context.Context, step *Step) (*action.Result, error) {
	start := time.Now()
	result, err := c.server.LookUp(ctx, step)
	var options *OptionsError
	switch {
	case err == nil:
		result.Cached, result.Where = true, FromCache
		result.Usage = action.Usage{Start: start, Wall: time.Since(start)}
		return result, nil
	case errors.As(err, &options):
		return nil, err
	case !errors.Is(err, ErrNotFound) && ctx.Err() == nil:
		c.giveUp(err)
	}
	return nil, nil
}
