// Package reapi is a client of the Remote Execution API, version 2, on grpc-go and the
// generated messages. Only warpld-remote links it: a link pays for it only if it uses a server.
//
// A Client is one connection to a server, which several links may use one after the other and
// at once. What one of them learned, such as which blobs the server has, serves the others.
package reapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	repb "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/remote"
	"google.golang.org/genproto/googleapis/bytestream"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // some servers compress messages by themselves
	"google.golang.org/grpc/keepalive"
)

// A Client is a server in use.
type Client struct {
	// instance names the part of the server that holds the cache, and machines the one that
	// runs actions: the addresses may differ.
	instance, machines string
	cache              repb.ActionCacheClient
	storage            repb.ContentAddressableStorageClient
	stream             bytestream.ByteStreamClient
	execution          repb.ExecutionClient
	operations         longrunningpb.OperationsClient

	cacheCan, machinesCan abilities
	conns                 []*grpc.ClientConn
	credentials           *credential
	patience              time.Duration
	// moved counts what came from the server, for whichever call.
	moved atomic.Int64

	present  present
	sending  sync.Map       // of large blobs: an upload for each digest, so that each is sent once
	behind   sync.WaitGroup // requests to end executions
	closing  context.Context
	endCalls context.CancelFunc
}

const (
	// defaultPatience is how long a server may be silent while it is asked something.
	defaultPatience = 4 * time.Second
	// maxMessage bounds one message of an answer. Servers send at most 4 MiB by default.
	maxMessage = 16 << 20
	// A connection that was silent for quietTime is sent a ping if a call is under way. Servers
	// on grpc-go close connections that send more than one in five minutes.
	quietTime = 6 * time.Minute
	pingTime  = 20 * time.Second
	dialTime  = 10 * time.Second
)

// retries is the policy for calls that only ask or can be repeated. Executions and transfers
// of blobs are resumed by their own rules. A server may override the delays
// (grpc-retry-pushback-ms).
const retries = `{"methodConfig": [{
	"name": [{"service": "build.bazel.remote.execution.v2.ActionCache"},
		{"service": "build.bazel.remote.execution.v2.ContentAddressableStorage"}],
	"retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 3,
		"retryableStatusCodes": ["UNAVAILABLE", "ABORTED", "INTERNAL"]}}]}`

// Dial prepares the use of a server. Nothing is sent yet: an error is one of the settings.
func Dial(settings remote.Settings) (*Client, error) {
	if err := settings.Check(); err != nil {
		return nil, err
	}
	cache, machines, err := settings.Addresses()
	if err != nil {
		return nil, err
	}
	c := &Client{instance: cache.Instance, machines: machines.Instance, patience: defaultPatience}
	if c.credentials, err = newCredential(cache, &settings); err != nil {
		return nil, err
	}
	c.closing, c.endCalls = context.WithCancel(context.Background())
	near, err := c.connect(cache, &settings)
	if err != nil {
		return nil, err
	}
	far := near
	if machines != cache {
		if far, err = c.connect(machines, &settings); err != nil {
			return nil, errors.Join(err, near.Close())
		}
	}
	c.cache, c.storage = repb.NewActionCacheClient(near), repb.NewContentAddressableStorageClient(near)
	c.stream = bytestream.NewByteStreamClient(near)
	c.execution, c.operations = repb.NewExecutionClient(far), longrunningpb.NewOperationsClient(far)
	c.cacheCan.ask, c.machinesCan.ask = repb.NewCapabilitiesClient(near), repb.NewCapabilitiesClient(far)
	return c, nil
}

// connect makes a connection, which is opened by the first call.
func (c *Client) connect(a remote.Address, settings *remote.Settings) (*grpc.ClientConn, error) {
	transport := insecure.NewCredentials()
	if a.TLS {
		config, err := tlsConfig(settings)
		if err != nil {
			return nil, err
		}
		transport = credentials.NewTLS(config)
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultServiceConfig(retries),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithUserAgent("warpld"),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: quietTime, Timeout: pingTime}),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: dialTime, Backoff: backoff.Config{
			BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 500 * time.Millisecond}}),
		grpc.WithStatsHandler(arrivals{&c.moved}),
		grpc.WithChainUnaryInterceptor(c.authenticateCall),
		grpc.WithChainStreamInterceptor(c.authenticateStream),
	}
	target := "dns:///" + a.Host
	if a.Socket {
		target = "passthrough:///localhost"
		options = append(options, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", a.Host)
		}))
	}
	conn, err := grpc.NewClient(target, options...)
	if err == nil {
		c.conns = append(c.conns, conn)
	}
	return conn, err
}

// Close ends all calls and the connection.
func (c *Client) Close() {
	c.behind.Wait()
	c.endCalls()
	for _, conn := range c.conns {
		conn.Close()
	}
}

func tlsConfig(settings *remote.Settings) (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if settings.Authorities != "" {
		text, err := os.ReadFile(settings.Authorities)
		if err != nil {
			return nil, err
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s holds no certificate", settings.Authorities)
		}
	}
	if settings.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(settings.Certificate, settings.Key)
		if err != nil {
			return nil, fmt.Errorf("%s and %s: %w", settings.Certificate, settings.Key, err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	return t, nil
}

// present is the set of blobs that the server reported to have. Servers drop blobs, so a report
// counts for a while only.
type present struct {
	mu    sync.Mutex
	until map[action.Digest]time.Time
}

// presentFor is how long a blob is believed to be there. The longest links are shorter.
const presentFor = 10 * time.Minute

func (p *present) set(d action.Digest, there bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == nil {
		p.until = map[action.Digest]time.Time{}
	}
	if delete(p.until, d); there {
		p.until[d] = time.Now().Add(presentFor)
	}
}

func (p *present) has(d action.Digest) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	until, known := p.until[d]
	return known && time.Now().Before(until)
}
