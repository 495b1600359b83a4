// Package remote is a client of the Remote Execution API, version 2: it shares results of
// actions through a server, and lets the server's machines run actions. It is a Runner around
// a Runner: it falls back to the one behind it for whatever the server can't do or does wrong.
//
// A server costs a link a bounded time. The first failure is reported once, and the rest of
// the link continues without the server.
package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/warpld/warpld/internal/action"
)

// A Config is the address of a server and the credentials for it. The credentials are names of
// files and of a program, never secrets themselves.
type Config struct {
	// Server is grpc://HOST[:PORT][/INSTANCE], or grpcs:// for one behind TLS.
	Server string
	// Authorities is a file of certificates to trust in place of the system's.
	Authorities string
	// Certificate and Key are the files of the client certificate.
	Certificate, Key string
	// Token is a file that holds a bearer token.
	Token string
	// Helper is a program that prints headers for the server: a credential helper as Bazel has.
	Helper string
	// Upload stores results there that were made here.
	Upload bool
	// Digest names the bytes of inputs.
	Digest action.Digester
	// Dir names fresh directories for results.
	Dir func() string
	// Note is called with the first failure and what the link continues without.
	Note func(without string, err error)
}

// A Client is a server in use by one link.
type Client struct {
	connection *connection
	instance   string
	digest     action.Digester
	dir        func() string

	note   func(string, error)
	once   sync.Once
	down   atomic.Bool
	upload atomic.Bool
	behind sync.WaitGroup // uploads that nobody waits for yet

	present     present
	compression compression
	sending     sync.Map      // of large blobs: a lock for each digest, so that each is sent once
	patience    time.Duration // for an answer
	// closing ends what goes on behind the link's back.
	closing context.Context
	end     context.CancelFunc
}

const (
	// A cache that takes longer to answer is of no use.
	defaultPatience = 2 * time.Second
	// How long the end of a link waits for uploads.
	uploadPatience = 10 * time.Second
)

// Dial prepares the use of a server. Nothing is sent yet: an error is one of the
// configuration.
func Dial(ctx context.Context, config Config) (*Client, error) {
	address, err := parseAddress(config.Server)
	if err != nil {
		return nil, err
	}
	conn, err := connect(ctx, address, config)
	if err != nil {
		return nil, err
	}
	c := &Client{connection: conn, instance: address.instance, digest: config.Digest, dir: config.Dir, note: config.Note,
		patience: defaultPatience}
	c.upload.Store(config.Upload)
	c.closing, c.end = context.WithCancel(context.WithoutCancel(ctx))
	return c, nil
}

// Close waits for what is still being uploaded, but not for long.
func (c *Client) Close() {
	done := make(chan struct{})
	go func() { c.behind.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(uploadPatience):
		c.reportOnce(withoutStoring, errors.New("there was not enough time"))
	}
	c.end()
	<-done
}

// What a link goes without after a failure.
const (
	withoutServer    = "the remote server"
	withoutStoring   = "storing results on the remote server"
	withoutExecution = "remote execution"
)

// giveUp ends the use of the server for this link.
func (c *Client) giveUp(err error) {
	c.down.Store(true)
	c.reportOnce(withoutServer, err)
}

// reportOnce reports the first failure; later ones add nothing.
func (c *Client) reportOnce(without string, err error) { c.once.Do(func() { c.note(without, err) }) }

// An address is a server's.
type address struct {
	host     string // with the port
	tls      bool
	instance string
}

// parseAddress parses the address of a server. Credentials in it are rejected, because
// everybody who sees the command line would see them.
func parseAddress(text string) (a address, err error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return a, errors.New("the address of the server can't be read: write grpc://HOST:PORT or grpcs://HOST:PORT")
	case u.User != nil:
		return a,
			errors.New("the address of the server holds a name or password, which others could see: put a token into a file")
	case (u.Scheme != "grpc" && u.Scheme != "grpcs") || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "":
		return a, fmt.Errorf("%q is no address of a server: write grpc://HOST:PORT or grpcs://HOST:PORT", text)
	}
	a.tls = u.Scheme == "grpcs"
	a.instance = strings.Trim(u.Path, "/")
	port := u.Port()
	if port == "" {
		port = map[bool]string{false: "80", true: "443"}[a.tls]
	}
	a.host = net.JoinHostPort(u.Hostname(), port)
	return a, nil
}

// private reports whether nobody else can read what is sent to the server.
func (a address) private() bool {
	host, _, _ := net.SplitHostPort(a.host)
	ip := net.ParseIP(host)
	return a.tls || host == "localhost" || (ip != nil && ip.IsLoopback())
}
