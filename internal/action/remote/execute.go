package remote

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/warpld/warpld/internal/action"
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
	e.client.server.Ready(ctx) // what it takes to start is no cost of an execution
	asked := time.Now()
	step := e.client.step(a, encoding)
	result, err := e.client.find(ctx, step)
	if result != nil || err != nil {
		return result, err
	}
	e.meter.answered(time.Since(asked))
	result, err = e.anywhere(ctx, a, step)
	e.client.share(step, result, err)
	return result, err
}

// anywhere runs an action where its result is likely to be there first.
func (e *executor) anywhere(ctx context.Context, a *action.Action, step *Step) (*action.Result, error) {
	if e.client.down.Load() || e.off.Load() {
		return e.runLocally(ctx, a)
	}
	remote, err := e.choose(ctx, e.gain(a, step.Encoding))
	if err != nil {
		return nil, err
	}
	if !remote {
		defer func() { <-e.slots }()
		return e.next.Run(ctx, a)
	}
	return e.race(ctx, a, step)
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
func (e *executor) race(ctx context.Context, a *action.Action, step *Step) (*action.Result, error) {
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
		result, err := e.execute(ctx, step)
		there <- outcome{result, err}
	})
	late := time.NewTimer(e.lateAfter(a, step.Encoding))
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

// execute runs a step on a machine of the server's.
func (e *executor) execute(ctx context.Context, step *Step) (*action.Result, error) {
	ticket := e.window.ticket()
	defer ticket.leave()
	start := time.Now()
	done, err := e.client.server.Execute(ctx, step, ticket.taken)
	if err != nil {
		return nil, err
	}
	if done.Overhead > 0 {
		e.meter.ran(done.Overhead)
	}
	e.meter.sent(done.Sent, done.Sending)
	done.Result.Usage = action.Usage{Start: start, Wall: time.Since(start)}
	return done.Result, nil
}
