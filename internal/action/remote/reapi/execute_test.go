package reapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	repb "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/remote"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// busy is a runner behind that never ends by itself.
type busy struct {
	runs  atomic.Int32
	ended atomic.Int32
}

func (b *busy) Run(ctx context.Context, _ *action.Action) (*action.Result, error) {
	b.runs.Add(1)
	defer b.ended.Add(1)
	<-ctx.Done()
	return nil, ctx.Err()
}

// works makes the server's machines give the right result.
func works(t *testing.T, s *server) {
	result := good(t, s)
	clear(s.results)
	result.ExecutionMetadata = &repb.ExecutedActionMetadata{Worker: "w1"}
	s.run = func(context.Context, *repb.Action) (*repb.ExecuteResponse, error) {
		return &repb.ExecuteResponse{Result: result}, nil
	}
}

func TestExecution(t *testing.T) {
	s := newServer(t)
	works(t, s)
	c := dial(t, s, nil)
	var behind here
	runner := c.Execute(&behind, remote.Machines{LocalSlots: 1})
	if r := check(t, runner); r.Where != "worker w1" || r.Cached {
		t.Errorf("result %+v", r)
	}
	inputs, err := sample().Encode(action.ReadDigest, action.Place{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range append(inputs.Files, inputs.Messages...) {
		if _, ok := s.blobs[b.Digest]; !ok {
			t.Errorf("blob %v was not sent", b.Digest)
		}
	}
	uploads := s.count("Write") + s.count("BatchUpdateBlobs")
	check(t, runner)
	if again := s.count("Write") + s.count("BatchUpdateBlobs"); again != uploads || behind.runs.Load() > 0 ||
		len(c.notes) > 0 {
		t.Errorf("%d uploads, then %d; %d runs here; notes %q", uploads, again, behind.runs.Load(), c.notes)
	}
}

// TestNothingRunsHere: without a slot for a run on this machine the error of the server is
// the result.
func TestNothingRunsHere(t *testing.T) {
	s := newServer(t)
	s.run = func(context.Context, *repb.Action) (*repb.ExecuteResponse, error) {
		return nil, status.Error(codes.FailedPrecondition, "no worker")
	}
	c := dial(t, s, nil)
	_, err := c.Execute(&here{}, remote.Machines{}).Run(t.Context(), sample())
	if err == nil || !strings.Contains(err.Error(), "no worker") {
		t.Errorf("error %v", err)
	}
}

func TestToolOnTheMachines(t *testing.T) {
	s := newServer(t)
	works(t, s)
	run := s.run
	s.run = func(ctx context.Context, a *repb.Action) (*repb.ExecuteResponse, error) {
		raw, _ := s.blob(a.CommandDigest)
		command := &repb.Command{}
		if err := proto.Unmarshal(raw, command); err != nil {
			t.Error(err)
		}
		want := fmt.Sprintf("[pool=gpu tool-tool=%s] /usr/bin/tool", action.DigestOf([]byte("tool")).Hash)
		var properties []string
		for _, p := range a.Platform.Properties {
			properties = append(properties, p.Name+"="+p.Value)
		}
		if got := fmt.Sprint(properties, " ", command.Arguments[0]); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		return run(ctx, a)
	}
	c := dial(t, s, nil)
	check(t,
		c.Execute(&here{}, remote.Machines{LocalSlots: 1, Platform: []string{"pool=gpu"},
			Tools: map[string]string{"tool": "/usr/bin/tool"}}))
	if _, sent := s.blobs[action.DigestOf([]byte("tool"))]; sent || s.count("Execute") != 1 {
		t.Errorf("the tool was sent; calls %v", s.calls)
	}
}

// TestFailedExecutions: what goes wrong with an execution is told once, and the
// action runs here.
func TestFailedExecutions(t *testing.T) {
	answer := func(r *repb.ExecuteResponse, err error) func(*server) {
		return func(s *server) {
			s.run = func(context.Context, *repb.Action) (*repb.ExecuteResponse, error) { return r, err }
		}
	}
	failing := func(method string, c codes.Code) func(*server) {
		return func(s *server) {
			s.before = func(_ context.Context, m string) error {
				if m == method {
					return status.Error(c, "so there")
				}
				return nil
			}
		}
	}
	for name, test := range map[string]struct {
		fault    func(*server)
		note     string // empty: nothing to tell
		executed int
	}{
		"no worker": {
			answer(&repb.ExecuteResponse{Status: status.New(codes.FailedPrecondition, "No workers exist").Proto()}, nil),
			"No workers exist", 1},
		"refused":        {answer(nil, status.Error(codes.PermissionDenied, "not you")), "not you", 1},
		"scheduler down": {failing("Execute", codes.Unavailable), "so there", mostTries},
		"cache only":     {failing("Execute", codes.Unimplemented), "not implemented", 1},
		"storage down":   {failing("FindMissingBlobs", codes.Unavailable), "so there", 0},
		"no upload":      {failing("BatchUpdateBlobs", codes.ResourceExhausted), "so there", 0},
		"output absent":  {answer(&repb.ExecuteResponse{Result: &repb.ActionResult{}}, nil), "lacks the output", 1},
		"tool failed": {
			answer(&repb.ExecuteResponse{Result: &repb.ActionResult{ExitCode: 127, StderrRaw: []byte("no libc")}}, nil), "", 1},
		"no result": {answer(&repb.ExecuteResponse{}, nil), "no result", 1},
		"server's limit": {answer(&repb.ExecuteResponse{Result: &repb.ActionResult{ExitCode: 142},
			Status: status.New(codes.DeadlineExceeded, "too long").Proto()}, nil), "too long", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			works(t, s)
			test.fault(s)
			c := dial(t, s, nil)
			var behind here
			check(t, c.Execute(&behind, remote.Machines{LocalSlots: 1}))
			if behind.runs.Load() != 1 || s.count("Execute") != test.executed {
				t.Errorf("%d runs here, %d there", behind.runs.Load(), s.count("Execute"))
			}
			if told := strings.Join(c.notes, ""); len(c.notes) > 1 || (told == "") != (test.note == "") ||
				!strings.Contains(told, test.note) {
				t.Errorf("notes %q, want %q", c.notes, test.note)
			}
		})
	}
}

func TestTimeLimitOnTheMachine(t *testing.T) {
	s := newServer(t)
	s.run = func(_ context.Context, a *repb.Action) (*repb.ExecuteResponse, error) {
		time.Sleep(a.Timeout.AsDuration())
		return &repb.ExecuteResponse{Result: &repb.ActionResult{ExitCode: 142},
			Status: status.New(codes.DeadlineExceeded, "too long").Proto()}, nil
	}
	c := dial(t, s, nil)
	a := sample()
	a.Limit = 100 * time.Millisecond
	var behind here
	r, err := c.Execute(&behind, remote.Machines{LocalSlots: 1}).Run(t.Context(), a)
	if err != nil || !r.TimedOut || behind.runs.Load() > 0 {
		t.Errorf("result %+v, error %v, %d runs here", r, err, behind.runs.Load())
	}
}

// TestLostConnection: the execution is found again by its name, or begun again.
func TestLostConnection(t *testing.T) {
	for _, forgotten := range []bool{false, true} {
		s := newServer(t)
		works(t, s)
		s.cut = 1
		if forgotten {
			s.before = func(_ context.Context, method string) error {
				if method == "WaitExecution" {
					return status.Error(codes.NotFound, "no such operation")
				}
				return nil
			}
		}
		c := dial(t, s, nil)
		r := check(t, c.Execute(&busy{}, remote.Machines{LocalSlots: 1}))
		want := map[bool]int{false: 1, true: 2}[forgotten]
		if s.count("Execute") != want || s.count("WaitExecution") != 1 || r.Where == "" || len(c.notes) > 0 {
			t.Errorf("forgotten %v: calls %v, notes %q", forgotten, s.calls, c.notes)
		}
	}
}

// TestLostBlob is test 13 of the acceptance list: a blob that the server said it
// has and then lost is sent again, but not for ever.
func TestLostBlob(t *testing.T) {
	for lost, executed := range map[int]int{1: 2, 100: mostTries} {
		s := newServer(t)
		works(t, s)
		run, times := s.run, 0
		blob := action.DigestOf(large)
		s.run = func(ctx context.Context, a *repb.Action) (*repb.ExecuteResponse, error) {
			if times++; times > lost {
				return run(ctx, a)
			}
			s.mu.Lock()
			delete(s.blobs, blob)
			s.mu.Unlock()
			failed, err := status.New(codes.FailedPrecondition, "lost").WithDetails(
				&errdetails.PreconditionFailure{Violations: []*errdetails.PreconditionFailure_Violation{
					{Type: "MISSING", Subject: "blobs/" + blob.String()}}})
			return &repb.ExecuteResponse{Status: failed.Proto()}, err
		}
		c := dial(t, s, nil)
		var behind here
		// The result is the large blob too: it must be there to be fetched.
		check(t, c.Execute(&behind, remote.Machines{LocalSlots: 1}))
		if s.count("Execute") != executed || s.count("Write") != executed-1 || int(behind.runs.Load()) != lost/100 ||
			len(c.notes) != lost/100 {
			t.Errorf("lost %d times: calls %v, %d runs here, notes %q", lost, s.calls, behind.runs.Load(), c.notes)
		}
	}
}

// TestInterruptedExecution is test 18 of the acceptance list.
func TestInterruptedExecution(t *testing.T) {
	s := newServer(t)
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan struct{})
	s.run = func(ctx context.Context, _ *repb.Action) (*repb.ExecuteResponse, error) {
		interrupt()
		<-ctx.Done()
		close(ended)
		return nil, status.Error(codes.Canceled, "cancelled")
	}
	c := dial(t, s, nil)
	if _, err := c.Execute(&busy{}, remote.Machines{LocalSlots: 1}).Run(ctx, sample()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	c.Close()
	<-ended
	if s.count("CancelOperation") != 1 || len(c.notes) > 0 {
		t.Errorf("calls %v, notes %q", s.calls, c.notes)
	}
}

// TestCheapActionsStayHere: an action that takes less than sending it away is not
// sent away.
func TestCheapActionsStayHere(t *testing.T) {
	s := newServer(t)
	c := dial(t, s, nil)
	a := sample()
	a.Inputs = a.Inputs[:1]
	s.before = func(context.Context, string) error { time.Sleep(50 * time.Millisecond); return nil } // it is far away
	var behind here
	_, err := c.Execute(&behind, remote.Machines{LocalSlots: 1}).Run(t.Context(), a)
	if err != nil || behind.runs.Load() != 1 ||
		s.count("Execute") > 0 {
		t.Errorf("error %v, calls %v", err, s.calls)
	}
}

// TestBothAtOnce: a server that takes no more gets no more, and this machine does
// its part in the meantime.
func TestBothAtOnce(t *testing.T) {
	const actions = 20
	s := newServer(t)
	works(t, s)
	run := s.run
	machine := make(chan struct{}, 1) // there is one
	s.queue = func() { machine <- struct{}{} }
	s.run = func(ctx context.Context, a *repb.Action) (*repb.ExecuteResponse, error) {
		defer func() { <-machine }()
		time.Sleep(20 * time.Millisecond)
		return run(ctx, a)
	}
	c := dial(t, s, nil)
	var behind here
	runner := c.Execute(&behind, remote.Machines{LocalSlots: 1})
	var runs sync.WaitGroup
	for i := range actions {
		runs.Go(func() {
			a := sample()
			a.Args = []string{fmt.Sprint(i)}
			if _, err := runner.Run(t.Context(), a); err != nil {
				t.Error(err)
			}
		})
	}
	runs.Wait()
	if there := s.count("Execute"); there == 0 || behind.runs.Load() == 0 || there+int(behind.runs.Load()) != actions {
		t.Errorf("%d there, %d here", there, behind.runs.Load())
	}
}

// TestUploadOfWhatRanHere: with that, results of this machine are the server's too.
func TestUploadOfWhatRanHere(t *testing.T) {
	s := newServer(t)
	s.before = func(_ context.Context, method string) error {
		if method == "Execute" {
			return status.Error(codes.FailedPrecondition, "no machines")
		}
		return nil
	}
	for _, cached := range []bool{false, true} {
		c := dial(t, s, uploading)
		if r := check(t, c.Execute(&here{}, remote.Machines{LocalSlots: 1})); r.Cached != cached {
			t.Errorf("cached %v, want %v", r.Cached, cached)
		}
		c.Close()
	}
}
