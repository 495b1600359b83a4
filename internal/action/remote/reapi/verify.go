package reapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	repb "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/remote"
	"github.com/warpld/warpld/internal/pattern"
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

var sha256Name = pattern.Lazy(`^[0-9a-f]{64}$`)

// parseDigest returns a digest of the server's if it is one.
func parseDigest(d *repb.Digest) (action.Digest, error) {
	digest := action.Digest{Hash: d.GetHash(), Size: d.GetSizeBytes()}
	if !sha256Name().MatchString(digest.Hash) || digest.Size < 0 {
		return digest, fmt.Errorf("%w: %q is no digest", errRefused, printable(digest.String(), 100))
	}
	return digest, nil
}

// An outputFile is one of a result, with its contents if they came along.
type outputFile struct {
	path   string
	digest action.Digest
	raw    []byte
}

// A printed is what a tool printed: here, or to be fetched.
type printed struct {
	raw    []byte
	digest *action.Digest
}

// printedOf reads a text of a result. Some servers send an empty digest for none.
func printedOf(raw []byte, d *repb.Digest) (printed, error) {
	if d == nil || (d.Hash == "" && d.SizeBytes == 0) {
		return printed{raw: raw}, nil
	}
	digest, err := parseDigest(d)
	if err == nil && digest.Size > maxPrinted {
		err = fmt.Errorf("%w: its tool printed %d bytes", errRefused, digest.Size)
	}
	return printed{raw, &digest}, err
}

// checkOutputs holds a result against the step: every output, once, and nothing else.
func checkOutputs(r *repb.ActionResult, outputs []string) (files []outputFile, err error) {
	//lint:ignore SA1019 servers before version 2.1 of the API send some of these
	links := len(r.OutputSymlinks) + len(r.OutputFileSymlinks) + len(r.OutputDirectorySymlinks)
	if links+len(r.OutputDirectories) > 0 {
		return nil, fmt.Errorf("%w: it has symbolic links or directories", errRefused)
	}
	seen := map[string]bool{}
	for _, f := range r.OutputFiles {
		digest, err := parseDigest(f.GetDigest())
		switch {
		case err != nil:
			return nil, err
		case !slices.Contains(outputs, f.Path):
			return nil, fmt.Errorf("%w: it has an output %q that was not asked for", errRefused, printable(f.Path, 100))
		case seen[f.Path]:
			return nil, fmt.Errorf("%w: it has the output %s twice", errRefused, f.Path)
		case digest.Size > maxOutput:
			return nil, fmt.Errorf("%w: its output %s has %d bytes", errRefused, f.Path, digest.Size)
		}
		seen[f.Path] = true
		files = append(files, outputFile{path: f.Path, digest: digest, raw: f.Contents})
	}
	for _, name := range outputs {
		if !seen[name] && r.ExitCode == 0 {
			return nil, fmt.Errorf("%w: it lacks the output %s", errRefused, name)
		}
	}
	return files, nil
}

// take fetches what a result names, or nothing.
func (c *Client) take(ctx context.Context, step *remote.Step, r *repb.ActionResult) (_ *action.Result, err error) {
	files, err := checkOutputs(r, step.Outputs)
	if err != nil {
		return nil, err
	}
	stdout, err := printedOf(r.StdoutRaw, r.StdoutDigest)
	if err != nil {
		return nil, err
	}
	stderr, err := printedOf(r.StderrRaw, r.StderrDigest)
	if err != nil {
		return nil, err
	}
	private := step.Dir + ".part"
	if err := os.Mkdir(private, 0o700); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(private)
		}
	}()
	result := &action.Result{ExitCode: int(r.ExitCode), Outputs: map[string]action.Content{}}
	c.readTogether(ctx, files)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(transfers)
	for _, f := range files {
		at := filepath.Join(private, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return nil, errors.Join(err, group.Wait())
		}
		group.Go(func() error { return c.download(ctx, f, at) })
		result.Outputs[f.path] = action.AtPath(filepath.Join(step.Dir, filepath.FromSlash(f.path)))
	}
	group.Go(func() (err error) { result.Stdout, err = c.text(ctx, stdout); return err })
	group.Go(func() (err error) { result.Stderr, err = c.text(ctx, stderr); return err })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return result, os.Rename(private, step.Dir)
}

// text returns what a tool printed.
func (c *Client) text(ctx context.Context, p printed) ([]byte, error) {
	if p.digest == nil || len(p.raw) > 0 {
		return p.raw, nil
	}
	var text bytes.Buffer
	err := c.fetch(ctx, *p.digest, &text)
	return text.Bytes(), err
}
