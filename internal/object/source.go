package object

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrChanged: a file is not the one that was read at the start of the link.
var ErrChanged = errors.New("file was changed during the link")

// maxSource is the size of the largest input that is ever read as a whole.
const maxSource = 1 << 32

// A Source is where bytes of an input are: a file, or a part of one.
type Source struct {
	Path   string
	Offset int64
	Size   int64

	fileSize int64
	modified time.Time
}

// part is a piece of a source.
func (s Source) part(offset, size int64) Source {
	s.Offset += offset
	s.Size = size
	return s
}

// An OpenSource reads the bytes of a Source, with offsets from its start.
type OpenSource struct {
	*io.SectionReader
	file *os.File
}

// Open opens the file. It must still be the file that was read.
func (s Source) Open() (*OpenSource, error) {
	f, err := openAtOnce(s.Path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	if info.Size() != s.fileSize || !info.ModTime().Equal(s.modified) {
		f.Close()
		return nil, fmt.Errorf("%s: %w", s.Path, ErrChanged)
	}
	return &OpenSource{io.NewSectionReader(f, s.Offset, s.Size), f}, nil
}

// Close closes the file.
func (o *OpenSource) Close() error { return o.file.Close() }

// Read reads all bytes of the source.
func (s Source) Read() ([]byte, error) {
	o, err := s.Open()
	if err != nil {
		return nil, err
	}
	defer o.Close()
	return o.all()
}

func (o *OpenSource) all() ([]byte, error) {
	if o.Size() > maxSource {
		return nil, fmt.Errorf("%d bytes are more than can be linked", o.Size())
	}
	data := make([]byte, o.Size())
	_, err := io.ReadFull(io.NewSectionReader(o.SectionReader, 0, o.Size()), data)
	return data, err
}

// mapped are the bytes of the source as a part of our memory, from which they never
// go: those of a large file need not be copied. It must not be cut while it is linked.
func (o *OpenSource) mapped() ([]byte, error) {
	const least = 1 << 20
	_, offset, size := o.Outer()
	if size < least || size > maxSource {
		return o.all()
	}
	page := int64(os.Getpagesize())
	start := offset / page * page
	data, err := unix.Mmap(int(o.file.Fd()), start, int(offset-start+size), unix.PROT_READ,
		unix.MAP_PRIVATE|unix.MAP_POPULATE)
	if err != nil {
		return o.all()
	}
	return data[offset-start:], nil
}

// openAtOnce opens a file for reading and, if it is a pipe, does not wait for its other end.
// Because the file is opened in this mode, the runtime does not test it for polling, which
// takes as long as reading a small file.
func openAtOnce(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// openFile opens a regular file for reading it as a source.
func openFile(path string) (*os.File, Source, error) {
	f, err := openAtOnce(path)
	if err != nil {
		return nil, Source{}, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, Source{}, err
	}
	return f, Source{Path: path, Size: info.Size(), fileSize: info.Size(), modified: info.ModTime()}, nil
}
