package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"

	"github.com/warpld/warpld/internal/action"
)

// temporaryPrefix begins the names of files that are not complete yet.
const temporaryPrefix = "tmp-"

// write writes a file of the cache atomically.
func (c *Cache) write(path string, text []byte) error {
	f, err := c.temporary()
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return c.finish(f, err, path, int64(len(text)))
}

// keepBlob copies an output into the cache.
func (c *Cache) keepBlob(content action.Content) (action.Digest, error) {
	in, err := content.Open()
	if err != nil {
		return action.Digest{}, err
	}
	defer in.Close()
	f, err := c.temporary()
	if err != nil {
		return action.Digest{}, err
	}
	digest, err := copyHashing(f, in)
	return digest, c.finish(f, err, c.path("blobs", digest.Hash), digest.Size)
}

func (c *Cache) temporary() (*os.File, error) {
	return os.CreateTemp(c.dir, temporaryPrefix)
}

// finish closes a temporary file and moves it to its place, or removes it.
func (c *Cache) finish(f *os.File, err error, path string, size int64) error {
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
		if os.IsNotExist(err) {
			if err = os.MkdirAll(filepath.Dir(path), 0o777); err == nil {
				err = os.Rename(f.Name(), path)
			}
		}
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	c.stored.Add(size)
	return nil
}

// copyFile copies a file and names what it copied.
func copyFile(from, to string) (action.Digest, error) {
	in, err := os.Open(from)
	if err != nil {
		return action.Digest{}, err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return action.Digest{}, err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return action.Digest{}, err
	}
	digest, err := copyHashing(out, in)
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	return digest, err
}

func copyHashing(w io.Writer, r io.Reader) (action.Digest, error) {
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, h), r)
	return action.Digest{Hash: hex.EncodeToString(h.Sum(nil)), Size: n}, err
}
