// Package reproduce is the format of a packed link: a tar archive, compressed by
// zstd, that begins with link.json and has the inputs behind it. The same link gives
// the same archive. What is read is not trusted.
package reproduce

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Format is the version of the archive.
const Format = 1

// What can be wrong with an archive.
var (
	ErrFormat  = errors.New("not a packed link")
	ErrVersion = errors.New("the link was packed by another version of warpld")
	ErrLimit   = errors.New("the packed link is too large")
)

// Names in the archive. Folders hold what their names say.
const (
	manifest  = "link.json"
	Inputs    = "inputs"
	Libraries = "libraries"
)

// A Package is link.json.
type Package struct {
	Format int    `json:"format"`
	Warpld string `json:"warpld"`
	CUDA   string `json:"cuda"`
	LLVM   int    `json:"llvm,omitempty"`
	// Arguments are those of options.Portable, with names in the archive.
	Arguments []string `json:"arguments"`
	// Output is the name of the output file. It is empty if -o was not given.
	Output string `json:"output,omitempty"`
	// Record is the command line that nvlink would write into its output, if that
	// has to be the same.
	Record string `json:"record,omitempty"`
	// Toolkit are the inputs that belong to the toolkit, which is not packed.
	Toolkit []FromToolkit `json:"toolkit,omitempty"`
}

// A FromToolkit is a library of the toolkit under a name in the archive.
type FromToolkit struct {
	Name string `json:"name"`
	File string `json:"file"`
}

// A File is an input under its name in the archive.
type File struct {
	Name string
	Path string // empty: an empty file
	// SameAs is the name of an earlier one that is the same file, not a copy of it.
	SameAs string
}

// Write packs a link.
func Write(w io.Writer, p *Package, files []File) error {
	p.Format = Format
	text, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		return err
	}
	// One thread, so that the cuts between blocks do not depend on the machine.
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	err = writeFile(t, manifest, int64(len(text)), bytes.NewReader(text))
	for i := 0; err == nil && i < len(files); i++ {
		err = add(t, &files[i])
	}
	return errors.Join(err, t.Close(), z.Close())
}

func add(t *tar.Writer, f *File) error {
	switch {
	case f.SameAs != "":
		return t.WriteHeader(header(f.Name, tar.Header{Typeflag: tar.TypeLink, Linkname: f.SameAs}))
	case f.Path == "":
		return writeFile(t, f.Name, 0, bytes.NewReader(nil))
	}
	file, err := os.Open(f.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return writeFile(t, f.Name, info.Size(), file)
}

func writeFile(t *tar.Writer, name string, size int64, content io.Reader) error {
	if err := t.WriteHeader(header(name, tar.Header{Typeflag: tar.TypeReg, Size: size})); err != nil {
		return err
	}
	if _, err := io.CopyN(t, content, size); err != nil {
		return fmt.Errorf("%s: %w", path.Base(name), err)
	}
	return nil
}

// header completes a header with what is the same for all files.
func header(name string, h tar.Header) *tar.Header {
	h.Name, h.Mode, h.ModTime, h.Format = name, 0o644, time.Unix(0, 0), tar.FormatPAX
	return &h
}
