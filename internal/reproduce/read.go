package reproduce

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Bounds of what is unpacked. Objects compress to a tenth, those without compression
// to a fiftieth at best: what grows a thousandfold is no link.
const (
	maxFiles    = 200_000
	maxManifest = 64 << 20
	maxWindow   = 128 << 20
	maxBytes    = 64 << 30
	freeBytes   = 64 << 20
	maxGrowth   = 1000
)

// Unpack writes the files of an archive of so many bytes into a folder that is empty.
func Unpack(r io.Reader, size int64, dir string) (*Package, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	limit := min(maxBytes, freeBytes+maxGrowth*size)
	bounded := &io.LimitedReader{R: z, N: limit}
	u := &unpacker{tar: tar.NewReader(bounded), root: root, known: map[string]bool{}}
	p, err := u.manifest()
	for err == nil {
		err = u.next()
	}
	switch {
	case errors.Is(err, errEnd):
		return p, p.check(u.known)
	case bounded.N <= 0:
		return nil, fmt.Errorf("%w: it has more than %d MB", ErrLimit, limit>>20)
	}
	return nil, err
}

var errEnd = errors.New("end of the archive")

type unpacker struct {
	tar   *tar.Reader
	root  *os.Root
	known map[string]bool // the files written so far
}

// manifest reads the first file, which is not written.
func (u *unpacker) manifest() (*Package, error) {
	h, err := u.tar.Next()
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrFormat, err)
	}
	if h.Name != manifest || h.Typeflag != tar.TypeReg || h.Size > maxManifest {
		return nil, fmt.Errorf("%w: it does not begin with %s", ErrFormat, manifest)
	}
	p := &Package{}
	if err := json.NewDecoder(u.tar).Decode(p); err != nil {
		return nil, fmt.Errorf("%w: %s: %v", ErrFormat, manifest, err)
	}
	if p.Format != Format {
		return nil, fmt.Errorf("%w: its format is %d, this one reads %d", ErrVersion, p.Format, Format)
	}
	return p, nil
}

// next unpacks one file.
func (u *unpacker) next() error {
	h, err := u.tar.Next()
	switch {
	case errors.Is(err, io.EOF):
		return errEnd
	case err != nil:
		return fmt.Errorf("%w: %v", ErrFormat, err)
	case len(u.known) == maxFiles:
		return fmt.Errorf("%w: it has more than %d files", ErrLimit, maxFiles)
	case !Inside(h.Name) || u.known[h.Name]:
		return fmt.Errorf("%w: a file must not have the name %q", ErrFormat, h.Name)
	}
	if err := u.root.MkdirAll(path.Dir(h.Name), 0o777); err != nil {
		return err
	}
	switch {
	case h.Typeflag == tar.TypeReg:
		err = u.write(h.Name)
	case h.Typeflag == tar.TypeLink && u.known[h.Linkname]:
		err = u.root.Link(h.Linkname, h.Name)
	default:
		err = fmt.Errorf("%w: %q is neither a file nor the same as one before", ErrFormat, h.Name)
	}
	u.known[h.Name] = true
	return err
}

func (u *unpacker) write(name string) error {
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, u.tar)
	return errors.Join(err, f.Close())
}

// Inside reports whether a name is one of a file in the archive.
func Inside(name string) bool {
	folder, rest, _ := strings.Cut(name, "/")
	known := folder == Inputs || folder == Libraries
	return known && rest != "" && len(name) < 1024 && path.Clean(name) == name && filepath.IsLocal(name)
}

// check looks at what the manifest says of files.
func (p *Package) check(known map[string]bool) error {
	if p.Output != "" && (p.Output != path.Base(p.Output) || !filepath.IsLocal(p.Output)) {
		return fmt.Errorf("%w: the output must not have the name %q", ErrFormat, p.Output)
	}
	for _, f := range p.Toolkit {
		if !Inside(f.Name) || known[f.Name] || f.File != path.Base(f.File) || !filepath.IsLocal(f.File) {
			return fmt.Errorf("%w: a library of the toolkit must not have the names %q and %q", ErrFormat, f.Name, f.File)
		}
		known[f.Name] = true
	}
	return nil
}

// LinkToolkit puts the libraries of the toolkit of this machine among the files that
// were unpacked. find gives the path of one.
func (p *Package) LinkToolkit(dir string, find func(file string) (string, error)) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range p.Toolkit {
		target, err := find(f.File)
		if err == nil {
			err = root.MkdirAll(path.Dir(f.Name), 0o777)
		}
		if err == nil {
			err = root.Symlink(target, f.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
