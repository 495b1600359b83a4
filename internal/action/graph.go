package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// A Step is a place in a Graph.
type Step struct {
	// After lists the steps that must be done first.
	After []*Step
	// Make gives the action once those are done, because its inputs may be their
	// outputs.
	Make func() (*Action, error)
	// Done judges the result: an error ends the run and is what the user sees. It
	// may add further steps to the graph.
	Done func(*Result) error
	// Weight is how much work begins with this step. Of those that are ready the
	// one with most goes first, so that the longest does not end up alone.
	Weight int

	order   int
	waiting int
	next    []*Step
	done    bool
}

// A Graph is a set of steps, in part not yet known: Done functions add to it.
type Graph struct {
	mu    sync.Mutex
	steps []*Step
	ready []*Step
}

// Add puts a step into the graph.
func (g *Graph) Add(s *Step) *Step {
	g.mu.Lock()
	defer g.mu.Unlock()
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

// Run runs every step, up to parallel at once, each as soon as it is ready. The
// first failure cancels what is running; of several, the one that was added
// first is returned, so that the order of completion doesn't show.
func (g *Graph) Run(ctx context.Context, r Runner, parallel int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		step *Step
		err  error
	}
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
			go func() { outcomes <- outcome{s, s.run(ctx, r)} }()
		}
		if running == 0 {
			break
		}
		o := <-outcomes
		running--
		ended++
		if o.err != nil {
			failures[o.step] = o.err
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

func (s *Step) run(ctx context.Context, r Runner) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a, err := s.Make()
	if err != nil {
		return err
	}
	result, err := r.Run(ctx, a)
	if err != nil {
		return fmt.Errorf("%s: %w", a.Label, err)
	}
	return s.Done(result)
}

func (g *Graph) take() *Step {
	g.mu.Lock()
	defer g.mu.Unlock()
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
	g.mu.Lock()
	defer g.mu.Unlock()
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
