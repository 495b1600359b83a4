// Package offload reads the containers in which clang puts device code into host
// objects, in the section .llvm.offloading. A section holds one container for each
// architecture, back to back, and those of several objects after "ld -r".
//
// All numbers are little-endian, and offsets count from the start of the container:
//
//	 0 magic 10 ff 10 ad
//	 4 u32 version (1)
//	 8 u64 size of the container
//	16 u64 offset, 24 u64 size of the entry:
//	   0 u16 kind of the image, 2 u16 programming model, 4 u32 flags
//	   8 u64 offset, 16 u64 number of the properties: u64 offset of the key, u64 of the value
//	  24 u64 offset, 32 u64 size of the image
package offload

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// What can be wrong with a container. Errors of this package wrap one of these.
var (
	ErrFormat    = errors.New("not as clang's offloading format has it")
	ErrTruncated = errors.New("offloading container is cut off")
	// ErrVersion: the container is of another version than the one known here.
	ErrVersion = errors.New("offloading container of another version")
)

// Section is where host objects keep the containers.
const Section = ".llvm.offloading"

// A Kind is the type of an image. There are more than the ones named here.
type Kind uint16

const (
	Object  Kind = 1
	Bitcode Kind = 2
	Cubin   Kind = 3
	Fatbin  Kind = 4
	PTX     Kind = 5
)

func (k Kind) String() string {
	switch k {
	case Object:
		return "object"
	case Bitcode:
		return "bitcode"
	case Cubin:
		return "cubin"
	case Fatbin:
		return "fat binary"
	case PTX:
		return "PTX"
	}
	return fmt.Sprintf("kind %d", uint16(k))
}

// An Image is one piece of device code.
type Image struct {
	Kind   Kind
	Triple string
	Arch   string // as clang names it: "sm_90a"
	Offset int64
	Size   int64
}

const (
	magic        = "\x10\xff\x10\xad"
	version      = 1
	headerSize   = 32
	entrySize    = 40
	pairSize     = 16
	maxPairs     = 256
	maxText      = 4096
	maxImages    = 1 << 16
	imageAligned = 8
)

// Read reads the containers that are the first size bytes of r.
func Read(r io.ReaderAt, size int64) ([]Image, error) {
	var images []Image
	for at := int64(0); size-at >= headerSize; {
		c := container{r: r, start: at, size: size - at}
		image, err := c.read()
		if err != nil {
			return nil, fmt.Errorf("offloading container at %#x: %w", at, err)
		}
		if len(images) == maxImages {
			return nil, fmt.Errorf("%w: more than %d images", ErrFormat, maxImages)
		}
		images = append(images, image)
		at += (c.size + imageAligned - 1) / imageAligned * imageAligned
	}
	return images, nil
}

// A container is one that is being read; size is the one in its header once that was read.
type container struct {
	r     io.ReaderAt
	start int64
	size  int64
}

func (c *container) read() (Image, error) {
	le := binary.LittleEndian
	header, err := c.bytes(0, headerSize)
	if err != nil {
		return Image{}, err
	}
	total, at, length := le.Uint64(header[8:]), le.Uint64(header[16:]), le.Uint64(header[24:])
	switch {
	case string(header[:4]) != magic:
		return Image{}, fmt.Errorf("%w: starts with % x", ErrFormat, header[:4])
	case le.Uint32(header[4:]) != version:
		return Image{}, fmt.Errorf("%w: version %d, known is %d", ErrVersion, le.Uint32(header[4:]), version)
	case total < headerSize || length < entrySize:
		return Image{}, fmt.Errorf("%w: %d bytes with an entry of %d", ErrFormat, total, length)
	case total > uint64(c.size):
		return Image{}, fmt.Errorf("%w: %d of %d bytes are there", ErrTruncated, c.size, total)
	}
	c.size = int64(total)
	entry, err := c.bytes(at, entrySize)
	if err != nil {
		return Image{}, err
	}
	image := Image{Kind: Kind(le.Uint16(entry))}
	offset, imageSize := le.Uint64(entry[24:]), le.Uint64(entry[32:])
	if !c.holds(offset, imageSize) {
		return Image{}, fmt.Errorf("%w: image of %d bytes at %#x", ErrTruncated, imageSize, offset)
	}
	image.Offset, image.Size = c.start+int64(offset), int64(imageSize)
	return image, c.properties(&image, le.Uint64(entry[8:]), le.Uint64(entry[16:]))
}

// properties reads the properties of the container's image.
func (c *container) properties(image *Image, at, count uint64) error {
	if count > maxPairs {
		return fmt.Errorf("%w: %d properties", ErrFormat, count)
	}
	pairs, err := c.bytes(at, int(count)*pairSize)
	if err != nil {
		return err
	}
	for ; len(pairs) > 0; pairs = pairs[pairSize:] {
		key, err := c.text(binary.LittleEndian.Uint64(pairs))
		if err != nil {
			return err
		}
		value, err := c.text(binary.LittleEndian.Uint64(pairs[8:]))
		if err != nil {
			return err
		}
		switch key {
		case "triple":
			image.Triple = value
		case "arch":
			image.Arch = value
		}
	}
	return nil
}

func (c *container) holds(offset, length uint64) bool {
	return offset <= uint64(c.size) && length <= uint64(c.size)-offset
}

func (c *container) bytes(offset uint64, length int) ([]byte, error) {
	if !c.holds(offset, uint64(length)) {
		return nil, fmt.Errorf("%w: %d bytes at %#x of %#x", ErrTruncated, length, offset, c.size)
	}
	b := make([]byte, length)
	n, err := c.r.ReadAt(b, c.start+int64(offset))
	switch {
	case n == length:
		return b, nil
	case err == nil, errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: no %d bytes at %#x", ErrTruncated, length, offset)
	}
	return nil, err
}

// text reads a string that ends in a NUL.
func (c *container) text(offset uint64) (string, error) {
	if !c.holds(offset, 1) {
		return "", fmt.Errorf("%w: a string at %#x of %#x", ErrTruncated, offset, c.size)
	}
	b, err := c.bytes(offset, int(min(uint64(c.size)-offset, maxText)))
	if err != nil {
		return "", err
	}
	end := bytes.IndexByte(b, 0)
	if end < 0 {
		return "", fmt.Errorf("%w: the string at %#x does not end", ErrFormat, offset)
	}
	return string(b[:end]), nil
}
