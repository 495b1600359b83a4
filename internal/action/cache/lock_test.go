package cache

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// TestWorkIsShared: what several links need at the same time is made once.
func TestWorkIsShared(t *testing.T) {
	f := newFixture(t)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { f.run(f.open(), "same") })
	}
	group.Wait()
	if n := f.maker.runs.Load(); n != 1 {
		t.Errorf("made %d times", n)
	}
	left, err := os.ReadDir(filepath.Join(f.dir, "locks"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v left, %v", left, err)
	}
}

// TestLockOfTheDead: a lock file that nobody holds stops nobody, and one that is held
// stops until the link is interrupted.
func TestLockOfTheDead(t *testing.T) {
	f := newFixture(t)
	c := f.open()
	key, err := step("x").Key(c.Digest)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(f.dir, "locks", key.Hash)
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	f.run(c, "x")
	held, err := tryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 3*lockPause)
	defer cancel()
	if _, err := c.lock(ctx, key); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	time.AfterFunc(3*lockPause, func() { held.Close() })
	unlock, err := c.lock(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}
