package reapi

import (
	"context"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Blobs are sent compressed if the server supports it.

const (
	compressFrom = 64 << 10 // smaller blobs are not worth it
	// decoderMemory bounds what a blob of a server's can make the decoder take.
	decoderMemory = 64 << 20
)

// compresses reports whether a blob of this size is sent compressed.
func (c *Client) compresses(ctx context.Context, size int64) bool {
	return size >= compressFrom && c.cacheCan.get(ctx, c, c.instance).zstd
}

// compressed returns a reader of the compressed form of data, which is the same each time. It
// must be closed.
func compressed(data io.Reader) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		e, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		if err == nil {
			_, err = io.Copy(e, data)
			if closeErr := e.Close(); err == nil {
				err = closeErr
			}
		}
		w.CloseWithError(err)
	}()
	return r
}

// decompressed returns a reader of what r holds in compressed form.
func decompressed(r io.Reader) (*zstd.Decoder, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(decoderMemory))
}

// copyBlob writes the rest of a blob; an error if there are fewer or more bytes.
func copyBlob(w io.Writer, data io.Reader, rest int64) error {
	if _, err := io.CopyN(w, data, rest); err == io.EOF {
		return fmt.Errorf("%w: a blob has other bytes: it is too short", errRefused)
	} else if err != nil {
		return err
	}
	switch n, err := io.ReadFull(data, make([]byte, 1)); {
	case n > 0:
		return fmt.Errorf("%w: a blob is longer than its digest says", errRefused)
	case err != io.EOF:
		return err
	}
	return nil
}
