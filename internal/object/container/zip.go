package container

import (
	"archive/zip"
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/warpld/warpld/internal/object/ar"
	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/internal/object/fatbin"
)

const (
	// maxEntry is the size of the largest entry that is expanded, and maxRatio the most that
	// Deflate can make of a byte. What claims more is not believed.
	maxEntry = 1 << 34
	maxRatio = 1032
	// maxEntries is how many entries are looked at.
	maxEntries = 1 << 20
)

func isZip(head []byte) bool { return bytes.HasPrefix(head, []byte("PK\x03\x04")) }

// zip walks through the entries of a wheel.
func (w *Walker) zip(f *File) error {
	z, err := zip.NewReader(f.R, f.Size)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if len(z.File) > maxEntries {
		return fmt.Errorf("%w: %d entries", ErrTooLarge, len(z.File))
	}
	for _, entry := range z.File {
		if strings.HasSuffix(entry.Name, "/") {
			continue
		}
		if err := w.entry(f, entry); err != nil {
			return err
		}
	}
	return nil
}

// entry walks through one entry, if it may be or hold a file with device code.
func (w *Walker) entry(f *File, entry *zip.File) error {
	inner := f.inside(entry.Name, nil, int64(min(entry.UncompressedSize64, maxEntry+1)))
	if entry.UncompressedSize64 > maxEntry || entry.UncompressedSize64/maxRatio > entry.CompressedSize64 {
		return w.Damaged(inner.Name(), fmt.Errorf("%w: %d bytes, %d compressed", ErrTooLarge,
			entry.UncompressedSize64, entry.CompressedSize64))
	}
	if entry.Method == zip.Store {
		offset, err := entry.DataOffset()
		if err != nil || offset < 0 || inner.Size > f.Size-offset {
			return w.Damaged(inner.Name(), fmt.Errorf("%w: entry at %d", ErrFormat, offset))
		}
		inner.R = io.NewSectionReader(f.R, offset, inner.Size)
		return w.inner(inner)
	}
	content, err := entry.Open()
	if err != nil {
		return w.Damaged(inner.Name(), fmt.Errorf("%w: %w", ErrFormat, err))
	}
	defer content.Close()
	buffered := bufio.NewReader(content)
	head, err := buffered.Peek(int(min(inner.Size, elf64.HeaderSize)))
	if err != nil {
		return w.Damaged(inner.Name(), fmt.Errorf("%w: %w", ErrFormat, err))
	}
	if !elf64.IsELF(head) && !fatbin.IsContainer(head) && !ar.IsArchive(head) {
		return nil
	}
	if w.Store == nil {
		return w.Damaged(inner.Name(), fmt.Errorf("%w: it is compressed", ErrFormat))
	}
	stored, discard, err := w.Store(buffered, inner.Size)
	if err != nil {
		return w.Damaged(inner.Name(), err)
	}
	defer discard()
	inner.R = stored
	return w.inner(inner)
}
