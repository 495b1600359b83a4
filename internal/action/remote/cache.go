package remote

import (
	"context"
	"slices"
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
	if result := r.client.find(ctx, a, encoding.Key); result != nil {
		return result, nil
	}
	result, err := r.next.Run(ctx, a)
	r.client.share(encoding, result, err)
	return result, err
}

// share stores a result that was made here, while the link goes on.
func (c *Client) share(encoding *action.Encoding, result *action.Result, err error) {
	if err != nil || !c.upload.Load() || !result.OK() || result.Where != "" || c.down.Load() {
		return
	}
	c.behind.Go(func() {
		if err := c.store(c.closing, encoding, result); err != nil {
			c.upload.Store(false)
			c.reportOnce(withoutStoring, err)
		}
	})
}

// remoteCache is where a result is from that nobody had to run an action for.
const remoteCache = "the remote cache"

// find looks a result up and returns nil if there is none that is valid.
func (c *Client) find(ctx context.Context, a *action.Action, key action.Digest) *action.Result {
	start := time.Now()
	result, err := c.lookUp(ctx, a, key)
	switch {
	case err == nil:
		result.Cached, result.Where = true, remoteCache
		result.Usage = action.Usage{Start: start, Wall: time.Since(start)}
		return result
	case codeOf(err) != codeNotFound && ctx.Err() == nil:
		c.giveUp(err)
	}
	return nil
}

// lookUp asks the server for a result and fetches it.
// GetActionResultRequest: instance_name = 1, action_digest = 2,
// inline_stdout = 3, inline_stderr = 4, inline_output_files = 5.
func (c *Client) lookUp(ctx context.Context, a *action.Action, key action.Digest) (*action.Result, error) {
	var request writer
	request.text(1, c.instance)
	request.bytes(2, encodeDigest(key))
	request.number(3, 1)
	request.number(4, 1)
	for _, name := range a.Outputs {
		request.text(5, name)
	}
	short, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	reply, err := c.connection.call(short, serviceActionCache+"GetActionResult", request)
	if err != nil {
		return nil, err
	}
	r, err := parseActionResult(reply)
	if err != nil {
		return nil, err
	}
	if r.exitCode != 0 { // a failure is for the tools here to confirm
		return nil, &statusError{code: codeNotFound}
	}
	return c.take(ctx, a, r)
}

// store keeps a result on the server: its outputs first, so that what is found is
// whole. The messages of the action go too, so that people can look at it there.
// UpdateActionResultRequest: instance_name = 1, action_digest = 2,
// action_result = 3.
func (c *Client) store(ctx context.Context, e *action.Encoding, result *action.Result) error {
	blobs := slices.Clone(e.Messages)
	var files []outputFile
	for name, content := range result.Outputs {
		digest, err := content.Digest()
		if err != nil {
			return err
		}
		blobs = append(blobs, action.Blob{Digest: digest, Content: content})
		files = append(files, outputFile{path: name, digest: digest})
	}
	for _, text := range [][]byte{result.Stdout, result.Stderr} {
		blobs = append(blobs, action.Blob{Digest: action.DigestOf(text), Content: action.Bytes(text)})
	}
	missing, err := c.findMissing(ctx, blobs)
	if err != nil {
		return err
	}
	if err := c.send(ctx, missing); err != nil {
		return err
	}
	var request writer
	request.text(1, c.instance)
	request.bytes(2, encodeDigest(e.Key))
	request.bytes(3, encodeResult(files, result))
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	_, err = c.connection.call(ctx, serviceActionCache+"UpdateActionResult", request)
	return err
}
