package reapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	repb "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/remote"
	"golang.org/x/sync/errgroup"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Execute implements remote.Server.
func (s *session) Execute(ctx context.Context, step *remote.Step, taken func()) (*remote.Executed, error) {
	c := s.client
	ctx = s.about(ctx, step)
	if can := c.machinesCan.get(ctx, c, c.machines); can.problem != nil {
		return nil, can.problem
	} else if !can.execute {
		return nil, &failure{code: codes.Unimplemented, text: "the server runs no actions"}
	}
	out := &remote.Executed{}
	for try := 1; ; try++ {
		if err := c.provide(ctx, step, out); err != nil {
			return nil, err
		}
		begun := time.Now()
		response, err := c.follow(ctx, step, taken)
		var failed *failure
		switch {
		case err == nil:
			out.Result, err = c.executed(ctx, step, response)
			out.Overhead = time.Since(begun) - spent(response.Result.GetExecutionMetadata())
			return out, err
		case !errors.As(err, &failed):
			return nil, err
		case failed.code == codes.DeadlineExceeded && step.Limit > 0 && ctx.Err() == nil && time.Since(begun) >= step.Limit:
			out.Result = &action.Result{TimedOut: true}
			return out, nil
		}
		missing := failed.missing()
		if len(missing) == 0 || try == mostTries {
			return nil, err
		}
		for _, d := range missing { // it had them a while ago
			c.present.set(d, false)
		}
	}
}

// executed fetches the result of an execution.
func (c *Client) executed(ctx context.Context, step *remote.Step, r *repb.ExecuteResponse) (*action.Result, error) {
	result, err := c.take(ctx, step, r.Result)
	if err != nil {
		return nil, err
	}
	result.Where = "worker " + printable(r.Result.GetExecutionMetadata().GetWorker(), 100)
	if result.Cached = r.CachedResult; r.CachedResult {
		result.Where = remote.FromCache // another client was faster
	}
	return result, nil
}

// spent returns how long an action waited for a worker, the worker for its inputs and the tool
// for its result.
func spent(m *repb.ExecutedActionMetadata) (sum time.Duration) {
	for _, span := range [][2]*timestamppb.Timestamp{
		{m.GetQueuedTimestamp(), m.GetWorkerStartTimestamp()},
		{m.GetInputFetchStartTimestamp(), m.GetInputFetchCompletedTimestamp()},
		{m.GetExecutionStartTimestamp(), m.GetExecutionCompletedTimestamp()},
	} {
		if span[0] != nil && span[1] != nil {
			sum += max(0, span[1].AsTime().Sub(span[0].AsTime()))
		}
	}
	return sum
}

// missing returns the blobs that a failed precondition lists as missing; the subject of each is
// "blobs/HASH/SIZE".
func (e *failure) missing() (list []action.Digest) {
	for _, detail := range e.details {
		precondition, ok := detail.(*errdetails.PreconditionFailure)
		if !ok {
			continue
		}
		for _, v := range precondition.Violations {
			parts := strings.Split(v.Subject, "/")
			if v.Type != "MISSING" || len(parts) < 3 || parts[0] != "blobs" {
				continue
			}
			if size, err := strconv.ParseInt(parts[2], 10, 64); err == nil {
				list = append(list, action.Digest{Hash: parts[1], Size: size})
			}
		}
	}
	return list
}

// provide uploads what the server lacks of an action. The server is asked only about large
// blobs: asking about a small one takes as long as sending it.
func (c *Client) provide(ctx context.Context, step *remote.Step, out *remote.Executed) error {
	small, large := blobSet{}, []action.Blob(nil)
	for _, b := range slices.Concat(step.Encoding.Messages, step.Encoding.Files) {
		switch {
		case b.Size > askFrom:
			large = append(large, b)
		case b.Size > 0 && !c.present.has(b.Digest):
			small[b.Digest] = b.Content
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.send(ctx, small) })
	group.Go(func() error {
		missing, err := c.findMissing(ctx, large)
		if err != nil {
			return err
		}
		start := time.Now()
		err = c.send(ctx, missing)
		out.Sent, out.Sending = out.Sent+missing.size(), out.Sending+time.Since(start)
		return err
	})
	return group.Wait()
}

// An execution is one that the server was asked for.
type execution struct {
	taken func()
	name  string // the server's name for it, empty until it is known
	named chan struct{}
	heard bool // the server said something since it was asked
	done  bool
}

const (
	// nameTime is how long the end of a link waits for the name of an execution that has just
	// begun: without the name it can't be cancelled.
	nameTime = time.Second
	// mostStreams bounds how often an execution that goes on is asked for again, because its
	// connection ended.
	mostStreams = 100
)

// follow starts an execution and waits until it is done. If the connection is lost in between,
// it waits for the same execution again. One that is done but failed for a reason that may pass
// is begun again. If ctx ends, follow cancels the execution.
func (c *Client) follow(ctx context.Context, step *remote.Step, taken func()) (*repb.ExecuteResponse, error) {
	x := &execution{taken: taken, named: make(chan struct{})}
	reading, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() {
		select {
		case <-x.named:
		case <-time.After(nameTime):
		}
		end()
	})()
	for try, streams := 1, 1; ; try, streams = try+1, streams+1 {
		waited := x.name != ""
		response, err := c.watch(reading, step, x)
		if err == nil {
			return response, nil
		}
		if ctx.Err() != nil {
			c.cancel(ctx, x.name)
			return nil, ctx.Err()
		}
		switch {
		case x.done: // to wait for it would give the same again
			x.name, x.done = "", false
		case x.heard:
			try = 0
		case waited && codeOf(err) == codes.NotFound:
			x.name, err = "", &failure{code: codes.Unavailable} // a server that was started again knows nothing of it
		}
		if !passing(err) || try >= mostTries || streams >= mostStreams {
			return nil, err
		}
		sleep(ctx, firstPause*time.Duration(max(try, 1)))
	}
}

// passing reports whether an execution that failed may succeed if it is begun again.
func passing(err error) bool {
	switch codeOf(err) {
	case codes.Unavailable, codes.Aborted:
		return true
	}
	return false
}

// operations is a stream of the progress of an execution.
type operations interface {
	Recv() (*longrunningpb.Operation, error)
}

// open asks for the execution of a step, or for the progress of one that was begun.
func (c *Client) open(ctx context.Context, step *remote.Step, x *execution) (operations, error) {
	if x.name != "" {
		return c.execution.WaitExecution(ctx, &repb.WaitExecutionRequest{Name: x.name})
	}
	return c.execution.Execute(ctx, &repb.ExecuteRequest{InstanceName: c.machines,
		ActionDigest: digestOf(step.Encoding.Key)})
}

// watch reads the progress of an execution up to its end. An execution that failed is an error.
func (c *Client) watch(ctx context.Context, step *remote.Step, x *execution) (*repb.ExecuteResponse, error) {
	ctx, end := context.WithCancel(ctx) // of this stream
	defer end()
	x.heard = false
	stream, err := c.open(ctx, step, x)
	if err != nil {
		return nil, c.failed(ctx, err)
	}
	for {
		op, err := stream.Recv()
		if err == io.EOF {
			return nil, &failure{code: codes.Unavailable, text: "the execution is not done, but the answer ends"}
		}
		if err != nil {
			return nil, c.failed(ctx, err)
		}
		x.progress(op)
		if op.Done {
			return c.response(op)
		}
	}
}

// response returns the outcome of an execution that is done.
func (c *Client) response(op *longrunningpb.Operation) (*repb.ExecuteResponse, error) {
	if failed := op.GetError(); failed != nil {
		return nil, c.failureOf(status.FromProto(failed))
	}
	response := &repb.ExecuteResponse{}
	if packed := op.GetResponse(); packed == nil || packed.UnmarshalTo(response) != nil {
		return nil, fmt.Errorf("%w: the execution is done, but has no result", errRefused)
	}
	if s := status.FromProto(response.Status); response.Status != nil && s.Code() != codes.OK {
		return nil, c.failureOf(s)
	}
	if response.Result == nil {
		return nil, fmt.Errorf("%w: the execution is done, but has no result", errRefused)
	}
	return response, nil
}

// progress notes what the server says of an execution.
func (x *execution) progress(op *longrunningpb.Operation) {
	x.name, x.heard, x.done = op.Name, true, op.Done
	select {
	case <-x.named:
	default:
		close(x.named)
	}
	var about repb.ExecuteOperationMetadata
	if op.Metadata == nil || op.Metadata.UnmarshalTo(&about) != nil || about.Stage != repb.ExecutionStage_QUEUED {
		x.taken()
	}
}

// cancel asks the server to end an execution that nobody waits for; not all servers can.
func (c *Client) cancel(ctx context.Context, name string) {
	if name == "" {
		return
	}
	c.behind.Go(func() {
		ctx, done := context.WithTimeout(context.WithoutCancel(ctx), c.patience)
		defer done()
		c.operations.CancelOperation(ctx, &longrunningpb.CancelOperationRequest{Name: name})
	})
}
