package bitcode

import (
	"encoding/binary"
	"fmt"
)

// A cursor reads bits, the lowest of each byte first. After the first error it returns zeros
// and doesn't advance, so that callers may check err later.
type cursor struct {
	data []byte
	at   uint64 // in bits
	end  uint64 // in bits, not beyond the data
	err  error
}

func newCursor(data []byte) *cursor { return &cursor{data: data, end: uint64(len(data)) * 8} }

func (c *cursor) fail(err error, format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: "+format, append([]any{err}, args...)...)
	}
}

func (c *cursor) left() uint64 { return c.end - c.at }

// fixed reads a number of up to 64 bits.
func (c *cursor) fixed(width uint64) uint64 {
	if c.err != nil || width == 0 {
		return 0
	}
	if width > c.left() {
		c.fail(ErrTruncated, "%d bits at byte %d", width, c.at/8)
		return 0
	}
	first, shift := c.at/8, c.at%8
	c.at += width
	var window [16]byte
	copy(window[:], c.data[first:])
	low, high := binary.LittleEndian.Uint64(window[:]), binary.LittleEndian.Uint64(window[8:])
	value := low >> shift
	if shift > 0 {
		value |= high << (64 - shift)
	}
	if width < 64 {
		value &= 1<<width - 1
	}
	return value
}

// vbr reads a number in pieces of width bits; the highest bit of a piece is set if another one
// follows.
func (c *cursor) vbr(width uint64) uint64 {
	var value uint64
	for shift := uint64(0); c.err == nil; shift += width - 1 {
		piece := c.fixed(width)
		if shift > 63 {
			c.fail(ErrFormat, "a number of more than 64 bits at byte %d", c.at/8)
			return 0
		}
		more := uint64(1) << (width - 1)
		value |= (piece &^ more) << shift
		if piece&more == 0 {
			return value
		}
	}
	return 0
}

// align goes on to the next multiple of 32 bits.
func (c *cursor) align() {
	if c.err != nil {
		return
	}
	if next := (c.at + 31) &^ 31; next <= c.end {
		c.at = next
	} else {
		c.fail(ErrTruncated, "no whole word at byte %d", c.at/8)
	}
}

// bytes returns length bytes from the cursor on, which must be at a whole byte.
func (c *cursor) bytes(length uint64) []byte {
	if c.err != nil {
		return nil
	}
	if length > c.left()/8 {
		c.fail(ErrTruncated, "%d bytes at byte %d", length, c.at/8)
		return nil
	}
	start := c.at / 8
	c.at += length * 8
	return c.data[start : start+length]
}
