package reapi

import (
	"context"

	repb "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/remote"
	"github.com/warpld/warpld/internal/version"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// A session is the use of a server by one link. It implements remote.Server.
type session struct {
	client     *Client
	invocation string
}

// Session returns the use of the server by one link. The invocation is an identifier that the
// links of one build share, so that a server can be fair to several builds.
func (c *Client) Session(invocation string) remote.Server {
	c.credentials.expire(true)
	for _, conn := range c.conns { // the server may be back since an earlier link
		conn.ResetConnectBackoff()
	}
	return &session{client: c, invocation: invocation}
}

// Ready implements remote.Server.
func (s *session) Ready(context.Context) {}

// Close implements remote.Server. The connection stays open for other links.
func (s *session) Close() { s.client.behind.Wait() }

// metadataHeader has the RequestMetadata of a call.
const metadataHeader = "build.bazel.remote.execution.v2.requestmetadata-bin"

// about returns a context whose calls tell the server which program asks, for which build and
// about which action.
func (s *session) about(ctx context.Context, step *remote.Step) context.Context {
	raw, err := proto.Marshal(&repb.RequestMetadata{
		ToolDetails:      &repb.ToolDetails{ToolName: "warpld", ToolVersion: version.Version},
		ActionId:         step.Encoding.Key.Hash,
		ToolInvocationId: s.invocation, CorrelatedInvocationsId: s.invocation,
	})
	if err != nil { // the invocation is not UTF-8
		return ctx
	}
	return metadata.NewOutgoingContext(ctx, metadata.Pairs(metadataHeader, string(raw)))
}

func digestOf(d action.Digest) *repb.Digest { return &repb.Digest{Hash: d.Hash, SizeBytes: d.Size} }

// LookUp implements remote.Server.
func (s *session) LookUp(ctx context.Context, step *remote.Step) (*action.Result, error) {
	c := s.client
	ctx = s.about(ctx, step)
	request := &repb.GetActionResultRequest{InstanceName: c.instance, ActionDigest: digestOf(step.Encoding.Key),
		InlineStdout: true, InlineStderr: true, InlineOutputFiles: step.Outputs}
	r, err := call(ctx, c, func(ctx context.Context) (*repb.ActionResult, error) {
		return c.cache.GetActionResult(ctx, request)
	})
	var result *action.Result
	switch {
	case err != nil:
	case r.ExitCode != 0: // a failure is for the tools here to confirm
		return nil, remote.ErrNotFound
	default:
		result, err = c.take(ctx, step, r)
	}
	if codeOf(err) == codes.NotFound {
		return nil, remote.ErrNotFound
	}
	return result, err
}

// Store implements remote.Server. The outputs go first, so that what is found is whole. The
// messages of the action go too, so that people can look at it there.
func (s *session) Store(ctx context.Context, step *remote.Step, result *action.Result) error {
	c := s.client
	ctx = s.about(ctx, step)
	if can := c.cacheCan.get(ctx, c, c.instance); !can.update {
		return &failure{code: codes.PermissionDenied, text: "the server does not accept results of clients"}
	}
	blobs := append([]action.Blob(nil), step.Encoding.Messages...)
	stored := &repb.ActionResult{}
	for name, content := range result.Outputs {
		digest, err := content.Digest()
		if err != nil {
			return err
		}
		blobs = append(blobs, action.Blob{Digest: digest, Content: content})
		stored.OutputFiles = append(stored.OutputFiles, &repb.OutputFile{Path: name, Digest: digestOf(digest)})
	}
	for _, printed := range []struct {
		text []byte
		at   **repb.Digest
	}{{result.Stdout, &stored.StdoutDigest}, {result.Stderr, &stored.StderrDigest}} {
		if len(printed.text) > 0 {
			digest := action.DigestOf(printed.text)
			blobs = append(blobs, action.Blob{Digest: digest, Content: action.Bytes(printed.text)})
			*printed.at = digestOf(digest)
		}
	}
	missing, err := c.findMissing(ctx, blobs)
	if err != nil {
		return err
	}
	if err := c.send(ctx, missing); err != nil {
		return err
	}
	request := &repb.UpdateActionResultRequest{InstanceName: c.instance, ActionDigest: digestOf(step.Encoding.Key),
		ActionResult: stored}
	_, err = call(ctx, c, func(ctx context.Context) (*repb.ActionResult, error) {
		return c.cache.UpdateActionResult(ctx, request)
	})
	return err
}
