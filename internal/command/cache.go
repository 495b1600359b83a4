package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/warpld/warpld/internal/action/cache"
	"github.com/warpld/warpld/internal/link"
	"github.com/warpld/warpld/internal/message"
)

// manageCache shows the cache, verifies or prunes it, or explains the last link of an
// output.
func manageCache(_ context.Context, c link.Caller, args []string) error {
	dir, err := cache.Dir(c.Env)
	if err != nil {
		return err
	}
	kept, err := cache.Open(dir, 0, func(error) {})
	if err != nil {
		return err
	}
	verb := "show"
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	switch {
	case verb == "show" && len(args) == 0:
		return showCache(c, kept, dir)
	case verb == "verify" && len(args) == 0:
		return verifyCache(c, kept)
	case verb == "prune" && len(args) <= 1:
		return pruneCache(c, kept, args)
	case verb == "why" && len(args) == 1:
		return whyRun(c, kept, args[0])
	}
	return usage("cache")
}

// showCache prints where the cache is and how much it holds.
func showCache(c link.Caller, kept *cache.Cache, dir string) error {
	size, err := kept.Size()
	fmt.Fprintf(c.Stdout, "%s\n%d results, %d outputs, %.1f MB\n", dir, size.Results, size.Blobs, megabytes(size.Bytes))
	return err
}

// verifyCache removes outputs whose bytes have changed, and fails if there were any.
func verifyCache(c link.Caller, kept *cache.Cache) error {
	bad, err := kept.Verify()
	if err != nil {
		return err
	}
	for _, path := range bad {
		fmt.Fprintf(c.Stdout, "removed %s, which held other bytes than it should\n", path)
	}
	if len(bad) > 0 {
		return &message.Message{Severity: message.Error, ID: "cache",
			Text: fmt.Sprintf("%d outputs in the cache were damaged", len(bad)),
			Hint: "links remake them; if it happens again, suspect the disk"}
	}
	fmt.Fprintln(c.Stdout, "all outputs are as they should be")
	return nil
}

// pruneCache removes the oldest entries until the cache has the given size in megabytes,
// or everything if no size is given.
func pruneCache(c link.Caller, kept *cache.Cache, args []string) error {
	var limit int64
	if len(args) == 1 {
		if _, err := fmt.Sscanf(args[0], "%d", &limit); err != nil || limit < 0 {
			return usage("cache")
		}
	}
	removed, err := kept.Prune(limit << 20)
	fmt.Fprintf(c.Stdout, "removed %d results and %d outputs, %.1f MB\n",
		removed.Results, removed.Blobs, megabytes(removed.Bytes))
	return err
}

func megabytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// whyRun prints for each action of the last link of an output whether it was a cache hit,
// and if not, what had changed.
func whyRun(c link.Caller, kept *cache.Cache, output string) error {
	actions, err := kept.Why(output)
	if errors.Is(err, fs.ErrNotExist) {
		return &message.Message{Severity: message.Fatal, ID: "cache",
			Text: fmt.Sprintf("no link of '%s' is remembered", output), Cause: err}
	}
	if err != nil {
		return err
	}
	for _, a := range actions {
		switch {
		case a.Hit:
			fmt.Fprintf(c.Stdout, "%s: from the cache\n", a.Label)
		case a.Changed == "":
			fmt.Fprintf(c.Stdout, "%s: run, because nothing like it was run for this output before\n", a.Label)
		default:
			fmt.Fprintf(c.Stdout, "%s: run, because it differs from the link before in %s\n", a.Label, a.Changed)
		}
	}
	return nil
}
