package link

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/warpld/warpld/internal/merge"
	"github.com/warpld/warpld/internal/message"
)

// writeOutputs puts the results where the command line wants them. All that can
// fail has been done: a link that fails leaves no output.
func (l *linker) writeOutputs(b *build) error {
	r, err := b.output.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	if err := b.writeRemarks(); err != nil {
		return err
	}
	err = replaceFile(l.options.Output, r)
	l.written = err == nil
	if err != nil || l.emitsPTX() {
		return err
	}
	return l.writeRegistration(l.plan.RegisterIDs(b.whole, b.registered))
}

// writeRegistration leaves a file that exists as it is: nvcc links for one
// architecture after the other with the same file, and the first one fills it.
func (l *linker) writeRegistration(ids []string) error {
	path := l.options.RegisterLinkBinaries
	if path == "" {
		return nil
	}
	if _, err := os.Stat(path); err == nil {
		l.say("%s exists and is left as it is", path)
		return nil
	}
	return replaceFile(path, strings.NewReader(merge.Registration(ids)))
}

// replaceFile writes a file under another name and moves it into place, so that
// nobody ever sees a part of it. What is no regular file, such as /dev/null, is
// written to.
func replaceFile(path string, content io.Reader) error {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return cannotWrite("Could not open output file", path, writeTo(path, os.O_WRONLY, content))
	}
	temporary := fmt.Sprintf("%s.warpld-%d", path, os.Getpid())
	err := writeTo(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, content)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		os.Remove(temporary)
	}
	return cannotWrite("Could not open output file", path, err)
}

func writeTo(path string, flag int, content io.Reader) error {
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

// cannotWrite is the error in nvlink's words.
func cannotWrite(what, path string, err error) error {
	if err == nil {
		return nil
	}
	return &message.Message{Severity: message.Fatal, ID: "output", Text: fmt.Sprintf("%s '%s'", what, path),
		Notes: []string{err.Error()}, Hint: "check that the directory exists and can be written to", Cause: err}
}
