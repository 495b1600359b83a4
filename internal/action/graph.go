package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// A Step is a place in a Graph. Its callbacks are of two kinds.
//
// Ready and the done function of Handle change the build: they add steps, store
// results and report messages. They run in the loop of Graph.Run, one at a time,
// so they need no lock. They should be short, because nothing starts meanwhile.
//
// Make and the read function of Handle do the work. They run in the goroutine of
// the step, concurrently with all other callbacks. They may read what Ready and the
// steps in After have left, and they change nothing that others can see.
type Step struct {
	// After lists the steps that must be done first.
	After []*Step
	// Ready is called once those are done, before Make. It may be nil.
	Ready func()
	// Make returns the action, whose inputs may be outputs of the steps before.
	Make func() (*Action, error)
	// Handle takes the result. The zero value ignores it.
	Handle Handler
	// Weight is how much work begins with this step. Of the steps that are ready the
	// heaviest goes first, so that the longest does not end up alone.
	Weight int

	order   int
	waiting int
	next    []*Step
	done    bool
	action  *Action
}

// Action returns the action that Make returned, or nil if the step did not come to
// that. It is for callbacks that run in the loop, and for use after Graph.Run.
func (s *Step) Action() *Action { return s.action }

// A Handler takes the result of a step in two parts.
type Handler struct {
	read func(*Result) (any, error)
	done func(any) error
}

// Handle returns the Handler of two functions. Read runs concurrently, like Make: it
// turns the result into a value. Done runs in the loop and gets that value. It alone
// changes the build, and may add steps to the graph. An error of either ends the
// run and is what the user sees; done is not called after an error of read.
func Handle[T any](read func(*Result) (T, error), done func(T) error) Handler {
	return Handler{
		read: func(r *Result) (any, error) { return read(r) },
		done: func(value any) error {
			v, _ := value.(T) // a nil interface is none
			return done(v)
		},
	}
}

// Check returns a Handler of a read function alone.
func Check(read func(*Result) error) Handler {
	return Handler{read: func(r *Result) (any, error) { return nil, read(r) }}
}

// A Graph is a set of steps, in part not yet known: done functions add to it.
type Graph struct {
	steps []*Step
	ready []*Step
}

// Add puts a step into the graph. It is called before Run, or by a callback that
// runs in the loop.
func (g *Graph) Add(s *Step) *Step {
	s.order = len(g.steps)
	g.steps = append(g.steps, s)
	for _, before := range s.After {
		if !before.done {
			s.waiting++
			before.next = append(before.next, s)
		}
	}
	if s.waiting == 0 {
		g.ready = append(g.ready, s)
	}
	return s
}

// An outcome is how a step ended in its goroutine.
type outcome struct {
	step   *Step
	action *Action
	value  any // of the step's read function
	err    error
}

// Run runs every step, up to parallel at once, each as soon as it is ready. The
// first failure cancels what is running; of several, the one that was added
// first is returned, so that the order of completion doesn't show.
func (g *Graph) Run(ctx context.Context, r Runner, parallel int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	outcomes := make(chan outcome)
	failures := map[*Step]error{}
	running, ended := 0, 0
	for {
		for len(failures) == 0 && running < parallel {
			s := g.take()
			if s == nil {
				break
			}
			running++
			if s.Ready != nil {
				s.Ready()
			}
			go func() { outcomes <- s.run(ctx, r) }()
		}
		if running == 0 {
			break
		}
		o := <-outcomes
		running--
		ended++
		if err := o.finish(); err != nil {
			failures[o.step] = err
			cancel()
			continue
		}
		g.release(o.step)
	}
	if s := firstOf(failures); s != nil {
		return failures[s]
	}
	if left := len(g.steps) - ended; left > 0 {
		return fmt.Errorf("%d steps wait for each other", left)
	}
	return nil
}

// run does what a step does in its goroutine.
func (s *Step) run(ctx context.Context, r Runner) outcome {
	o := outcome{step: s, err: ctx.Err()}
	if o.err != nil {
		return o
	}
	if o.action, o.err = s.Make(); o.err != nil {
		return o
	}
	result, err := r.Run(ctx, o.action)
	switch {
	case err != nil:
		o.err = fmt.Errorf("%s: %w", o.action.Label, err)
	case s.Handle.read != nil:
		o.value, o.err = s.Handle.read(result)
	}
	return o
}

// finish does what is left of a step in the loop.
func (o *outcome) finish() error {
	o.step.action = o.action
	if o.err != nil || o.step.Handle.done == nil {
		return o.err
	}
	return o.step.Handle.done(o.value)
}

// take removes the heaviest step that is ready, and returns nil if none is.
func (g *Graph) take() *Step {
	if len(g.ready) == 0 {
		return nil
	}
	first := 0
	for i, s := range g.ready {
		if s.Weight > g.ready[first].Weight {
			first = i
		}
	}
	s := g.ready[first]
	g.ready = slices.Delete(g.ready, first, first+1)
	return s
}

// release marks a step as done and makes ready what waited for it alone.
func (g *Graph) release(s *Step) {
	s.done = true
	for _, n := range s.next {
		if n.waiting--; n.waiting == 0 {
			g.ready = append(g.ready, n)
		}
	}
}

// firstOf prefers a real failure to one that is only the cancellation after it.
func firstOf(failures map[*Step]error) *Step {
	var first *Step
	better := func(s *Step) bool {
		if first == nil {
			return true
		}
		if a, b := isCancel(failures[s]), isCancel(failures[first]); a != b {
			return b
		}
		return s.order < first.order
	}
	for s := range failures {
		if better(s) {
			first = s
		}
	}
	return first
}

func isCancel(err error) bool { return errors.Is(err, context.Canceled) }
