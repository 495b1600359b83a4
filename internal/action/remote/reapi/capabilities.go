package reapi

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	repb "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
)

// abilities are what a server says it can do, once it was asked.
type abilities struct {
	ask repb.CapabilitiesClient

	mu    sync.Mutex
	known *ability
	until time.Time
}

// An ability is what a server can do. A server that does not say gets the defaults of gRPC.
type ability struct {
	// problem is why the server can't be used at all.
	problem error
	zstd    bool
	// batch is how many bytes a request for several blobs may have, and blob how many a blob
	// may have; zero is no limit.
	batch, blob int64
	// update: it stores results of clients. execute: it runs actions.
	update, execute bool
}

const (
	// batchTotal is half of what servers accept as one message by default.
	batchTotal = 2 << 20
	// mostBatch bounds batches of servers that accept more.
	mostBatch = 4 << 20
	// A server that answered is asked again after knownFor, and one that did not after unknownFor.
	knownFor   = time.Hour
	unknownFor = 10 * time.Second
)

var unknownAbility = ability{batch: batchTotal, update: true, execute: true}

// get returns what the server can do. One that does not answer is believed to be able to do
// what is usual: in some clusters a part that is down keeps this answer from coming, while the
// cache works.
func (a *abilities) get(ctx context.Context, c *Client, instance string) *ability {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known != nil && time.Now().Before(a.until) {
		return a.known
	}
	limited, _, done := c.watched(ctx)
	defer done()
	reply, err := a.ask.GetCapabilities(limited, &repb.GetCapabilitiesRequest{InstanceName: instance})
	if err != nil {
		if ctx.Err() == nil {
			a.known, a.until = &unknownAbility, time.Now().Add(unknownFor)
		}
		return &unknownAbility
	}
	a.known, a.until = abilityOf(reply), time.Now().Add(knownFor)
	return a.known
}

// abilityOf reads what a server says.
func abilityOf(s *repb.ServerCapabilities) *ability {
	can := unknownAbility
	const ours = 2 // the version of the API
	if low, high := s.LowApiVersion.GetMajor(), s.HighApiVersion.GetMajor(); low > ours || (high > 0 && high < ours) {
		can.problem = fmt.Errorf("the server speaks versions %d to %d of the Remote Execution API, and not %d", low, high,
			ours)
	}
	if cache := s.CacheCapabilities; cache != nil {
		if !slices.Contains(cache.DigestFunctions, repb.DigestFunction_SHA256) && len(cache.DigestFunctions) > 0 {
			can.problem = fmt.Errorf("the server has no SHA-256, but %v", cache.DigestFunctions)
		}
		can.zstd = slices.Contains(cache.SupportedCompressors, repb.Compressor_ZSTD)
		if limit := cache.MaxBatchTotalSizeBytes; limit > 0 {
			can.batch = min(limit, mostBatch)
		}
		can.blob = cache.MaxCasBlobSizeBytes
		can.update = cache.ActionCacheUpdateCapabilities == nil || cache.ActionCacheUpdateCapabilities.UpdateEnabled
	}
	if run := s.ExecutionCapabilities; run != nil {
		can.execute = run.ExecEnabled
		if listed := run.DigestFunctions; len(listed) > 0 && !slices.Contains(listed, repb.DigestFunction_SHA256) {
			can.execute = false
		}
	}
	return &can
}
