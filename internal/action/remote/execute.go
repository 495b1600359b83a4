package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/warpld/warpld/internal/action"
	"golang.org/x/sync/errgroup"
)

// Machines describes the machines that run actions for the server.
type Machines struct {
	// Platform are the properties that they must have, as NAME=value.
	Platform []string
	// Tools are paths of programs that these machines have, by name. A property tool-NAME must
	// give the version by its SHA-256. All other tools are sent.
	Tools map[string]string
	// LocalSlots is how many actions this machine runs at once.
	LocalSlots int
}

// An executor runs actions on the server's machines and on this one.
type executor struct {
	client   *Client
	machines Machines
	next     action.Runner
	slots    chan struct{} // of this machine
	off      atomic.Bool   // no more executions; results are still looked up
	window   window
	meter    meter
}

// Execute returns a Runner that runs actions on the server's machines where that is faster,
// and the others with next, at the same time.
func (c *Client) Execute(next action.Runner, m Machines) action.Runner {
	return &executor{client: c, machines: m, next: next, slots: make(chan struct{}, m.LocalSlots), window: newWindow()}
}

// Run implements action.Runner.
func (e *executor) Run(ctx context.Context, a *action.Action) (*action.Result, error) {
	if a.Impure != "" || e.client.down.Load() {
		return e.runLocally(ctx, a)
	}
	at, err := e.place(a)
	if err != nil {
		return nil, err
	}
	encoding, err := a.Encode(e.client.digest, at)
	if err != nil {
		return nil, err
	}
	asked := time.Now()
	if result := e.client.find(ctx, a, encoding.Key); result != nil {
		return result, nil
	}
	e.meter.answered(time.Since(asked))
	result, err := e.anywhere(ctx, a, encoding)
	e.client.share(encoding, result, err)
	return result, err
}

// anywhere runs an action where its result is likely to be there first.
func (e *executor) anywhere(ctx context.Context, a *action.Action, encoding *action.Encoding) (*action.Result, error) {
	if e.client.down.Load() || e.off.Load() {
		return e.runLocally(ctx, a)
	}
	remote, err := e.choose(ctx, e.gain(a, encoding))
	if err != nil {
		return nil, err
	}
	if !remote {
		defer func() { <-e.slots }()
		return e.next.Run(ctx, a)
	}
	return e.race(ctx, a, encoding)
}

// place returns what a machine must have to run the action.
func (e *executor) place(a *action.Action) (action.Place, error) {
	at := action.Place{Platform: e.machines.Platform, Tool: e.machines.Tools[a.Tool.Name]}
	if at.Tool == "" {
		return at, nil
	}
	digest, err := e.client.digest(a.Tool)
	at.Platform = append(at.Platform[:len(at.Platform):len(at.Platform)], "tool-"+a.Tool.Name+"="+digest.Hash)
	return at, err
}

// runLocally runs an action on this machine as soon as a slot is free.
func (e *executor) runLocally(ctx context.Context, a *action.Action) (*action.Result, error) {
	select {
	case e.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-e.slots }()
	return e.next.Run(ctx, a)
}

// choose waits until the server accepts another action (true) or this machine has a free slot
// (false), which is then held. An action that would not be faster on the server goes there
// only if this machine stays busy for longer than the difference.
func (e *executor) choose(ctx context.Context, gain time.Duration) (remote bool, err error) {
	if gain < 0 {
		select {
		case e.slots <- struct{}{}:
			return false, nil
		case <-time.After(-gain):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	for {
		entered, changed := e.window.enter()
		if entered {
			return true, nil
		}
		select {
		case e.slots <- struct{}{}:
			return false, nil
		case <-changed:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// race runs an action on a machine of the server and, if that fails or takes too long, on this
// one. The first good result wins, and the other run is cancelled. A tool that fails on the
// server is run again here, because the machine may be the cause.
func (e *executor) race(ctx context.Context, a *action.Action, encoding *action.Encoding) (*action.Result, error) {
	type outcome struct {
		result *action.Result
		err    error
	}
	ctx, cancel := context.WithCancel(ctx)
	there, here := make(chan outcome, 1), make(chan outcome, 1)
	var runs sync.WaitGroup
	defer runs.Wait()
	defer cancel()
	runs.Go(func() {
		result, err := e.execute(ctx, a, encoding)
		there <- outcome{result, err}
	})
	late := time.NewTimer(e.lateAfter(a, encoding))
	defer late.Stop()
	var room chan<- struct{} // set while the action waits for room to run here too
	begun := false
	for {
		select {
		case o := <-there:
			if o.err == nil && (o.result.OK() || o.result.TimedOut) {
				return o.result, nil
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if o.err != nil {
				e.off.Store(true)
				e.client.reportOnce(withoutExecution, o.err)
			}
			if cap(e.slots) == 0 {
				return o.result, o.err // nothing can run here
			}
			there = nil
			if !begun {
				room = e.slots
			}
		case <-late.C:
			if !begun {
				room = e.slots
			}
		case room <- struct{}{}:
			room, begun = nil, true
			runs.Go(func() {
				defer func() { <-e.slots }()
				result, err := e.next.Run(ctx, a)
				here <- outcome{result, err}
			})
		case o := <-here:
			return o.result, o.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// mostTries bounds how often an execution is begun or asked for again.
const mostTries = 3

// execute runs an action on a machine of the server's.
func (e *executor) execute(ctx context.Context, a *action.Action, encoding *action.Encoding) (*action.Result, error) {
	ticket := e.window.ticket()
	defer ticket.leave()
	start := time.Now()
	for try := 1; ; try++ {
		if err := e.provide(ctx, encoding); err != nil {
			return nil, err
		}
		sent := time.Now()
		op, err := e.follow(ctx, encoding.Key, ticket)
		var failed *statusError
		switch {
		case err == nil:
			result, err := e.client.take(ctx, a, op.result)
			if err == nil {
				e.meter.ran(time.Since(sent) - op.result.spent)
				result.Where = "worker " + op.result.worker
				if result.Cached = op.cached; op.cached {
					result.Where = remoteCache // another client was faster
				}
				result.Usage = action.Usage{Start: start, Wall: time.Since(start)}
			}
			return result, err
		case !errors.As(err, &failed):
			return nil, err
		case failed.code == codeDeadlineExceeded && a.Limit > 0 && ctx.Err() == nil && time.Since(sent) >= a.Limit:
			return &action.Result{TimedOut: true, Usage: action.Usage{Start: start, Wall: time.Since(start)}}, nil
		}
		missing := failed.missing()
		if len(missing) == 0 || try == mostTries {
			return nil, err
		}
		for _, d := range missing { // it had them a while ago
			e.client.present.set(d, false)
		}
	}
}

// provide uploads what the server lacks of an action. The server is asked only about large
// blobs: asking about a small one takes as long as sending it.
func (e *executor) provide(ctx context.Context, encoding *action.Encoding) error {
	small, large := blobSet{}, []action.Blob(nil)
	for _, b := range slices.Concat(encoding.Messages, encoding.Files) {
		switch {
		case b.Size > askFrom:
			large = append(large, b)
		case b.Size > 0 && !e.client.present.has(b.Digest):
			small[b.Digest] = b.Content
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return e.client.send(ctx, small) })
	group.Go(func() error {
		missing, err := e.client.findMissing(ctx, large)
		if err != nil {
			return err
		}
		start := time.Now()
		err = e.client.send(ctx, missing)
		e.meter.sent(missing.size(), time.Since(start))
		return err
	})
	return group.Wait()
}

const (
	methodExecute = "build.bazel.remote.execution.v2.Execution/Execute"
	methodWait    = "build.bazel.remote.execution.v2.Execution/WaitExecution"
	methodCancel  = "google.longrunning.Operations/CancelOperation"
)

// An execution is one that the server was asked for.
type execution struct {
	ticket *ticket
	name   string // the server's name for it, empty until it is known
	named  chan struct{}
}

// nameTime is how long the end of a link waits for the name of an execution that has just
// begun: without the name it can't be cancelled.
const nameTime = time.Second

// follow starts an execution and waits until it is done, also if the connection is lost in
// between. If ctx ends, it cancels the execution.
// ExecuteRequest: instance_name = 1, action_digest = 6; WaitExecutionRequest:
// name = 1.
func (e *executor) follow(ctx context.Context, key action.Digest, t *ticket) (*operation, error) {
	var execute writer
	execute.text(1, e.client.instance)
	execute.bytes(6, encodeDigest(key))
	x := &execution{ticket: t, named: make(chan struct{})}
	reading, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() {
		select {
		case <-x.named:
		case <-time.After(nameTime):
		}
		end()
	})()
	for try := 1; ; try++ {
		method, request := methodExecute, execute
		if x.name != "" {
			method, request = methodWait, nil
			request.text(1, x.name)
		}
		op, err := e.watch(reading, method, request, x)
		switch {
		case err == nil:
			return op, nil
		case ctx.Err() != nil:
			e.cancel(x.name)
			return nil, ctx.Err()
		case try == mostTries:
			return nil, err
		case method == methodWait && codeOf(err) == codeNotFound:
			x.name = "" // a server that was started again knows nothing of it
		case codeOf(err) != codeUnavailable:
			return nil, err
		}
		select {
		case <-time.After(time.Duration(try) * 250 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// watch reads the progress of an execution up to its end. An execution that failed
// is an error.
func (e *executor) watch(ctx context.Context, method string, request []byte, x *execution) (*operation, error) {
	answer, err := e.client.connection.open(ctx, method, bytes.NewReader(frame(request)))
	if err != nil {
		return nil, err
	}
	defer answer.close()
	for {
		message, err := answer.next()
		if err == io.EOF {
			return nil, &statusError{code: codeUnavailable, text: "the execution is not done, but the answer ends"}
		}
		if err != nil {
			return nil, err
		}
		op, err := parseOperation(message)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errRefused, err)
		}
		x.progress(op)
		if op.failed != nil && op.done {
			op.failed.text = e.client.connection.clean(op.failed.text)
			return nil, op.failed
		}
		if op.done {
			return op, nil
		}
	}
}

func (x *execution) progress(op *operation) {
	x.name = op.name
	select {
	case <-x.named:
	default:
		close(x.named)
	}
	if !op.queued {
		x.ticket.taken()
	}
}

// cancel asks the server to end an execution that nobody waits for; not all
// servers can. CancelOperationRequest: name = 1.
func (e *executor) cancel(name string) {
	if name == "" {
		return
	}
	var request writer
	request.text(1, name)
	e.client.behind.Go(func() {
		ctx, done := context.WithTimeout(e.client.closing, e.client.patience)
		defer done()
		e.client.connection.call(ctx, methodCancel, request)
	})
}
