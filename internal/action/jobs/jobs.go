// Package jobs bounds what runs at once. It is a Runner around a Runner: an action
// waits until there is memory for it and until it has a token, which is one of
//
//   - a GNU make jobserver, if this link was started by one: make then decides how
//     much of the machine all its children may use;
//   - else the machine's slots, as many as there are processors, which all links of
//     a user share: an nvcc that links for several targets at once starts several.
//
// None of it changes a result.
package jobs

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/warpld/warpld/internal/action"
)

const (
	// pause is between two looks for a token.
	pause = 10 * time.Millisecond
	// patience is how long a link that runs nothing waits for a slot: their owners may
	// have been stopped. It then does one thing at a time without.
	patience = time.Minute
)

// Limits are what a Runner may use.
type Limits struct {
	// MakeFlags is make's variable of that name, which names its jobserver.
	MakeFlags string
	// Slots is a directory for the machine's slots. If it is empty, nothing is shared.
	Slots string
	// Machine is the number of slots.
	Machine int
}

// A Runner runs actions within limits.
type Runner struct {
	next   action.Runner
	memory *memory
	tokens tokens
	// turn is held by the action that waits for a token, so that tokens are handed out in order
	// of arrival.
	turn    chan struct{}
	running atomic.Int64
}

// tokens are permissions to run something. try returns one if one is free, with the function
// that returns it.
type tokens interface {
	try() (giveBack func(), ok bool)
	close()
}

// New makes a Runner. Its Close is to be called when nothing runs any more.
func New(next action.Runner, l Limits) *Runner {
	r := &Runner{next: next, memory: newMemory(available), turn: make(chan struct{}, 1)}
	if server := openServer(l.MakeFlags); server != nil {
		r.tokens = server
	} else if l.Slots != "" {
		r.tokens = &slots{dir: l.Slots, count: l.Machine}
	}
	return r
}

// Close closes the jobserver and the slots.
func (r *Runner) Close() {
	if r.tokens != nil {
		r.tokens.close()
	}
}

// Run implements action.Runner.
func (r *Runner) Run(ctx context.Context, a *action.Action) (*action.Result, error) {
	free, err := r.memory.take(ctx, a)
	if err != nil {
		return nil, err
	}
	defer free()
	giveBack, err := r.token(ctx)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	r.running.Add(1)
	defer r.running.Add(-1)
	result, err := r.next.Run(ctx, a)
	if err == nil {
		r.memory.learn(a, result.Usage.Memory)
	}
	return result, err
}

// token waits for one.
func (r *Runner) token(ctx context.Context) (giveBack func(), err error) {
	if r.tokens == nil {
		return func() {}, nil
	}
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for start := time.Now(); ; {
		if giveBack, ok := r.tokens.try(); ok {
			return giveBack, nil
		}
		if r.running.Load() == 0 && time.Since(start) > patience {
			return func() {}, nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
