// Package inventory opens files, folders and wheels and finds the files with device code
// in them.
package inventory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/container"
)

// Found is what was read of one path.
type Found[T any] struct {
	Results  []T
	Messages []*message.Message
}

// Read calls read for each file with a form that may hold device code: those named, those
// inside of archives and wheels, and those below folders. Several files are read at once;
// the results are in the order of the paths. What is damaged inside of something else is a
// warning, and what is named and can't be read is an error.
func Read[T any](paths []string, read func(*container.File) (T, error)) (results []T, warnings []*message.Message,
	err error) {
	files, err := expand(paths)
	if err != nil {
		return nil, nil, err
	}
	found := make([]Found[T], len(files))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, f := range files {
		group.Go(func() error { return readFile(f, &found[i], read) })
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	for _, f := range found {
		results = append(results, f.Results...)
		warnings = append(warnings, f.Messages...)
	}
	return results, warnings, nil
}

// A file is one to be read; one that a folder has may be of any form.
type file struct {
	path  string
	named bool
}

// expand replaces folders by the files below them, in the order of their names. Symbolic
// links below folders are not followed: libraries have several names.
func expand(paths []string) (files []file, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, couldNotRead(path, err)
		}
		if !info.IsDir() {
			files = append(files, file{path, true})
			continue
		}
		err = filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				files = append(files, file{path, false})
			}
			return err
		})
		if err != nil {
			return nil, couldNotRead(path, err)
		}
	}
	return files, nil
}

func readFile[T any](f file, found *Found[T], read func(*container.File) (T, error)) error {
	in, err := Open(f.path)
	if err != nil {
		return couldNotRead(f.path, err)
	}
	defer in.Close()
	damaged := func(name string, err error) error {
		m := couldNotRead(name, err)
		m.Severity = message.Warning
		found.Messages = append(found.Messages, m)
		return nil
	}
	var failed error
	w := container.Walker{
		Visit: func(f *container.File) error {
			var result T
			if result, failed = read(f); failed == nil {
				found.Results = append(found.Results, result)
			}
			return failed
		},
		Damaged: damaged, Store: store, Open: beside(f.path),
	}
	err = w.Walk(f.path, in.File, in.Size)
	switch {
	case failed != nil:
		return failed
	case errors.Is(err, container.ErrUnknown) && !f.named:
		return nil
	case err != nil && !f.named:
		return damaged(f.path, err)
	case err != nil:
		return couldNotRead(f.path, err)
	}
	return nil
}

// An Input is a regular file that is open for reading.
type Input struct {
	File *os.File
	Size int64
}

// Close closes the file.
func (in *Input) Close() error { return in.File.Close() }

// Open opens a regular file. It does not wait for the other end of a pipe.
func Open(path string) (*Input, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &Input{f, info.Size()}, nil
}

// beside opens the members of a thin archive, which have paths from the archive's folder.
func beside(archive string) func(string) (io.ReaderAt, int64, func(), error) {
	return func(path string) (io.ReaderAt, int64, func(), error) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(archive), path)
		}
		in, err := Open(path)
		if err != nil {
			return nil, 0, nil, err
		}
		return in.File, in.Size, func() { in.Close() }, nil
	}
}

// store writes an entry of a wheel to a temporary file that has no name any more.
func store(r io.Reader, size int64) (io.ReaderAt, func(), error) {
	f, err := os.CreateTemp("", "warpld-*")
	if err != nil {
		return nil, nil, err
	}
	err = os.Remove(f.Name())
	if err == nil {
		var n int64
		if n, err = io.Copy(f, io.LimitReader(r, size+1)); err == nil && n != size {
			err = fmt.Errorf("%w: %d bytes where %d are declared", container.ErrFormat, n, size)
		}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, func() { f.Close() }, nil
}

// couldNotRead returns the message for a file that can't be read.
func couldNotRead(name string, err error) *message.Message {
	m := &message.Message{Severity: message.Fatal, ID: "unreadable", Origin: message.Origin{File: name},
		Text: fmt.Sprintf("%s: %v", name, err), Cause: err}
	if errors.Is(err, container.ErrUnknown) {
		m.Hint = "give object files, archives, shared libraries, executables, .fatbin, .cubin, wheels or folders of these"
	}
	return m
}
