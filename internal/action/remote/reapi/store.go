package reapi

import (
	"context"
	"fmt"

	repb "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"github.com/warpld/warpld/internal/action"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	batchBlob = 1 << 20  // larger blobs are streamed
	mostAsked = 10000    // digests in one question
	askFrom   = 32 << 10 // smaller blobs are sent without a question
	transfers = 8        // at once
	// perBlob is what a blob adds to a message beside its bytes.
	perBlob = 128
)

// A blobSet is blobs by their digest.
type blobSet map[action.Digest]action.Content

func (s blobSet) size() (n int64) {
	for d := range s {
		n += d.Size
	}
	return n
}

// findMissing returns the blobs that the server lacks.
func (c *Client) findMissing(ctx context.Context, blobs []action.Blob) (blobSet, error) {
	asked := blobSet{}
	var digests []*repb.Digest
	for _, b := range blobs {
		if _, twice := asked[b.Digest]; !twice && b.Size > 0 && !c.present.has(b.Digest) {
			asked[b.Digest] = b.Content
			digests = append(digests, digestOf(b.Digest))
		}
	}
	missing := blobSet{}
	for len(digests) > 0 {
		n := min(len(digests), mostAsked)
		request := &repb.FindMissingBlobsRequest{InstanceName: c.instance, BlobDigests: digests[:n]}
		reply, err := call(ctx, c, func(ctx context.Context) (*repb.FindMissingBlobsResponse, error) {
			return c.storage.FindMissingBlobs(ctx, request)
		})
		if err != nil {
			return nil, err
		}
		for _, d := range reply.MissingBlobDigests {
			digest, err := parseDigest(d)
			if err != nil {
				return nil, err
			}
			content, ours := asked[digest]
			if !ours {
				return nil, fmt.Errorf("%w: it misses a blob that it was not asked for", errRefused)
			}
			missing[digest] = content
		}
		digests = digests[n:]
	}
	for d := range asked {
		if _, lacks := missing[d]; !lacks {
			c.present.set(d, true)
		}
	}
	return missing, nil
}

// A batch is small blobs that travel together.
type batch []*repb.BatchUpdateBlobsRequest_Request

// send uploads blobs, small ones together.
func (c *Client) send(ctx context.Context, blobs blobSet) error {
	if len(blobs) == 0 {
		return nil
	}
	can := c.cacheCan.get(ctx, c, c.instance)
	if can.problem != nil {
		return can.problem
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(transfers)
	var full batch
	total := int64(0)
	flush := func() {
		if sent := full; len(sent) > 0 {
			group.Go(func() error { return c.sendBatch(ctx, sent) })
		}
		full, total = nil, 0
	}
	for digest, content := range blobs {
		if can.blob > 0 && digest.Size > can.blob {
			return fmt.Errorf("the server takes blobs of at most %d bytes, and one has %d", can.blob, digest.Size)
		}
		if digest.Size > batchBlob || digest.Size+perBlob > can.batch {
			group.Go(func() error { return c.sendOnce(ctx, digest, content) })
			continue
		}
		data, err := content.Read()
		if err != nil {
			return err
		}
		if total+digest.Size+perBlob > can.batch {
			flush()
		}
		full = append(full, &repb.BatchUpdateBlobsRequest_Request{Digest: digestOf(digest), Data: data})
		total += digest.Size + perBlob
	}
	flush()
	return group.Wait()
}

// sendBatch sends blobs with one request. If the server accepts no message as large as that,
// each half is sent by itself.
func (c *Client) sendBatch(ctx context.Context, b batch) error {
	reply, err := call(ctx, c, func(ctx context.Context) (*repb.BatchUpdateBlobsResponse, error) {
		return c.storage.BatchUpdateBlobs(ctx, &repb.BatchUpdateBlobsRequest{InstanceName: c.instance, Requests: b})
	})
	switch {
	case err == nil:
		return c.checkStored(b, reply)
	case !tooLarge(err):
		return err
	case len(b) == 1:
		digest := action.Digest{Hash: b[0].Digest.Hash, Size: b[0].Digest.SizeBytes}
		return c.sendOnce(ctx, digest, action.Bytes(b[0].Data))
	}
	if err := c.sendBatch(ctx, b[:len(b)/2]); err != nil {
		return err
	}
	return c.sendBatch(ctx, b[len(b)/2:])
}

// checkStored reports a blob of a batch that the server did not store, or did not answer about.
func (c *Client) checkStored(b batch, reply *repb.BatchUpdateBlobsResponse) error {
	stored := map[string]bool{}
	for _, r := range reply.Responses {
		if s := status.FromProto(r.GetStatus()); s.Code() != codes.OK {
			return c.failureOf(s)
		}
		stored[r.GetDigest().GetHash()] = true
	}
	for _, sent := range b {
		if !stored[sent.Digest.Hash] {
			return fmt.Errorf("%w: it does not say whether it stored a blob", errRefused)
		}
	}
	for _, sent := range b {
		c.present.set(action.Digest{Hash: sent.Digest.Hash, Size: sent.Digest.SizeBytes}, true)
	}
	return nil
}
