// Package service is how a link uses warpld-remote: the process that holds the connection to a
// server, because the libraries for that would slow down every start of warpld. Both ends are
// here. A link connects to a socket, or starts warpld-remote and connects then; warpld-remote
// serves all links of the user that use the same server with the same credentials, and ends
// some time after the last.
//
// Files go by their paths, in both directions. What lies in the memory of a link is written to
// a file when the server turns out to lack it.
package service

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/remote"
)

// The kinds of messages. Those of a link:
const (
	kindHello   = "hello"
	kindLookUp  = "look up"
	kindExecute = "execute"
	kindStore   = "store"
	kindCancel  = "cancel"
	kindBlob    = "blob" // the answer to kindWant
)

// Those of warpld-remote:
const (
	kindReady = "ready"
	kindAlive = "alive" // while it works on something
	kindTaken = "taken" // a machine has the step
	kindWant  = "want"  // the bytes of a blob that lies in the link's memory
	kindDone  = "done"
	kindError = "error"
)

// A message is one in either direction.
type message struct {
	Kind string
	// Call is which request of the link it is about.
	Call int64 `json:",omitempty"`

	Hello  *hello    `json:",omitempty"`
	Step   *step     `json:",omitempty"`
	Result *result   `json:",omitempty"`
	Error  *wireFail `json:",omitempty"`
	// Blob is the index of a blob of the request, and Path where its bytes are.
	Blob int    `json:",omitempty"`
	Path string `json:",omitempty"`
}

// A hello begins the use by a link.
type hello struct {
	Invocation string
	// Keep is how long to stay after the last link.
	Keep time.Duration
}

// A step is a remote.Step.
type step struct {
	Key      action.Digest
	Messages [][]byte `json:",omitempty"`
	Files    []blob   `json:",omitempty"`
	Outputs  []string `json:",omitempty"`
	Limit    time.Duration
	Dir      string
}

// A blob is bytes in a file, or in the link's memory if there is no path.
type blob struct {
	Name   string        `json:",omitempty"` // of an output
	Digest action.Digest `json:",omitzero"`
	Path   string        `json:",omitempty"`
}

// A result is an action.Result, and what an execution cost.
type result struct {
	ExitCode int
	TimedOut bool
	Stdout   []byte `json:",omitempty"`
	Stderr   []byte `json:",omitempty"`
	Outputs  []blob `json:",omitempty"`
	Cached   bool
	Where    string
	Overhead time.Duration
	Sent     int64
	Sending  time.Duration
}

// A wireFail is an error.
type wireFail struct {
	Text     string
	NotFound bool `json:",omitempty"`
	Options  bool `json:",omitempty"`
}

// An answerError is an error that warpld-remote reports.
type answerError struct{ text string }

func (e *answerError) Error() string { return e.text }

func (f *wireFail) err() error {
	switch {
	case f == nil:
		return nil
	case f.NotFound:
		return remote.ErrNotFound
	case f.Options:
		return &remote.OptionsError{Err: &answerError{f.Text}}
	}
	return &answerError{f.Text}
}

// maxFrame bounds a message. What tools print is the largest part of one.
const maxFrame = 1 << 30

// A wire is one end of a connection. Messages can be sent by several goroutines.
type wire struct {
	mu sync.Mutex
	rw io.ReadWriter
}

// send writes a message: its length in four bytes, and JSON.
func (w *wire) send(m *message) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(text) > maxFrame {
		return fmt.Errorf("a message of %d bytes is too long", len(text))
	}
	frame := append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(text)), uint32(len(text))), text...)
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = w.rw.Write(frame)
	return err
}

// receive reads the next message.
func (w *wire) receive() (*message, error) { return readMessage(w.rw) }

func readMessage(r io.Reader) (*message, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[:])
	if length > maxFrame {
		return nil, fmt.Errorf("a message of %d bytes is too long", length)
	}
	var text bytes.Buffer // it grows as bytes come
	if _, err := io.CopyN(&text, r, int64(length)); err != nil {
		return nil, err
	}
	m := &message{}
	if err := json.Unmarshal(text.Bytes(), m); err != nil {
		return nil, fmt.Errorf("a message is damaged: %w", err)
	}
	return m, nil
}
