// Package cache stores the results of actions on this machine. It is a Runner around a Runner:
// an action whose key is known is not run again.
//
// The cache's directory holds
//
//	results/ab/abcd...   the result of an action, by the action's key (JSON)
//	blobs/cd/cdef...     its outputs, by their digest
//	locks/ef01...        locked by the process that runs the action of that key (lock.go)
//	slots/               for the links of this machine to share (package jobs)
//	digests              digests of files that were not changed since (stat.go)
//	last/                what the last link of each output depended on (why.go)
//
// Every file is written under another name and renamed, so that readers see all of it or
// nothing, even if the writer is killed. What is read is verified: a result whose bytes don't
// match its digest is a cache miss.
package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/warpld/warpld/internal/action"
)

// A Cache is a directory of results. Its methods may be called at once, also by
// several processes.
type Cache struct {
	dir     string
	limit   int64
	digests *statCache
	// stored counts bytes that this process added.
	stored atomic.Int64

	once sync.Once
	note func(error)

	output  string // whose link this is, see why.go
	trailMu sync.Mutex
	trail   []Manifest
}

// Open opens or creates the cache in dir, which is kept below limit bytes. The note function
// is called with the first failure, such as a full disk; the link then continues without the
// cache.
func Open(dir string, limit int64, note func(error)) (*Cache, error) {
	for _, sub := range []string{"results", "blobs", "last", "locks", "slots"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o777); err != nil {
			return nil, fmt.Errorf("cache: %w", err)
		}
	}
	return &Cache{dir: dir, limit: limit, note: note, digests: openStatCache(filepath.Join(dir, "digests"))}, nil
}

// Slots is a directory for locks that all links share.
func (c *Cache) Slots() string { return filepath.Join(c.dir, "slots") }

// Dir returns the directory of the user's cache.
func Dir(env func(string) string) (string, error) {
	if dir := env("WARPLD_CACHE_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "warpld", "cache"), nil
}

// Close writes what was learned of files, and makes room if much was added.
func (c *Cache) Close() {
	c.failed(c.digests.save())
	c.failed(c.saveTrail())
	if c.stored.Load() > 0 {
		c.failed(c.pruneSometimes(time.Now()))
	}
}

// failed records an error that doesn't end the link.
func (c *Cache) failed(err error) {
	if err != nil {
		c.once.Do(func() { c.note(err) })
	}
}

// Digest returns the digest of a file's bytes. A file that did not change since the last time
// is not read again.
func (c *Cache) Digest(f action.File) (action.Digest, error) {
	if f.Path == "" {
		return f.Content.Digest()
	}
	return c.digests.digest(f.Path)
}

// A runner asks the cache before it asks the runner behind it.
type runner struct {
	cache      *Cache
	next       action.Runner
	scratchDir func() string
}

// Runner returns a Runner that returns results from the cache and runs the others with next.
// Large outputs are copied to new files in directories that dir returns, so that another
// process that prunes the cache can't remove them.
func (c *Cache) Runner(next action.Runner, dir func() string) action.Runner {
	return &runner{c, next, dir}
}

// Run implements action.Runner.
func (r *runner) Run(ctx context.Context, a *action.Action) (*action.Result, error) {
	if a.Impure != "" {
		return r.next.Run(ctx, a)
	}
	digests := map[string]action.Digest{}
	key, err := a.Key(func(f action.File) (d action.Digest, err error) {
		d, err = r.cache.Digest(f)
		digests[f.Name] = d
		return d, err
	})
	if err != nil {
		return nil, err
	}
	result, took, err := r.cache.get(key, a, r.scratchDir())
	if err == nil {
		r.cache.remember(a, key, digests, true, took)
		return result, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		r.cache.failed(err)
	}
	unlock, err := r.cache.lock(ctx, key)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if result, took, err = r.cache.get(key, a, r.scratchDir()); err == nil { // somebody has made it meanwhile
		r.cache.remember(a, key, digests, true, took)
		return result, nil
	}
	if result, err = r.next.Run(ctx, a); err != nil {
		return nil, err
	}
	// A tool that fails may do better next time, on another machine or with more
	// memory; only success is for good.
	if result.OK() {
		r.cache.failed(r.cache.put(key, result))
		r.cache.remember(a, key, digests, false, result.Usage.Wall)
	}
	return result, nil
}

// A record is a result as it is kept.
type record struct {
	Stdout, Stderr []byte
	Outputs        map[string]action.Digest
	Usage          action.Usage
}

func (c *Cache) path(kind, hash string) string {
	return filepath.Join(c.dir, kind, hash[:2], hash)
}

// get looks a result up and copies its outputs into dir. It also returns how long the run took
// that made it.
func (c *Cache) get(key action.Digest, a *action.Action, dir string) (*action.Result, time.Duration, error) {
	start := time.Now()
	path := c.path("results", key.Hash)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	var rec record
	if err := json.Unmarshal(text, &rec); err != nil {
		os.Remove(path)
		return nil, 0, fmt.Errorf("cache: result %s: %w", key.Hash, err)
	}
	result := &action.Result{Stdout: rec.Stdout, Stderr: rec.Stderr, Cached: true, Outputs: map[string]action.Content{}}
	for _, name := range a.Outputs {
		digest, ok := rec.Outputs[name]
		if !ok {
			os.Remove(path)
			return nil, 0, fmt.Errorf("cache: result %s has no %s", key.Hash, name)
		}
		content, err := c.take(digest, filepath.Join(dir, name))
		if err != nil {
			os.Remove(path)
			return nil, 0, err
		}
		result.Outputs[name] = content
	}
	used(path)
	result.Usage = action.Usage{Start: start, Wall: time.Since(start)}
	return result, rec.Usage.Wall, nil
}

// inMemory is the size up to which a blob is read instead of copied into a file: a
// large program has hundreds of them.
const inMemory = 1 << 20

// take gets a blob out of the cache, into a file if it is large, and checks that it is
// the right one.
func (c *Cache) take(want action.Digest, to string) (action.Content, error) {
	path := c.path("blobs", want.Hash)
	content := action.AtPath(to)
	var got action.Digest
	var err error
	if want.Size <= inMemory {
		var data []byte
		data, err = os.ReadFile(path)
		got = action.DigestOf(data)
		content = action.Content{Load: func() ([]byte, error) { return data, nil },
			Sum: func() (action.Digest, error) { return want, nil }}
	} else {
		got, err = copyFile(path, to)
	}
	if err != nil {
		return action.Content{}, err
	}
	if got != want {
		os.Remove(path)
		return action.Content{}, fmt.Errorf("cache: %s holds other bytes than it should and was removed", path)
	}
	used(path)
	return content, nil
}

// put keeps a result: its outputs first, so that what is found is whole.
func (c *Cache) put(key action.Digest, result *action.Result) error {
	rec := record{Stdout: result.Stdout, Stderr: result.Stderr, Usage: result.Usage, Outputs: map[string]action.Digest{}}
	for name, content := range result.Outputs {
		digest, err := c.keepBlob(content)
		if err != nil {
			return fmt.Errorf("cache: %w", err)
		}
		rec.Outputs[name] = digest
	}
	text, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return c.write(c.path("results", key.Hash), text)
}

// used marks a file as recently used: pruning goes by the time of modification.
func used(path string) {
	now := time.Now()
	os.Chtimes(path, now, now)
}
