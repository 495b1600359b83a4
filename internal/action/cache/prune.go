package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/warpld/warpld/internal/action"
)

// A Size is how much a cache holds.
type Size struct {
	Results, Blobs int
	Bytes          int64
}

const (
	pruneEvery     = time.Hour
	abandonedAfter = 24 * time.Hour
)

// pruneSometimes prunes if nobody has for a while. Most links find a fresh stamp
// and do nothing.
func (c *Cache) pruneSometimes(now time.Time) error {
	stamp := filepath.Join(c.dir, "pruned")
	if info, err := os.Stat(stamp); err == nil && now.Sub(info.ModTime()) < pruneEvery {
		return nil
	}
	if err := os.WriteFile(stamp, nil, 0o666); err != nil {
		return err
	}
	_, err := c.Prune(c.limit)
	return err
}

type entry struct {
	path string
	size int64
	used time.Time
}

// Prune removes the least recently used entries until the cache is not larger than limit, and
// returns how much was removed.
func (c *Cache) Prune(limit int64) (removed Size, err error) {
	entries, size, err := c.entries()
	if err != nil {
		return removed, err
	}
	slices.SortFunc(entries, func(a, b entry) int { return a.used.Compare(b.used) })
	for _, e := range entries {
		if size.Bytes <= limit {
			break
		}
		if err := os.Remove(e.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, err
		}
		size.Bytes -= e.size
		removed.count(e)
	}
	return removed, nil
}

func (s *Size) count(e entry) {
	s.Bytes += e.size
	if filepath.Base(filepath.Dir(filepath.Dir(e.path))) == "results" {
		s.Results++
	} else {
		s.Blobs++
	}
}

// Size returns how much the cache holds.
func (c *Cache) Size() (Size, error) {
	_, size, err := c.entries()
	return size, err
}

// entries lists results and blobs. Files that a killed process left half written
// are removed on the way, when they are old enough to belong to nobody.
func (c *Cache) entries() (list []entry, size Size, err error) {
	err = filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another process prunes too
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(c.dir, path)
		if err != nil {
			return err
		}
		kind, _, _ := strings.Cut(relative, string(filepath.Separator))
		if strings.HasPrefix(relative, temporaryPrefix) || kind == "locks" {
			if time.Since(info.ModTime()) > abandonedAfter {
				os.Remove(path)
			}
			return nil
		}
		if kind == "results" || kind == "blobs" {
			e := entry{path, info.Size(), info.ModTime()}
			list = append(list, e)
			size.count(e)
		}
		return nil
	})
	return list, size, err
}

// Verify reads every blob, removes those that are not what they are called, and
// names them.
func (c *Cache) Verify() (bad []string, err error) {
	entries, _, err := c.entries()
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if filepath.Base(filepath.Dir(filepath.Dir(e.path))) != "blobs" {
			continue
		}
		digest, err := action.AtPath(e.path).Digest()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return bad, err
		}
		if digest.Hash != filepath.Base(e.path) {
			bad = append(bad, e.path)
			if err := os.Remove(e.path); err != nil {
				return bad, fmt.Errorf("cache: %w", err)
			}
		}
	}
	return bad, nil
}
