package merge

import (
	"errors"
	"io"

	"github.com/warpld/warpld/internal/merge/device"
)

// passThroughSize is the size from which writing a piece by itself takes less time than
// copying it.
const passThroughSize = 1 << 16

// An image is an output as it is written: a file, and the pieces that it lacks.
type image struct {
	file        []byte
	passThrough []device.PassThrough
}

func newImage(o *device.Output) *image { return &image{o.Cubin, o.PassThrough} }

// Size implements action.Stream.
func (m *image) Size() int64 { return int64(len(m.file)) }

// pieces calls do with all bytes from an offset to another, in their order.
func (m *image) pieces(from, to int64, do func([]byte) error) error {
	piece := func(start int64, data []byte) error {
		data = data[min(max(from-start, 0), int64(len(data))):min(max(to-start, 0), int64(len(data)))]
		if len(data) == 0 {
			return nil
		}
		return do(data)
	}
	at := int64(0)
	for _, s := range m.passThrough {
		if err := errors.Join(piece(at, m.file[at:s.Offset]), piece(s.Offset, s.Data)); err != nil {
			return err
		}
		at = s.Offset + int64(len(s.Data))
	}
	return piece(at, m.file[at:])
}

// ReadAt implements io.ReaderAt.
func (m *image) ReadAt(b []byte, offset int64) (n int, err error) {
	if offset >= m.Size() && len(b) > 0 {
		return 0, io.EOF
	}
	m.pieces(offset, offset+int64(len(b)), func(data []byte) error {
		n += copy(b[n:], data)
		return nil
	})
	if n < len(b) {
		err = io.EOF
	}
	return n, err
}

// WriteTo implements io.WriterTo.
func (m *image) WriteTo(w io.Writer) (written int64, err error) {
	err = m.pieces(0, m.Size(), func(data []byte) error {
		n, err := w.Write(data)
		written += int64(n)
		return err
	})
	return written, err
}
