package remote

import (
	"bytes"
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
	"time"

	"github.com/warpld/warpld/internal/action"
	"golang.org/x/sync/errgroup"
)

const (
	serviceActionCache = "build.bazel.remote.execution.v2.ActionCache/"
	serviceStorage     = "build.bazel.remote.execution.v2.ContentAddressableStorage/"
	serviceByteStream  = "google.bytestream.ByteStream/"
)

const (
	// Blobs up to batchBlob are sent together, up to batchTotal at once: half of what servers
	// accept as one message by default.
	batchBlob  = 1 << 20
	batchTotal = 2 << 20
	chunkSize  = 256 << 10 // of larger blobs
	mostAsked  = 10000     // digests in one question
	askFrom    = 32 << 10  // smaller blobs are sent without a question
	transfers  = 8         // at once
	// slowest is the transfer rate, in bytes a second, below which a server is of
	// no use.
	slowest = 1 << 20
)

// The names of blobs, before their digest.
const (
	plainBlobs      = "blobs/"
	compressedBlobs = "compressed-blobs/zstd/"
)

// transferTime is how long a transfer may take.
func (c *Client) transferTime(size int64) time.Duration {
	return c.patience + time.Duration(float64(size)/slowest*float64(time.Second))
}

// A blobSet is blobs by their digest.
type blobSet map[action.Digest]action.Content

func (s blobSet) size() (n int64) {
	for d := range s {
		n += d.Size
	}
	return n
}

// present is the set of blobs that the server reported to have.
type present struct {
	mu    sync.Mutex
	known map[action.Digest]bool
}

func (p *present) set(d action.Digest, there bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[action.Digest]bool{}
	}
	p.known[d] = there
}

func (p *present) has(d action.Digest) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[d]
}

// findMissing returns the blobs that the server lacks.
func (c *Client) findMissing(ctx context.Context, blobs []action.Blob) (blobSet, error) {
	asked := blobSet{}
	var digests []action.Digest
	for _, b := range blobs {
		if _, twice := asked[b.Digest]; !twice && b.Size > 0 && !c.present.has(b.Digest) {
			asked[b.Digest] = b.Content
			digests = append(digests, b.Digest)
		}
	}
	missing := blobSet{}
	for len(digests) > 0 {
		n := min(len(digests), mostAsked)
		list, err := c.askMissing(ctx, digests[:n])
		if err != nil {
			return nil, err
		}
		for _, d := range list {
			content, ours := asked[d]
			if !ours {
				return nil, fmt.Errorf("%w: it misses a blob that it was not asked for", errRefused)
			}
			missing[d] = content
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

func (c *Client) askMissing(ctx context.Context, digests []action.Digest) ([]action.Digest, error) {
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	reply, err := c.connection.call(ctx, serviceStorage+"FindMissingBlobs", encodeFindMissing(c.instance, digests))
	if err != nil {
		return nil, err
	}
	return parseMissing(reply)
}

// send uploads blobs, small ones together.
func (c *Client) send(ctx context.Context, blobs blobSet) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(transfers)
	batch := map[action.Digest][]byte{}
	total := int64(0)
	flush := func() {
		full := batch
		if len(full) > 0 {
			group.Go(func() error { return c.sendBatch(ctx, full) })
		}
		batch, total = map[action.Digest][]byte{}, 0
	}
	for digest, content := range blobs {
		if digest.Size > batchBlob {
			group.Go(func() error { return c.sendOnce(ctx, digest, content) })
			continue
		}
		data, err := content.Read()
		if err != nil {
			return err
		}
		if total+digest.Size > batchTotal {
			flush()
		}
		batch[digest] = data
		total += digest.Size
	}
	flush()
	if err := group.Wait(); err != nil {
		return err
	}
	for digest := range blobs {
		c.present.set(digest, true)
	}
	return nil
}

// BatchUpdateBlobsRequest: instance_name = 1, requests = 2 (digest = 1, data = 2).
func (c *Client) sendBatch(ctx context.Context, batch map[action.Digest][]byte) error {
	var w writer
	w.text(1, c.instance)
	for digest, data := range batch {
		var request writer
		request.bytes(1, encodeDigest(digest))
		request.bytes(2, data)
		w.bytes(2, request)
	}
	ctx, cancel := context.WithTimeout(ctx, c.transferTime(batchTotal))
	defer cancel()
	reply, err := c.connection.call(ctx, serviceStorage+"BatchUpdateBlobs", w)
	if err != nil {
		return err
	}
	return parseBatchUpdate(reply)
}

// sendOnce sends a large blob unless another action just did.
func (c *Client) sendOnce(ctx context.Context, digest action.Digest, content action.Content) error {
	lock, _ := c.sending.LoadOrStore(digest, new(sync.Mutex))
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	if c.present.has(digest) {
		return nil
	}
	err := c.sendStream(ctx, digest, content)
	if err == nil {
		c.present.set(digest, true)
	}
	return err
}

// sendStream sends one large blob. WriteResponse: committed_size = 1.
func (c *Client) sendStream(ctx context.Context, digest action.Digest, content action.Content) error {
	data, err := content.Open()
	if err != nil {
		return err
	}
	defer data.Close()
	ctx, cancel := context.WithTimeout(ctx, c.transferTime(digest.Size))
	defer cancel()
	name, sent := fmt.Sprintf("%suploads/%s/", c.prefix(), uuid()), io.Reader(data)
	if c.compresses(ctx, digest.Size) {
		packed := compressed(data)
		defer packed.Close()
		name, sent = name+compressedBlobs, packed
	} else {
		name += plainBlobs
	}
	answer, err := c.connection.open(ctx, serviceByteStream+"Write",
		&writeRequests{data: sent, name: name + digest.String()})
	if err != nil {
		return err
	}
	defer answer.close()
	_, err = answer.only()
	return err
}

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

// writeRequests is a blob as a stream of WriteRequest messages (resource_name = 1,
// write_offset = 2, finish_write = 3, data = 10). The last one may have no data.
type writeRequests struct {
	data   io.Reader
	name   string
	offset int64
	ended  bool
	ready  bytes.Reader
	chunk  [chunkSize]byte
}

func (w *writeRequests) Read(p []byte) (int, error) {
	if w.ready.Len() == 0 {
		if w.ended {
			return 0, io.EOF
		}
		n, err := io.ReadFull(w.data, w.chunk[:])
		if w.ended = err == io.EOF || err == io.ErrUnexpectedEOF; err != nil && !w.ended {
			return 0, err
		}
		var m writer
		m.text(1, w.name)
		m.number(2, w.offset)
		w.offset += int64(n)
		if w.ended {
			m.number(3, 1)
		}
		m.bytes(10, w.chunk[:n])
		w.ready.Reset(frame(m))
	}
	return w.ready.Read(p)
}

// download fetches an output into a fresh file, unless it came along with the result,
// and checks every byte of it.
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

// fetch writes a blob to w, and no more bytes than its digest has. ReadRequest: resource_name
// = 1.
func (c *Client) fetch(ctx context.Context, digest action.Digest, w io.Writer) error {
	hash := sha256.New()
	if digest.Size > 0 {
		if err := c.read(ctx, digest, io.MultiWriter(w, hash)); err != nil {
			return err
		}
	}
	if hex.EncodeToString(hash.Sum(nil)) != digest.Hash {
		return fmt.Errorf("%w: blob %s has other bytes", errRefused, digest)
	}
	return nil
}

func (c *Client) read(ctx context.Context, digest action.Digest, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, c.transferTime(digest.Size))
	defer cancel()
	kind := plainBlobs
	if c.compresses(ctx, digest.Size) {
		kind = compressedBlobs
	}
	var request writer
	request.text(1, c.prefix()+kind+digest.String())
	answer, err := c.connection.open(ctx, serviceByteStream+"Read", bytes.NewReader(frame(request)))
	if err != nil {
		return err
	}
	defer answer.close()
	stream := &blobReader{answer: answer}
	if kind == plainBlobs {
		return copyBlob(w, stream, digest.Size)
	}
	plain, err := decompressed(stream)
	if err != nil {
		return err
	}
	defer plain.Close()
	err = copyBlob(w, plain, digest.Size)
	if err != nil && stream.err == nil && !errors.Is(err, errRefused) {
		err = fmt.Errorf("%w: blob %s can't be decompressed: %w", errRefused, digest, err)
	}
	return cmp.Or(stream.err, err)
}
