package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/warpld/warpld/internal/action"
	"golang.org/x/sync/errgroup"
)

// A server may be broken or hostile. A result is accepted only if it has exactly the outputs
// that the action declares, with the bytes of their digests; it is downloaded to a private
// directory and moved into place when it is complete.

// errRefused is a result that breaks the rules.
var errRefused = errors.New("the server's answer is refused")

// No step of a link returns more than this.
const (
	maxOutput  = 4 << 30
	maxPrinted = 256 << 20
)

// check holds a result against the action: every output, once, and nothing else.
func (r *actionResult) check(a *action.Action) error {
	if r.others {
		return fmt.Errorf("%w: it has symbolic links or directories", errRefused)
	}
	seen := map[string]bool{}
	for _, f := range r.files {
		switch {
		case !slices.Contains(a.Outputs, f.path):
			return fmt.Errorf("%w: it has an output %q that was not asked for", errRefused, printable(f.path, 100))
		case seen[f.path]:
			return fmt.Errorf("%w: it has the output %s twice", errRefused, f.path)
		case f.digest.Size > maxOutput:
			return fmt.Errorf("%w: its output %s has %d bytes", errRefused, f.path, f.digest.Size)
		}
		seen[f.path] = true
	}
	for _, name := range a.Outputs {
		if !seen[name] && r.exitCode == 0 {
			return fmt.Errorf("%w: it lacks the output %s", errRefused, name)
		}
	}
	for _, s := range []stream{r.stdout, r.stderr} {
		if s.digest != nil && s.digest.Size > maxPrinted {
			return fmt.Errorf("%w: its tool printed %d bytes", errRefused, s.digest.Size)
		}
	}
	return nil
}

// take fetches what a result names, or nothing.
func (c *Client) take(ctx context.Context, a *action.Action, r *actionResult) (_ *action.Result, err error) {
	if err := r.check(a); err != nil {
		return nil, err
	}
	place := c.dir()
	private := place + ".part"
	if err := os.Mkdir(private, 0o700); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(private)
		}
	}()
	result := &action.Result{ExitCode: int(r.exitCode), Outputs: map[string]action.Content{}}
	group, ctx := errgroup.WithContext(ctx)
	for _, f := range r.files {
		at := filepath.Join(private, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return nil, err
		}
		group.Go(func() error { return c.download(ctx, f, at) })
		result.Outputs[f.path] = action.AtPath(filepath.Join(place, filepath.FromSlash(f.path)))
	}
	group.Go(func() (err error) { result.Stdout, err = c.printed(ctx, r.stdout); return err })
	group.Go(func() (err error) { result.Stderr, err = c.printed(ctx, r.stderr); return err })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return result, os.Rename(private, place)
}

// printed is what a tool printed.
func (c *Client) printed(ctx context.Context, s stream) ([]byte, error) {
	if s.digest == nil || len(s.raw) > 0 {
		return s.raw, nil
	}
	var text bytes.Buffer
	err := c.fetch(ctx, *s.digest, &text)
	return text.Bytes(), err
}
