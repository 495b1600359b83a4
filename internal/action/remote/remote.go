// Package remote shares results of actions through a server of the Remote Execution API, and
// lets the server's machines run actions. It is a Runner around a Runner: it falls back to the
// one behind it for whatever the server can't do or does wrong. How the server is reached is
// not its business: see its subpackages.
//
// A server costs a link a bounded time. The first failure is reported once, and the rest of
// the link continues without the server.
package remote

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/warpld/warpld/internal/action"
)

// A Server does what a link asks of a server of the Remote Execution API. What it returns is
// verified: a result has exactly the outputs of its step, with the bytes of their digests, in
// the directory that the step names.
type Server interface {
	// Ready waits until the server can be asked, or can't be used at all.
	Ready(ctx context.Context)
	// LookUp returns the result that the server's cache has for a step. The error is ErrNotFound
	// if it has none.
	LookUp(ctx context.Context, s *Step) (*action.Result, error)
	// Execute runs a step on one of the server's machines. It calls taken when a machine has it.
	// If ctx ends, the server is asked to end the execution.
	Execute(ctx context.Context, s *Step, taken func()) (*Executed, error)
	// Store keeps a result that was made here.
	Store(ctx context.Context, s *Step, r *action.Result) error
	// Close ends the use of the server.
	Close()
}

// A Step is an action as a server sees it.
type Step struct {
	Encoding *action.Encoding
	// Outputs are the names of the files that the step writes.
	Outputs []string
	Limit   time.Duration
	// Dir is a directory that does not exist yet. The outputs of a result are moved there.
	Dir string
}

// An Executed is the outcome of an execution, and what it cost beside the work.
type Executed struct {
	Result   *action.Result
	Overhead time.Duration
	// Sent is how many bytes of large inputs were uploaded, and Sending how long that took.
	Sent    int64
	Sending time.Duration
}

// ErrNotFound is the error of a lookup that finds no result.
var ErrNotFound = errors.New("not found")

// An OptionsError is an error of what the user configured. A link must not go on with it.
type OptionsError struct{ Err error }

func (e *OptionsError) Error() string { return "the remote server can't be used: " + e.Err.Error() }
func (e *OptionsError) Unwrap() error { return e.Err }

// A Config is what a Client depends on.
type Config struct {
	Server Server
	// Upload stores results there that were made here.
	Upload bool
	// Digest names the bytes of inputs.
	Digest action.Digester
	// Dir names fresh directories for results.
	Dir func() string
	// Note is called with the first failure and what the link continues without.
	Note func(without string, err error)
}

// A Client is a server in use by one link.
type Client struct {
	server Server
	digest action.Digester
	dir    func() string

	note   func(string, error)
	once   sync.Once
	down   atomic.Bool
	upload atomic.Bool
	behind sync.WaitGroup // uploads that nobody waits for yet
	// closing ends what goes on behind the link's back.
	closing context.Context
	end     context.CancelFunc
}

// uploadPatience is how long the end of a link waits for uploads.
const uploadPatience = 10 * time.Second

// New prepares the use of a server by a link.
func New(ctx context.Context, config Config) *Client {
	c := &Client{server: config.Server, digest: config.Digest, dir: config.Dir, note: config.Note}
	c.upload.Store(config.Upload)
	c.closing, c.end = context.WithCancel(context.WithoutCancel(ctx))
	return c
}

// Close waits for what is still being uploaded, but not for long.
func (c *Client) Close() {
	done := make(chan struct{})
	go func() { c.behind.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(uploadPatience):
		c.reportOnce(withoutStoring, errors.New("there was not enough time"))
	}
	c.end()
	<-done
	c.server.Close()
}

// What a link goes without after a failure.
const (
	withoutServer    = "the remote server"
	withoutStoring   = "storing results on the remote server"
	withoutExecution = "remote execution"
)

// giveUp ends the use of the server for this link.
func (c *Client) giveUp(err error) {
	c.down.Store(true)
	c.reportOnce(withoutServer, err)
}

// reportOnce reports the first failure; later ones add nothing.
func (c *Client) reportOnce(without string, err error) { c.once.Do(func() { c.note(without, err) }) }

// step returns an action as the server sees it.
func (c *Client) step(a *action.Action, encoding *action.Encoding) *Step {
	return &Step{Encoding: encoding, Outputs: a.Outputs, Limit: a.Limit, Dir: c.dir()}
}
