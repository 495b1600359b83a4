package cache

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/warpld/warpld/internal/action"
)

const (
	lockPause = 10 * time.Millisecond
	// lockPatience is how long somebody waits for a result that another process is
	// about to make: that may have been stopped.
	lockPatience = 10 * time.Minute
)

// lock waits until no other process runs the action of a key, so that links which need the
// same result at the same time do the work once. The kernel releases the lock of a process
// that is killed. An error means that ctx has ended. On a file system without locks the work
// may be done twice.
func (c *Cache) lock(ctx context.Context, key action.Digest) (unlock func(), err error) {
	path := filepath.Join(c.dir, "locks", key.Hash)
	for start := time.Now(); ; {
		f, err := tryLock(path)
		switch {
		case err == nil:
			return func() {
				os.Remove(path) // while it is locked: a process that waits for it opens it again
				f.Close()
			}, nil
		case !errors.Is(err, syscall.EWOULDBLOCK) || time.Since(start) > lockPatience:
			return func() {}, nil
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryLock locks a file, or returns an error if it is locked.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		// The one before may have removed the file between the two calls.
		opened, openErr := f.Stat()
		named, nameErr := os.Stat(path)
		if openErr == nil && nameErr == nil && os.SameFile(opened, named) {
			return f, nil
		}
		err = syscall.EWOULDBLOCK
	}
	f.Close()
	return nil, err
}
