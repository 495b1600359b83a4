package reapi

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

var codeNames = map[codes.Code]string{
	codes.Canceled: "cancelled", codes.Unknown: "unknown error", codes.DeadlineExceeded: "no answer in time",
	codes.NotFound: "not found", codes.PermissionDenied: "permission denied",
	codes.ResourceExhausted: "out of resources", codes.FailedPrecondition: "failed precondition",
	codes.Aborted: "aborted", codes.Unimplemented: "not implemented", codes.Internal: "internal error",
	codes.Unavailable: "unavailable", codes.Unauthenticated: "not authenticated",
}

// A failure is an answer that is an error, or none, in a form that is safe to print.
type failure struct {
	code    codes.Code
	text    string
	details []any
}

func (e *failure) Error() string {
	name := codeNames[e.code]
	if name == "" {
		name = fmt.Sprintf("error %d", int(e.code))
	}
	if e.text == "" {
		return name
	}
	return name + ": " + e.text
}

// codeOf is the status of an error; codes.Unknown if it is none of the server's.
func codeOf(err error) codes.Code {
	var f *failure
	if errors.As(err, &f) {
		return f.code
	}
	return codes.Unknown
}

// failed returns the error of a call as one that can be shown.
func (c *Client) failed(ctx context.Context, err error) error {
	var known *failure
	switch {
	case errors.Is(context.Cause(ctx), errSilent):
		return &failure{code: codes.DeadlineExceeded}
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errNoCredentials), errors.As(err, &known):
		return err
	}
	return c.failureOf(status.Convert(err))
}

func (c *Client) failureOf(s *status.Status) *failure {
	text := s.Message()
	if strings.HasPrefix(text, "max retries exhausted") { // grpc-go puts the last error behind it
		if _, last, ok := strings.Cut(text, " desc = "); ok {
			text = last
		}
	}
	return &failure{code: s.Code(), text: c.clean(text), details: s.Details()}
}

// clean returns a text of a server in a form that is safe to print: one line of printable
// characters, of limited length and without our secrets.
func (c *Client) clean(text string) string {
	for _, s := range c.credentials.secrets() {
		text = strings.ReplaceAll(text, s, "(secret)")
	}
	const most = 300
	return printable(text, most)
}

// printable replaces what a terminal could take for a command.
func printable(text string, most int) string {
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
}

// errSilent ends a call whose server is silent.
var errSilent = errors.New("the server is silent")

const (
	// ticks is how many parts the client's patience has. A tick that comes late, because this
	// machine is busy, counts as one: so a busy client is not taken for a silent server.
	ticks = 40
	// alone is how many times its patience a call may wait while other calls are answered.
	alone = 10
)

// A watch ends a call if nothing comes from the server for as long as the client's patience
// lasts. What other calls receive counts too, but not for ever.
type watch struct{ moved atomic.Int64 }

// step notes that the call itself has made progress.
func (w *watch) step() { w.moved.Add(1) }

// watched returns a context for a call. The caller must call the function when it is over.
func (c *Client) watched(ctx context.Context) (context.Context, *watch, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{}
	go func() {
		ticker := time.NewTicker(max(c.patience/ticks, time.Millisecond))
		defer ticker.Stop()
		idle, waiting := 0, 0
		for all, own := c.moved.Load(), int64(0); ; {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			idle, waiting = idle+1, waiting+1
			if now := w.moved.Load(); now != own {
				own, idle, waiting = now, 0, 0
			}
			if now := c.moved.Load(); now != all {
				all, idle = now, 0
			}
			if idle >= ticks || waiting >= alone*ticks {
				cancel(errSilent)
				return
			}
		}
	}()
	return ctx, w, func() { cancel(context.Canceled) }
}

// arrivals counts what comes from the server.
type arrivals struct{ moved *atomic.Int64 }

func (a arrivals) HandleRPC(_ context.Context, s stats.RPCStats) {
	switch s.(type) {
	case *stats.InHeader, *stats.InPayload, *stats.InTrailer:
		a.moved.Add(1)
	}
}

func (arrivals) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (arrivals) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (arrivals) HandleConn(context.Context, stats.ConnStats)                       {}

const (
	// mostTries bounds how often something is begun again, and longestPause how long a server
	// may ask to wait before that.
	mostTries    = 3
	firstPause   = 250 * time.Millisecond
	longestPause = 5 * time.Second
)

// call does a call that has one answer. Beside the retries of the connection's policy it waits
// as long as the server says (RetryInfo), and for one that is out of resources.
func call[R any](ctx context.Context, c *Client, f func(ctx context.Context) (R, error)) (R, error) {
	for try := 1; ; try++ {
		limited, _, done := c.watched(ctx)
		reply, err := f(limited)
		if err != nil {
			err = c.failed(limited, err)
		}
		done()
		if err == nil {
			return reply, nil
		}
		pause, again := pauseBefore(err, try)
		if !again || !sleep(ctx, pause) {
			return reply, err
		}
	}
}

// pauseBefore returns how long to wait before a call is repeated, and whether it is.
func pauseBefore(err error, try int) (time.Duration, bool) {
	var f *failure
	if try >= mostTries || !errors.As(err, &f) {
		return 0, false
	}
	for _, detail := range f.details {
		if info, ok := detail.(*errdetails.RetryInfo); ok && info.RetryDelay != nil {
			pause := info.RetryDelay.AsDuration()
			return pause, pause <= longestPause
		}
	}
	return firstPause << (try - 1), f.code == codes.ResourceExhausted && !tooLarge(err)
}

// tooLarge reports whether a server refused a message because of its size, which no repetition
// changes.
func tooLarge(err error) bool {
	return codeOf(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "larger than max")
}

// sleep waits and reports whether ctx has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
