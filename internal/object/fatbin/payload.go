package fatbin

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// MaxPayload is the size that no payload may exceed, expanded. Device code of
// that size cannot be loaded by a driver.
const MaxPayload = 1 << 31

// The most that one byte can expand to: an LZ4 length byte stands for 255, a
// zstd block of 4 bytes for 128 KiB. What is beyond is a lie, and not believed
// with an allocation.
const (
	maxLZ4Ratio  = 255
	maxZstdRatio = 128 << 10 / 4
	ratioSlack   = 128 << 10
)

// Size is the size of the payload, expanded. A stored payload may be followed
// by up to 7 zeros, which count.
func (m *Member) Size() int64 {
	if m.Flags&(LZ4|Zstd) == 0 {
		return m.Length
	}
	return m.expanded
}

// Payload reads and expands the payload from what the container was read from.
// It is not longer than limit.
func (m *Member) Payload(r io.ReaderAt, limit int64) ([]byte, error) {
	data, err := m.payload(r, min(limit, MaxPayload))
	if err != nil {
		return nil, &Error{m.Offset, err}
	}
	return data, nil
}

func (m *Member) payload(r io.ReaderAt, limit int64) ([]byte, error) {
	if m.Flags&Obfuscated != 0 {
		return nil, ErrObfuscated
	}
	stored, ratio := m.Length, int64(1)
	switch m.Flags & (LZ4 | Zstd) {
	case LZ4:
		stored, ratio = m.compressed, maxLZ4Ratio
	case Zstd:
		stored, ratio = m.compressed, maxZstdRatio
	case LZ4 | Zstd:
		return nil, fmt.Errorf("%w: compressed in two ways", ErrFormat)
	}
	if size := m.Size(); size > limit || stored > limit {
		return nil, fmt.Errorf("%w: %d bytes", ErrTooLarge, size)
	} else if size > stored*ratio+ratioSlack {
		return nil, fmt.Errorf("%w: %d bytes cannot expand to %d", ErrFormat, stored, size)
	}
	data := make([]byte, stored)
	if err := readFull(r, data, m.Offset); err != nil {
		return nil, err
	}
	switch m.Flags & (LZ4 | Zstd) {
	case LZ4:
		expanded := make([]byte, m.expanded)
		if err := decodeLZ4(expanded, data); err != nil {
			return nil, err
		}
		return expanded, nil
	case Zstd:
		return expandZstd(data, m.expanded)
	}
	return data, nil
}

var decoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(128<<20))
	if err != nil {
		panic(err) // the options are constant
	}
	return d
}}

// expandZstd expands data to exactly size bytes. Its buffer grows with what is
// really there.
func expandZstd(data []byte, size int64) ([]byte, error) {
	var header zstd.Header
	if err := header.Decode(data); err != nil {
		return nil, fmt.Errorf("%w: zstd: %w", ErrFormat, err)
	}
	// A compressor uses no window larger than the data, rounded up.
	if header.WindowSize > 2*uint64(size)+ratioSlack {
		return nil, fmt.Errorf("%w: zstd: window of %d bytes for %d", ErrFormat, header.WindowSize, size)
	}
	d := decoders.Get().(*zstd.Decoder)
	defer decoders.Put(d)
	defer d.Reset(nil)
	if err := d.Reset(bytes.NewReader(data)); err != nil {
		return nil, fmt.Errorf("%w: zstd: %w", ErrFormat, err)
	}
	var b bytes.Buffer
	b.Grow(int(min(size, 64*int64(len(data)))) + bytes.MinRead)
	n, err := io.Copy(&b, io.LimitReader(d, size+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: zstd: %w", ErrFormat, err)
	case n != size:
		return nil, fmt.Errorf("%w: zstd: %d bytes where %d are declared", ErrFormat, n, size)
	}
	return b.Bytes(), nil
}
