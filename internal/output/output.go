// Package output writes the files that a link leaves behind: each one as a whole, or
// not at all.
package output

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/warpld/warpld/internal/message"
)

const couldNotOpen = "Could not open output file"

// Replace writes a file under another name and moves it into place, so that nobody
// ever sees a part of it. What is no regular file, such as /dev/null, is written to.
func Replace(path string, content io.Reader) error {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return Error(couldNotOpen, path, write(path, os.O_WRONLY, content))
	}
	temporary := fmt.Sprintf("%s.warpld-%d", path, os.Getpid())
	err := write(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, content)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		os.Remove(temporary)
	}
	return Error(couldNotOpen, path, err)
}

// Append adds to the end of a file, which need not exist.
func Append(path string, content io.Reader) error {
	return Error("Cannot open file", path, write(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, content))
}

func write(path string, flag int, content io.Reader) error {
	f, err := os.OpenFile(path, flag, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// FolderError returns the error for a folder that cannot be written to, or nil.
func FolderError(path string, err error) error { return Error(couldNotOpen, path, err) }

// Error returns an error in nvlink's words, which begin with what, or nil.
func Error(what, path string, err error) error {
	if err == nil {
		return nil
	}
	return &message.Message{Severity: message.Fatal, ID: "output", Text: fmt.Sprintf("%s '%s'", what, path),
		Notes: []string{err.Error()}, Hint: "check that the directory exists and can be written to", Cause: err}
}

// Path returns path, or the file of a name in it if it is a folder. With a folder each
// link of a build has files of its own: nvcc links once for every architecture, with
// the same options.
func Path(path, name string) string {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return path
	}
	return filepath.Join(path, name)
}
