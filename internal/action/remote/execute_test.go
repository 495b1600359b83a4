package remote

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/warpld/warpld/internal/action"
)

// A fakeServer executes what a test says and has no results.
type fakeServer struct {
	execute func(ctx context.Context) (*Executed, error)
	lookUp  error
}

func (f *fakeServer) Ready(context.Context) {}

func (f *fakeServer) LookUp(context.Context, *Step) (*action.Result, error) { return nil, f.lookUp }

func (f *fakeServer) Execute(ctx context.Context, _ *Step, taken func()) (*Executed, error) {
	taken()
	return f.execute(ctx)
}

func (f *fakeServer) Store(context.Context, *Step, *action.Result) error { return nil }
func (f *fakeServer) Close()                                             {}

// machine is the runner behind: it counts, and ends at once or when it is cancelled.
type machine struct {
	waits       bool
	runs, ended atomic.Int32
}

func (m *machine) Run(ctx context.Context, _ *action.Action) (*action.Result, error) {
	m.runs.Add(1)
	defer m.ended.Add(1)
	if m.waits {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &action.Result{}, nil
}

// small is an action that is estimated to take next to no time.
func small() *action.Action {
	return &action.Action{Tool: action.File{Name: "tool", Content: action.Bytes([]byte("tool"))},
		Outputs: []string{"out"}}
}

// near uses a server that is known to cost no time, so that even a small action is worth
// sending. It returns what is noted.
func near(t *testing.T, s Server, next action.Runner) (action.Runner, *[]string) {
	var notes []string
	c := New(t.Context(), Config{Server: s, Digest: action.ReadDigest, Dir: func() string { return "none" },
		Note: func(without string, err error) { notes = append(notes, without+": "+err.Error()) }})
	t.Cleanup(c.Close)
	e := c.Execute(next, Machines{LocalSlots: 1}).(*executor)
	e.meter.overhead = time.Nanosecond
	return e, &notes
}

// TestStraggler: an action that takes too long is started here too, the first result wins and
// the other run is ended, whichever it is.
func TestStraggler(t *testing.T) {
	t.Run("here first", func(t *testing.T) {
		var cancelled atomic.Bool
		s := &fakeServer{lookUp: ErrNotFound, execute: func(ctx context.Context) (*Executed, error) {
			<-ctx.Done()
			cancelled.Store(true)
			return nil, ctx.Err()
		}}
		var behind machine
		runner, notes := near(t, s, &behind)
		r, err := runner.Run(t.Context(), small())
		if err != nil || r.Where != "" || behind.runs.Load() != 1 || !cancelled.Load() || len(*notes) > 0 {
			t.Errorf("result %+v, error %v, cancelled %v, notes %q", r, err, cancelled.Load(), *notes)
		}
	})
	t.Run("there first", func(t *testing.T) {
		behind := machine{waits: true}
		s := &fakeServer{lookUp: ErrNotFound, execute: func(context.Context) (*Executed, error) {
			for behind.runs.Load() == 0 {
				time.Sleep(10 * time.Millisecond)
			}
			return &Executed{Result: &action.Result{Where: "worker w1"}}, nil
		}}
		runner, _ := near(t, s, &behind)
		r, err := runner.Run(t.Context(), small())
		if err != nil || r.Where != "worker w1" || behind.ended.Load() != 1 {
			t.Errorf("result %+v, error %v, %d runs here ended", r, err, behind.ended.Load())
		}
	})
}

// TestWrongOptions: an error of the options ends the link, and others don't.
func TestWrongOptions(t *testing.T) {
	var behind machine
	runner, notes := near(t, &fakeServer{lookUp: &OptionsError{errors.New("no token")}}, &behind)
	if _, err := runner.Run(t.Context(), small()); err == nil || len(*notes) > 0 {
		t.Errorf("error %v, notes %q", err, *notes)
	}
	runner, notes = near(t, &fakeServer{lookUp: errors.New("down")}, &behind)
	if _, err := runner.Run(t.Context(), small()); err != nil || len(*notes) != 1 ||
		!strings.Contains((*notes)[0], "the remote server: down") {
		t.Errorf("error %v, notes %q", err, *notes)
	}
}

func TestWindow(t *testing.T) {
	w := newWindow()
	enter := func() (n int) {
		for ok := true; ok; n++ {
			ok, _ = w.enter()
		}
		return n - 1
	}
	if n := enter(); n != firstWindow {
		t.Errorf("%d enter a fresh window", n)
	}
	_, changed := w.enter()
	w.leave(0, true)
	<-changed
	if n := enter(); n != 2 {
		t.Errorf("%d enter after one was taken at once", n)
	}
	for range 10 {
		w.leave(2*longWait, true)
	}
	if w.size != leastWindow {
		t.Errorf("window of %d while the server is slow", w.size)
	}
}
