package remote

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"
)

// Blobs are sent compressed if the server supports it.

const (
	methodCapabilities = "build.bazel.remote.execution.v2.Capabilities/GetCapabilities"
	compressFrom       = 64 << 10 // smaller blobs are not worth it
	// decoderMemory bounds what a blob of a server's can make the decoder take.
	decoderMemory = 64 << 20
)

// compression is whether the server can do it, once it was asked.
type compression struct {
	once sync.Once
	zstd bool
}

// compresses reports whether a blob of this size is sent compressed. A server that doesn't
// answer gets none.
func (c *Client) compresses(ctx context.Context, size int64) bool {
	if size < compressFrom {
		return false
	}
	c.compression.once.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, c.patience)
		defer cancel()
		var request writer
		request.text(1, c.instance)
		reply, err := c.connection.call(ctx, methodCapabilities, request)
		c.compression.zstd = err == nil && knowsZstd(reply)
	})
	return c.compression.zstd
}

// knowsZstd reads ServerCapabilities: cache_capabilities = 1, of which
// supported_compressors = 6 are numbers, one by one or packed; 1 is zstd.
func knowsZstd(b []byte) (knows bool) {
	eachField(b, func(cache field) error {
		if cache.id != 1 {
			return nil
		}
		return eachField(cache.bytes, func(f field) error {
			if f.id == 6 {
				knows = knows || f.number == 1 || packed(f.bytes, 1)
			}
			return nil
		})
	})
	return knows
}

// packed reports whether a number is in a packed list.
func packed(list []byte, wanted uint64) bool {
	for len(list) > 0 {
		number, n := protowire.ConsumeVarint(list)
		if n < 0 {
			return false
		}
		if number == wanted {
			return true
		}
		list = list[n:]
	}
	return false
}

// compressed returns a reader of the compressed form of data. It must be closed.
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

// A blobReader is the data of a stream of ReadResponse messages (data = 10).
type blobReader struct {
	answer *answer
	ready  []byte
	err    error // what ended it, other than its end
}

func (r *blobReader) Read(p []byte) (int, error) {
	for len(r.ready) == 0 {
		message, err := r.answer.next()
		if err == nil {
			err = eachField(message, func(f field) error {
				if f.id == 10 {
					r.ready = append(r.ready, f.bytes...)
				}
				return nil
			})
		}
		if err != nil {
			if err != io.EOF {
				r.err = err
			}
			return 0, err
		}
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// decompressed returns a reader of what r holds in compressed form.
func decompressed(r io.Reader) (*zstd.Decoder, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(decoderMemory))
}

// copyBlob writes as many bytes as a blob has; an error if there are fewer or more.
func copyBlob(w io.Writer, data io.Reader, size int64) error {
	if _, err := io.CopyN(w, data, size); err == io.EOF {
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
