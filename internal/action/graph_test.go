package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// runnerFunc makes a Runner of a function.
type runnerFunc func(context.Context, *Action) (*Result, error)

func (f runnerFunc) Run(ctx context.Context, a *Action) (*Result, error) { return f(ctx, a) }

func step(label string, done func(*Result) error, after ...*Step) *Step {
	read := func(r *Result) (*Result, error) { return r, nil }
	return &Step{After: after, Handle: Handle(read, done),
		Make: func() (*Action, error) { return &Action{Label: label}, nil }}
}

func ok(*Result) error { return nil }

func TestGraphRunsInOrderAndGrows(t *testing.T) {
	var mu sync.Mutex
	var ran []string
	record := runnerFunc(func(_ context.Context, a *Action) (*Result, error) {
		mu.Lock()
		defer mu.Unlock()
		ran = append(ran, a.Label)
		return &Result{}, nil
	})
	var g Graph
	compile := g.Add(step("compile", func(*Result) error {
		var shards []*Step
		for i := range 3 {
			shards = append(shards, g.Add(step(fmt.Sprint("shard", i), ok)))
		}
		g.Add(step("merge", ok, shards...))
		return nil
	}))
	g.Add(step("after", ok, compile))
	if err := g.Run(context.Background(), record, 2); err != nil {
		t.Fatal(err)
	}
	if len(ran) != 6 || ran[0] != "compile" {
		t.Errorf("ran %v", ran)
	}
	if merge := slices.Index(ran, "merge"); merge < slices.Index(ran, "shard2") || merge < slices.Index(ran, "shard0") {
		t.Errorf("merge ran before its shards: %v", ran)
	}
}

func TestGraphBoundsParallelWork(t *testing.T) {
	var now, most atomic.Int32
	busy := runnerFunc(func(context.Context, *Action) (*Result, error) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(5 * time.Millisecond)
		now.Add(-1)
		return &Result{}, nil
	})
	var g Graph
	for i := range 12 {
		g.Add(step(fmt.Sprint(i), ok))
	}
	if err := g.Run(context.Background(), busy, 3); err != nil || most.Load() != 3 {
		t.Errorf("error %v, %d at once, want 3", err, most.Load())
	}
}

func TestGraphStopsAtTheFirstFailureInOrder(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	var g Graph
	var bothRunning sync.WaitGroup
	bothRunning.Add(2)
	runner := runnerFunc(func(ctx context.Context, a *Action) (*Result, error) {
		switch a.Label {
		case "late":
			bothRunning.Done()
			bothRunning.Wait()
			time.Sleep(5 * time.Millisecond) // the other one fails before this
			return nil, first
		case "early":
			bothRunning.Done()
			bothRunning.Wait()
			return nil, second
		}
		return &Result{}, nil
	})
	late := g.Add(step("late", ok))
	g.Add(step("early", ok))
	g.Add(step("never", func(*Result) error { t.Error("ran after a failure"); return nil }, late))
	if err := g.Run(context.Background(), runner, 2); !errors.Is(err, first) {
		t.Errorf("error %v, want the one of the step added first", err)
	}
}

func TestGraphPrefersTheFailureToItsCancellation(t *testing.T) {
	failure := errors.New("real")
	var g Graph
	runner := runnerFunc(func(ctx context.Context, a *Action) (*Result, error) {
		if a.Label == "waits" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, failure
	})
	g.Add(step("waits", ok))
	g.Add(step("fails", ok))
	if err := g.Run(context.Background(), runner, 2); !errors.Is(err, failure) {
		t.Errorf("error %v, want the real one", err)
	}
}

func TestGraphReportsCycles(t *testing.T) {
	var g Graph
	a := &Step{}
	b := g.Add(step("b", ok, a))
	*a = *step("a", ok, b)
	g.Add(a)
	if err := g.Run(context.Background(), runnerFunc(nil), 1); err == nil {
		t.Error("a cycle ran")
	}
}

func TestGraphBeginsWithTheHeaviest(t *testing.T) {
	var ran []string
	record := runnerFunc(func(_ context.Context, a *Action) (*Result, error) {
		ran = append(ran, a.Label)
		return &Result{}, nil
	})
	var g Graph
	for i, weight := range []int{1, 5, 0, 5, 9} {
		s := step(fmt.Sprint(weight, "-", i), ok)
		s.Weight = weight
		g.Add(s)
	}
	if err := g.Run(context.Background(), record, 1); err != nil {
		t.Fatal(err)
	}
	if want := []string{"9-4", "5-1", "5-3", "1-0", "0-2"}; !slices.Equal(ran, want) {
		t.Errorf("ran %q, want %q", ran, want)
	}
}

// TestGraphCallsDoneInTheLoop has steps whose done functions share variables without
// a lock; the race detector sees it if they run concurrently.
func TestGraphCallsDoneInTheLoop(t *testing.T) {
	runner := runnerFunc(func(_ context.Context, a *Action) (*Result, error) {
		return &Result{Stdout: []byte(a.Label)}, nil
	})
	var g Graph
	readied, lengths := 0, map[int]int{}
	for i := range 50 {
		var s *Step
		s = g.Add(&Step{
			Ready: func() { readied++ },
			Make:  func() (*Action, error) { return &Action{Label: fmt.Sprint("step ", i)}, nil },
			Handle: Handle(func(r *Result) (int, error) { return len(r.Stdout), nil }, func(length int) error {
				lengths[i] = length
				if s.Action() == nil || s.Action().Label != fmt.Sprint("step ", i) {
					t.Errorf("step %d has the action %v", i, s.Action())
				}
				return nil
			}),
		})
	}
	if err := g.Run(context.Background(), runner, 8); err != nil {
		t.Fatal(err)
	}
	if readied != 50 || lengths[9] != 6 || lengths[49] != 7 {
		t.Errorf("%d steps were ready, and the lengths are %v", readied, lengths)
	}
}

func TestGraphDoesNotCallDoneAfterAnErrorOfRead(t *testing.T) {
	wrong := errors.New("wrong")
	var g Graph
	s := step("fails", nil)
	s.Handle = Handle(func(*Result) (int, error) { return 0, wrong },
		func(int) error { t.Error("done was called"); return nil })
	g.Add(s)
	runner := runnerFunc(func(context.Context, *Action) (*Result, error) { return &Result{}, nil })
	if err := g.Run(context.Background(), runner, 1); !errors.Is(err, wrong) {
		t.Errorf("error %v, want that of read", err)
	}
	if s.Action() == nil {
		t.Error("the action of a step that failed is not known")
	}
}
