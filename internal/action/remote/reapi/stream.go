package reapi

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	repb "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"github.com/warpld/warpld/internal/action"
	"google.golang.org/genproto/googleapis/bytestream"
	"google.golang.org/grpc/codes"
)

const (
	chunkSize = 256 << 10
	// mostBreaks is how often a transfer is resumed after which nothing more was moved.
	mostBreaks = 4
)

// The names of blobs, before their digest.
const (
	plainBlobs      = "blobs/"
	compressedBlobs = "compressed-blobs/zstd/"
)

// prefix begins the names of blobs.
func (c *Client) prefix() string {
	if c.instance == "" {
		return ""
	}
	return c.instance + "/"
}

// uuid returns a random UUID, which keeps uploads apart.
func uuid() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// resumable reports whether a transfer that ended with an error can go on.
func resumable(err error) bool {
	switch codeOf(err) {
	case codes.Unavailable, codes.Aborted, codes.Internal, codes.ResourceExhausted, codes.DeadlineExceeded:
		return true
	}
	return false
}

// An upload is a large blob on its way to the server. It is kept for as long as the client, so
// that a link goes on with what an earlier one had sent.
type upload struct {
	mu   sync.Mutex // held while a link sends it
	kind string     // whether it is compressed
	name string     // of the upload, for the server
	sent int64      // how many bytes were given to the connection
}

// sendOnce sends a large blob unless another link or action just did.
func (c *Client) sendOnce(ctx context.Context, digest action.Digest, content action.Content) error {
	kept, _ := c.sending.LoadOrStore(digest, &upload{})
	u := kept.(*upload)
	u.mu.Lock()
	defer u.mu.Unlock()
	if c.present.has(digest) {
		return nil
	}
	if u.name == "" {
		u.kind = plainBlobs
		if c.compresses(ctx, digest.Size) {
			u.kind = compressedBlobs
		}
		u.name = fmt.Sprintf("%suploads/%s/%s%s", c.prefix(), uuid(), u.kind, digest)
	}
	for breaks := 0; ; breaks++ {
		before := u.sent
		err := c.sendStream(ctx, u, digest, content)
		if err == nil {
			c.present.set(digest, true)
			c.sending.Delete(digest)
			return nil
		}
		if u.sent > before+chunkSize {
			breaks = 0
		}
		if ctx.Err() != nil || !resumable(err) || breaks >= mostBreaks || !sleep(ctx, firstPause<<breaks) {
			return err
		}
	}
}

// committed returns how much of an upload the server has, and whether that is all.
func (c *Client) committed(ctx context.Context, u *upload) (offset int64, complete bool) {
	if u.sent == 0 {
		return 0, false
	}
	reply, err := call(ctx, c, func(ctx context.Context) (*bytestream.QueryWriteStatusResponse, error) {
		return c.stream.QueryWriteStatus(ctx, &bytestream.QueryWriteStatusRequest{ResourceName: u.name})
	})
	if err != nil || reply.CommittedSize < 0 {
		return 0, false // it begins again
	}
	return reply.CommittedSize, reply.Complete
}

// sendStream sends what the server does not have yet of a large blob.
func (c *Client) sendStream(ctx context.Context, u *upload, digest action.Digest, content action.Content) error {
	data, err := content.Open()
	if err != nil {
		return err
	}
	defer data.Close()
	offset, complete := c.committed(ctx, u)
	if complete {
		return nil
	}
	var sent io.Reader = data
	if u.kind == compressedBlobs {
		packed := compressed(data)
		defer packed.Close()
		sent = packed
	}
	if _, err := io.CopyN(io.Discard, sent, offset); err != nil {
		return fmt.Errorf("%w: it has more of a blob than there is", errRefused)
	}
	ctx, w, done := c.watched(ctx)
	defer done()
	stream, err := c.stream.Write(ctx)
	if err != nil {
		return c.failed(ctx, err)
	}
	total, err := c.write(stream, u, w, sent, offset)
	if err != nil && err != io.EOF { // io.EOF: the server has answered already
		return c.failed(ctx, err)
	}
	reply, err := stream.CloseAndRecv()
	if err != nil {
		return c.failed(ctx, err)
	}
	if size := reply.CommittedSize; size != digest.Size && (u.kind == plainBlobs || (size != -1 && size != total)) {
		return fmt.Errorf("%w: it stored %d bytes of a blob of %d", errRefused, size, digest.Size)
	}
	return nil
}

// write sends the messages of an upload and returns the offset of its end.
func (c *Client) write(stream bytestream.ByteStream_WriteClient, u *upload, w *watch, data io.Reader,
	offset int64) (int64, error) {
	name := u.name
	for {
		chunk := make([]byte, chunkSize) // grpc-go may keep it
		n, err := io.ReadFull(data, chunk)
		ended := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !ended {
			return offset, err
		}
		request := &bytestream.WriteRequest{ResourceName: name, WriteOffset: offset, FinishWrite: ended, Data: chunk[:n]}
		if err := stream.Send(request); err != nil {
			return offset, err
		}
		offset, name = offset+int64(n), ""
		u.sent += int64(n)
		w.step()
		c.moved.Add(1)
		if ended {
			return offset, nil
		}
	}
}

// readTogether fetches small outputs with one request, if there are several. What it can't have
// this way is left for streams.
func (c *Client) readTogether(ctx context.Context, files []outputFile) {
	var asked []*repb.Digest
	wanted, total := map[action.Digest]int{}, int64(0)
	limit := int64(batchTotal)
	for i, f := range files {
		if len(f.raw) > 0 || f.digest.Size == 0 || f.digest.Size > batchBlob || total+f.digest.Size+perBlob > limit {
			continue
		}
		if _, twice := wanted[f.digest]; !twice {
			wanted[f.digest] = i
			asked = append(asked, digestOf(f.digest))
			total += f.digest.Size + perBlob
		}
	}
	if len(asked) < 2 || total > c.cacheCan.get(ctx, c, c.instance).batch {
		return
	}
	reply, err := call(ctx, c, func(ctx context.Context) (*repb.BatchReadBlobsResponse, error) {
		return c.storage.BatchReadBlobs(ctx, &repb.BatchReadBlobsRequest{InstanceName: c.instance, Digests: asked})
	})
	if err != nil {
		return
	}
	for _, r := range reply.Responses {
		digest, err := parseDigest(r.GetDigest())
		i, ours := wanted[digest]
		if err == nil && ours && codes.Code(r.GetStatus().GetCode()) == codes.OK && r.Compressor == repb.Compressor_IDENTITY {
			files[i].raw = r.Data
		}
	}
}

// download puts an output into a fresh file and checks every byte of it.
func (c *Client) download(ctx context.Context, output outputFile, path string) error {
	if len(output.raw) > 0 {
		if action.DigestOf(output.raw) != output.digest {
			return fmt.Errorf("%w: blob %s has other bytes", errRefused, output.digest)
		}
		return os.WriteFile(path, output.raw, 0o600)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = c.fetch(ctx, output.digest, f)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// fetch writes a blob to w, and no more bytes than its digest has. A transfer that breaks goes
// on where it was.
func (c *Client) fetch(ctx context.Context, digest action.Digest, w io.Writer) error {
	hash := sha256.New()
	out := &counting{w: io.MultiWriter(w, hash)}
	for breaks := 0; out.n < digest.Size; breaks++ {
		before := out.n
		err := c.read(ctx, digest, out)
		if err == nil {
			break
		}
		if out.n > before {
			breaks = 0
		}
		if ctx.Err() != nil || !resumable(err) || breaks >= mostBreaks || !sleep(ctx, firstPause<<breaks) {
			return err
		}
	}
	if hex.EncodeToString(hash.Sum(nil)) != digest.Hash {
		return fmt.Errorf("%w: blob %s has other bytes", errRefused, digest)
	}
	return nil
}

// counting counts what is written.
type counting struct {
	w io.Writer
	n int64
}

func (c *counting) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// read reads a blob from where out has it up to its end. The offset is that of the plain bytes,
// whether they travel compressed or not.
func (c *Client) read(ctx context.Context, digest action.Digest, out *counting) error {
	kind := plainBlobs
	if c.compresses(ctx, digest.Size) {
		kind = compressedBlobs
	}
	ctx, w, done := c.watched(ctx)
	defer done()
	reader, err := c.stream.Read(ctx, &bytestream.ReadRequest{ResourceName: c.prefix() + kind + digest.String(),
		ReadOffset: out.n})
	if err != nil {
		return c.failed(ctx, err)
	}
	stream := &blobReader{stream: reader, watch: w}
	rest := digest.Size - out.n
	if kind == plainBlobs {
		err := copyBlob(out, stream, rest)
		return cmp.Or(c.streamError(ctx, stream), err)
	}
	plain, err := decompressed(stream)
	if err != nil {
		return err
	}
	defer plain.Close()
	err = copyBlob(out, plain, rest)
	if err != nil && stream.err == nil && !errors.Is(err, errRefused) {
		err = fmt.Errorf("%w: blob %s can't be decompressed: %w", errRefused, digest, err)
	}
	return cmp.Or(c.streamError(ctx, stream), err)
}

// streamError returns what ended a stream, other than its end.
func (c *Client) streamError(ctx context.Context, r *blobReader) error {
	if r.err == nil {
		return nil
	}
	return c.failed(ctx, r.err)
}

// A blobReader is the data of a stream of messages.
type blobReader struct {
	stream bytestream.ByteStream_ReadClient
	watch  *watch
	ready  []byte
	err    error // what ended it, other than its end
}

func (r *blobReader) Read(p []byte) (int, error) {
	for len(r.ready) == 0 {
		message, err := r.stream.Recv()
		if err != nil {
			if err != io.EOF {
				r.err = err
			}
			return 0, err
		}
		r.watch.step()
		r.ready = message.Data
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}
