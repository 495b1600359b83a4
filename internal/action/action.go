// Package action describes the costly steps of a link as values.
//
// An Action is pure: a tool, arguments, named inputs and named outputs, and
// nothing else that could change the result. The same value can therefore be
// run here, be found in a cache or be sent to another machine; its key is the
// one that Bazel's Remote Execution API gives it. Only the packages below this
// one start processes or open sockets.
package action

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// An Action is one step. Its working directory holds exactly its inputs, under
// the names given here, and its outputs are files there too.
type Action struct {
	// Label says to people what the step does: "compile", "assemble".
	Label string
	// Kernels are those that a step compiles or assembles, if it is a part of the program.
	// They are no part of the key.
	Kernels []string
	// Tool is the program. Its Name is argv[0].
	Tool File
	Args []string
	// Env is the whole environment, sorted, as NAME=value.
	Env     []string
	Inputs  []File
	Outputs []string
	// Impure is why the result may depend on more than this. It is empty if it does not.
	// An impure step runs on this machine and its result is not kept.
	Impure string
	// Limit ends the step after this time; zero is no limit.
	Limit time.Duration
	// CPULimit ends the step when it has used this much processor time, in whole seconds and
	// at least one; zero is no limit. A busy machine does not change what it allows. It is no
	// part of the key, and only a step on this machine has it.
	CPULimit time.Duration
	// Stall ends the step when it has used no processor for this long, which means
	// that it waits for itself; zero lets it wait.
	Stall time.Duration
	// MemoryLimit is how many bytes the tool may take; zero is no limit.
	MemoryLimit int64
	// FileLimit is how many bytes a file may have that the tool writes; zero is no
	// limit.
	FileLimit int64
	Cost      Estimate
	// InProcess does the step in this process, with the same result as the tool. It is
	// nil if only the tool can. It is no part of the key.
	InProcess func() *Result
}

// An Estimate is what a step is expected to need. It orders and bounds work; it
// never changes a result and is no part of the key.
type Estimate struct {
	Memory int64 // bytes
}

// A File is an input under its name in the working directory.
type File struct {
	Name string // relative, slash separated
	// Origin is where people know it from; it is no part of the key.
	Origin string
	// Toolchain marks what is the same in every link, such as a library of the
	// toolkit; it is no part of the key.
	Toolchain bool
	Content
}

// A Content is a sequence of bytes that has not been read yet: it lies in a file
// as it is, or is made on demand.
type Content struct {
	Path string
	Load func() ([]byte, error)
	// Stream has bytes that lie in several places. It is nil if they are one piece.
	Stream Stream
	// Sum returns the digest of what is loaded. Without it, it is loaded for that.
	Sum func() (Digest, error)
}

// A Stream is bytes that can be read anywhere, and be written without being put
// together before.
type Stream interface {
	io.ReaderAt
	io.WriterTo
	Size() int64
}

// A Reader reads a Content.
type Reader interface {
	io.ReadCloser
	io.ReaderAt
}

// A reading is a Reader for what lies in memory.
type reading struct {
	*io.SectionReader
	io.WriterTo
}

func (reading) Close() error { return nil }

func readingOf(s Stream) reading { return reading{io.NewSectionReader(s, 0, s.Size()), s} }

// Shared is a Content that several actions have, so that its digest is found once.
func Shared(load func() ([]byte, error)) Content {
	return Content{Load: load, Sum: sync.OnceValues(func() (Digest, error) { return Content{Load: load}.Digest() })}
}

// Bytes is a Content that is in memory already.
func Bytes(b []byte) Content {
	return Content{Load: func() ([]byte, error) { return b, nil }}
}

// AtPath is a Content that is the whole of a file.
func AtPath(path string) Content { return Content{Path: path} }

// Size is how many bytes there are, zero if that is not known.
func (c Content) Size() int64 {
	switch {
	case c.Sum != nil:
		digest, _ := c.Sum()
		return digest.Size
	case c.Stream != nil:
		return c.Stream.Size()
	case c.Load != nil:
		b, _ := c.Load()
		return int64(len(b))
	}
	if info, err := os.Stat(c.Path); err == nil {
		return info.Size()
	}
	return 0
}

// Open gives the bytes one after the other, or by their places.
func (c Content) Open() (Reader, error) {
	switch {
	case c.Stream != nil:
		return readingOf(c.Stream), nil
	case c.Load != nil:
		b, err := c.Load()
		return readingOf(bytes.NewReader(b)), err
	}
	return os.Open(c.Path)
}

// Read gives the bytes.
func (c Content) Read() ([]byte, error) {
	switch {
	case c.Stream != nil:
		b := make([]byte, c.Stream.Size())
		_, err := c.Stream.ReadAt(b, 0)
		return b, err
	case c.Load != nil:
		return c.Load()
	}
	return os.ReadFile(c.Path)
}

// A Result is what a step gave. A tool that failed is a Result too: what it said
// is in Stdout and Stderr.
type Result struct {
	ExitCode int
	// Signal names what ended the tool, if something did: "segmentation fault".
	Signal string
	// TimedOut says that the tool was ended because it reached the action's Limit or
	// CPULimit.
	TimedOut bool
	// Stalled is the action's Stall if the tool was ended because of it, and
	// OutOfMemory its MemoryLimit if the tool failed because of that.
	Stalled     time.Duration
	OutOfMemory int64
	Stdout      []byte
	Stderr      []byte
	Outputs     map[string]Content
	// Cached says that the result is an earlier run's; its Usage is that of finding it.
	Cached bool
	// Where names the machine that it came from. It is empty for this one.
	Where string
	// Missing lists the declared outputs that the tool did not write.
	Missing []string
	Usage   Usage
}

// OK reports whether the tool ended well and wrote all that it should.
func (r *Result) OK() bool {
	return r.ExitCode == 0 && r.Signal == "" && !r.TimedOut && r.Stalled == 0 && len(r.Missing) == 0
}

// Ending returns how a tool ended that did not end by itself, or "" if it did.
func (r *Result) Ending() string {
	switch {
	case r.Stalled > 0:
		return fmt.Sprintf("hung (it did nothing for %v)", r.Stalled)
	case r.OutOfMemory > 0:
		return fmt.Sprintf("needed more memory than the limit of %d MB", r.OutOfMemory>>20)
	case r.TimedOut:
		return "did not finish within the time limit"
	case r.Signal != "":
		return fmt.Sprintf("crashed (%s)", r.Signal)
	}
	return ""
}

// Usage is what a step cost.
type Usage struct {
	Start  time.Time
	Wall   time.Duration
	CPU    time.Duration
	Memory int64 // peak, bytes
}

// A Runner runs actions. An error means that the step could not be run or was
// cancelled; a tool that fails, crashes or takes too long is no error.
type Runner interface {
	Run(ctx context.Context, a *Action) (*Result, error)
}
