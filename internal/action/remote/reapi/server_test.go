package reapi

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	repb "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"github.com/klauspost/compress/zstd"
	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/remote"
	"google.golang.org/genproto/googleapis/bytestream"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"
)

// A server is a real gRPC server in this process that can be made to lie and to
// fail, as real ones can't.
type server struct {
	repb.UnimplementedActionCacheServer
	repb.UnimplementedContentAddressableStorageServer
	repb.UnimplementedExecutionServer
	repb.UnimplementedCapabilitiesServer
	longrunningpb.UnimplementedOperationsServer

	address string
	grpc    *grpc.Server
	// shares is another server whose blobs this one uses.
	shares *server
	// silentBatch leaves blobs out of the answer to a batch.
	silentBatch bool
	mu          sync.Mutex
	blobs       map[action.Digest][]byte
	results     map[string]*repb.ActionResult
	calls       map[string]int
	names       []string // of blobs that were read and written
	headers     []metadata.MD
	// before is called for each call and may refuse it.
	before func(ctx context.Context, method string) error
	// lie changes the bytes of a blob on their way out, and garble what they are
	// compressed to.
	lie, garble func([]byte) []byte
	// zstd says that blobs may be compressed.
	zstd bool
	// can is what the server says it can do beside that.
	can *repb.ServerCapabilities
	// queue waits for a worker.
	queue func()
	// run is what the workers do.
	run func(ctx context.Context, a *repb.Action) (*repb.ExecuteResponse, error)
	// running are the ends of the operations that go on.
	running map[string]context.CancelFunc
	// cut ends the stream of an execution before its result, this many times.
	cut  int
	done map[string]*repb.ExecuteResponse
}

func newServer(t *testing.T, options ...grpc.ServerOption) *server {
	t.Helper()
	s := &server{blobs: map[action.Digest][]byte{}, results: map[string]*repb.ActionResult{}, calls: map[string]int{},
		running: map[string]context.CancelFunc{}, done: map[string]*repb.ExecuteResponse{}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = listener.Addr().String()
	g := grpc.NewServer(append(options,
		grpc.UnaryInterceptor(func(ctx context.Context, r any, info *grpc.UnaryServerInfo,
			next grpc.UnaryHandler) (any, error) {
			if err := s.called(ctx, info.FullMethod); err != nil {
				return nil, err
			}
			return next(ctx, r)
		}),
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
			next grpc.StreamHandler) error {
			if err := s.called(stream.Context(), info.FullMethod); err != nil {
				return err
			}
			return next(srv, stream)
		}))...)
	s.grpc = g
	repb.RegisterActionCacheServer(g, s)
	repb.RegisterContentAddressableStorageServer(g, s)
	repb.RegisterExecutionServer(g, s)
	repb.RegisterCapabilitiesServer(g, s)
	longrunningpb.RegisterOperationsServer(g, s)
	bytestream.RegisterByteStreamServer(g, byteStream{s})
	go g.Serve(listener)
	t.Cleanup(g.Stop)
	return s
}

func (s *server) called(ctx context.Context, method string) error {
	name := method[strings.LastIndexByte(method, '/')+1:]
	s.mu.Lock()
	s.calls[name]++
	md, _ := metadata.FromIncomingContext(ctx)
	s.headers = append(s.headers, md)
	before := s.before
	s.mu.Unlock()
	if before != nil {
		return before(ctx, name)
	}
	return nil
}

// count is how often a method was called.
func (s *server) count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

func (s *server) note(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, name)
}

// changes returns what a read does to the bytes, before and after it compresses them.
func (s *server) changes() (lie, garble func([]byte) []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lie, s.garble
}

func (s *server) keep(data []byte) *repb.Digest {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := action.DigestOf(data)
	s.blobs[d] = data
	return &repb.Digest{Hash: d.Hash, SizeBytes: d.Size}
}

func (s *server) blob(d *repb.Digest) ([]byte, bool) {
	if s.shares != nil {
		return s.shares.blob(d)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.blobs[action.Digest{Hash: d.Hash, Size: d.SizeBytes}]
	return data, ok
}

func (s *server) GetCapabilities(context.Context, *repb.GetCapabilitiesRequest) (*repb.ServerCapabilities, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.can != nil {
		return s.can, nil
	}
	can := &repb.ServerCapabilities{CacheCapabilities: &repb.CacheCapabilities{
		ActionCacheUpdateCapabilities: &repb.ActionCacheUpdateCapabilities{UpdateEnabled: true}},
		ExecutionCapabilities: &repb.ExecutionCapabilities{ExecEnabled: true}}
	if s.zstd {
		can.CacheCapabilities.SupportedCompressors = []repb.Compressor_Value{repb.Compressor_DEFLATE, repb.Compressor_ZSTD}
	}
	return can, nil
}

func (s *server) GetActionResult(_ context.Context, r *repb.GetActionResultRequest) (*repb.ActionResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if result := s.results[r.ActionDigest.Hash]; result != nil {
		return result, nil
	}
	return nil, status.Error(codes.NotFound, "no such result")
}

func (s *server) UpdateActionResult(_ context.Context, r *repb.UpdateActionResultRequest) (*repb.ActionResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results[r.ActionDigest.Hash] = r.ActionResult
	return r.ActionResult, nil
}

func (s *server) FindMissingBlobs(_ context.Context,
	r *repb.FindMissingBlobsRequest) (*repb.FindMissingBlobsResponse, error) {
	reply := &repb.FindMissingBlobsResponse{}
	for _, d := range r.BlobDigests {
		if _, ok := s.blob(d); !ok {
			reply.MissingBlobDigests = append(reply.MissingBlobDigests, d)
		}
	}
	return reply, nil
}

func (s *server) BatchUpdateBlobs(_ context.Context,
	r *repb.BatchUpdateBlobsRequest) (*repb.BatchUpdateBlobsResponse, error) {
	reply := &repb.BatchUpdateBlobsResponse{}
	for _, b := range r.Requests {
		got := s.keep(b.Data)
		answer := &repb.BatchUpdateBlobsResponse_Response{Digest: b.Digest}
		if !proto.Equal(got, b.Digest) {
			answer.Status = status.New(codes.InvalidArgument, "wrong digest").Proto()
		}
		if !s.silentBatch {
			reply.Responses = append(reply.Responses, answer)
		}
	}
	return reply, nil
}

func (s *server) BatchReadBlobs(_ context.Context,
	r *repb.BatchReadBlobsRequest) (*repb.BatchReadBlobsResponse, error) {
	reply := &repb.BatchReadBlobsResponse{}
	lie, _ := s.changes()
	for _, d := range r.Digests {
		data, ok := s.blob(d)
		answer := &repb.BatchReadBlobsResponse_Response{Digest: d, Data: data}
		if !ok {
			answer.Status = status.New(codes.NotFound, "no such blob").Proto()
		} else if lie != nil {
			answer.Data = lie(append([]byte(nil), data...))
		}
		reply.Responses = append(reply.Responses, answer)
	}
	return reply, nil
}

// byteStream is apart because its methods have names that the server's could be
// taken for.
type byteStream struct{ *server }

func (s byteStream) QueryWriteStatus(context.Context,
	*bytestream.QueryWriteStatusRequest) (*bytestream.QueryWriteStatusResponse, error) {
	return nil, status.Error(codes.Unimplemented, "")
}

func (s byteStream) Read(r *bytestream.ReadRequest, stream bytestream.ByteStream_ReadServer) error {
	parts := strings.Split(r.ResourceName, "/")
	d := &repb.Digest{Hash: parts[len(parts)-2]}
	fmt.Sscan(parts[len(parts)-1], &d.SizeBytes)
	data, ok := s.blob(d)
	if !ok {
		return status.Error(codes.NotFound, "no such blob")
	}
	s.note("Read " + r.ResourceName)
	lie, garble := s.changes()
	if lie != nil {
		data = lie(append([]byte(nil), data...))
	}
	if strings.Contains(r.ResourceName, "compressed-blobs/zstd/") {
		encoder, _ := zstd.NewWriter(nil)
		if data = encoder.EncodeAll(data, nil); garble != nil {
			data = garble(data)
		}
	}
	data = data[min(r.ReadOffset, int64(len(data))):]
	for len(data) > 0 {
		n := min(len(data), 1<<20)
		if err := stream.Send(&bytestream.ReadResponse{Data: data[:n]}); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func (s byteStream) Write(stream bytestream.ByteStream_WriteServer) error {
	var data []byte
	var name string
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if m.WriteOffset != int64(len(data)) {
			return status.Error(codes.InvalidArgument, "offset")
		}
		if m.ResourceName != "" {
			name = m.ResourceName
		}
		data = append(data, m.Data...)
	}
	s.note("Write " + name)
	if strings.Contains(name, "compressed-blobs/zstd/") {
		decoder, _ := zstd.NewReader(nil)
		var err error
		if data, err = decoder.DecodeAll(data, nil); err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
		name = strings.Replace(name, "compressed-blobs/zstd/", "blobs/", 1)
	}
	d := action.DigestOf(data)
	if !strings.HasSuffix(name, "/blobs/"+d.String()) || !strings.HasPrefix(name, "team/uploads/") {
		return status.Errorf(codes.InvalidArgument, "%s is not %s", name, d)
	}
	s.keep(data)
	return stream.SendAndClose(&bytestream.WriteResponse{CommittedSize: d.Size})
}

func (s *server) Execute(r *repb.ExecuteRequest, stream repb.Execution_ExecuteServer) error {
	raw, ok := s.blob(r.ActionDigest)
	a := &repb.Action{}
	if !ok || proto.Unmarshal(raw, a) != nil {
		return status.Error(codes.FailedPrecondition, "no action")
	}
	name := fmt.Sprintf("operation-%s-%d", r.ActionDigest.Hash[:8], s.count("Execute"))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.mu.Lock()
	s.running[name] = cancel
	s.mu.Unlock()
	for _, stage := range []repb.ExecutionStage_Value{repb.ExecutionStage_QUEUED, repb.ExecutionStage_EXECUTING} {
		if stage == repb.ExecutionStage_EXECUTING && s.queue != nil {
			s.queue()
		}
		if err := stream.Send(operationMessage(name, stage, nil)); err != nil {
			return err
		}
	}
	response, err := s.run(ctx, a)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.done[name] = response
	cut := s.cut > 0
	s.cut--
	s.mu.Unlock()
	if cut {
		return status.Error(codes.Unavailable, "cut")
	}
	return stream.Send(operationMessage(name, repb.ExecutionStage_COMPLETED, response))
}

func (s *server) WaitExecution(r *repb.WaitExecutionRequest, stream repb.Execution_WaitExecutionServer) error {
	s.mu.Lock()
	response := s.done[r.Name]
	s.mu.Unlock()
	if response == nil {
		return status.Error(codes.NotFound, "no such operation")
	}
	return stream.Send(operationMessage(r.Name, repb.ExecutionStage_COMPLETED, response))
}

func (s *server) CancelOperation(_ context.Context, r *longrunningpb.CancelOperationRequest) (*emptypb.Empty, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.running[r.Name]; cancel != nil {
		cancel()
	}
	return &emptypb.Empty{}, nil
}

func operationMessage(name string, stage repb.ExecutionStage_Value,
	response *repb.ExecuteResponse) *longrunningpb.Operation {
	op := &longrunningpb.Operation{Name: name}
	op.Metadata, _ = anypb.New(&repb.ExecuteOperationMetadata{Stage: stage})
	if response != nil {
		value, _ := anypb.New(response)
		op.Done, op.Result = true, &longrunningpb.Operation_Response{Response: value}
	}
	return op
}

// config is what a fixture depends on.
type config struct {
	remote.Settings
	Upload bool
}

// fixture is a client of a server and what it tells.
type fixture struct {
	*remote.Client
	grpc  *Client
	root  string // of results
	notes []string
	mu    sync.Mutex
}

// dial makes a client and a link that uses it.
func dial(t *testing.T, s *server, change func(*config)) *fixture {
	t.Helper()
	set := config{Settings: remote.Settings{Cache: "grpc://" + s.address + "/team"}}
	if change != nil {
		change(&set)
	}
	c, err := Dial(set.Settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.patience = 20 * time.Second // a busy machine is not a slow server
	return link(t, c, set.Upload)
}

// link begins a link that uses a client.
func link(t *testing.T, c *Client, upload bool) *fixture {
	f := &fixture{grpc: c, root: t.TempDir()}
	n := 0
	f.Client = remote.New(t.Context(), remote.Config{Server: c.Session("build"), Upload: upload, Digest: action.ReadDigest,
		Dir: func() string {
			f.mu.Lock()
			defer f.mu.Unlock()
			n++
			return fmt.Sprintf("%s/%d", f.root, n)
		},
		Note: func(without string, err error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.notes = append(f.notes, without+": "+err.Error())
		}})
	t.Cleanup(f.Close)
	return f
}
