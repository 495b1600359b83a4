package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/remote"
)

// A Request is what a link needs.
type Request struct {
	Settings remote.Settings
	// Self is the path of warpld's executable.
	Self string
	Env  func(string) string
	// Keep is how long warpld-remote stays after the last link.
	Keep time.Duration
	// Dir names fresh files in a directory of the link.
	Dir func() string

	hangTicks int // in place of mostSilent, for tests
}

const (
	// startTime is how long warpld-remote may take to start.
	startTime = 10 * time.Second
	// A warpld-remote that works on something says every aliveTime that it is alive. One that
	// was silent for mostSilent times that hangs. A tick that comes late, because the machine is
	// busy, counts as one.
	aliveTime  = 250 * time.Millisecond
	mostSilent = 40
)

// A Link is the use of warpld-remote by a link. It implements remote.Server.
type Link struct {
	request Request
	end     context.CancelFunc
	ready   chan struct{} // closed when there is a connection, or none can be had

	mu      sync.Mutex
	conn    net.Conn
	wire    *wire
	failed  error // why there is no connection, or none any more
	calls   map[int64]*call
	next    int64
	heard   int // messages that have come
	closing bool
}

// A call is a request that is not answered yet.
type call struct {
	blobs  []action.Content // those that warpld-remote may want
	taken  func()
	answer chan *message // has room for one
	spools []string
}

// Open begins the use of warpld-remote. It returns at once, while warpld-remote may still be
// starting. An error is one of the settings.
func Open(ctx context.Context, r Request) (*Link, error) {
	if err := r.Settings.Check(); err != nil {
		return nil, err
	}
	var err error
	if r.Settings, err = absolute(r.Settings); err != nil {
		return nil, err
	}
	l := &Link{request: r, ready: make(chan struct{}), calls: map[int64]*call{}}
	ctx, l.end = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		conn, err := l.connect(ctx)
		l.mu.Lock()
		defer l.mu.Unlock()
		defer close(l.ready)
		switch {
		case err != nil:
			l.failed = err
		case l.closing:
			conn.Close()
		default:
			l.conn, l.wire = conn, &wire{rw: conn}
			go l.read(l.wire)
			go l.supervise(ctx)
		}
	}()
	return l, nil
}

// connect connects to the warpld-remote that serves links like this one, or starts it.
func (l *Link) connect(ctx context.Context) (net.Conn, error) {
	program, err := FindProgram(l.request.Self)
	if err != nil {
		return nil, err
	}
	path, err := socketPath(key(l.request.Settings, program, l.request.Env), l.request.Env)
	if err != nil {
		return nil, fmt.Errorf("there is no place for a socket: %w", err)
	}
	conn, err := l.greet(path)
	if !absent(err) {
		return conn, err
	}
	started := make(chan error, 1)
	if err := start(program, path, l.request.Settings, started); err != nil {
		return nil, err
	}
	pause := time.Millisecond
	for deadline := time.Now().Add(startTime); ; pause = min(2*pause, 20*time.Millisecond) {
		if conn, err = l.greet(path); !absent(err) {
			return conn, err
		}
		select {
		case ended := <-started:
			if ended != nil {
				return nil, fmt.Errorf("%s: %w", program, ended)
			}
			// Another one was started at the same time, or is just ending.
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%s does not answer", program)
		}
	}
}

// absent reports whether nobody served a socket, or ended before it answered.
func absent(err error) bool {
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// greet connects to a socket and says hello.
func (l *Link) greet(path string) (net.Conn, error) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return nil, err
	}
	if err := sameUser(conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	w := &wire{rw: conn}
	err = conn.SetDeadline(time.Now().Add(startTime))
	if err == nil {
		err = w.send(&message{Kind: kindHello, Hello: &hello{Invocation: invocation(l.request.Env), Keep: l.request.Keep}})
	}
	var reply *message
	if err == nil {
		reply, err = w.receive()
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("%s does not answer", Program)
	case err == nil && reply.Kind == kindError:
		err = reply.Error.err()
	case err == nil && reply.Kind != kindReady:
		err = fmt.Errorf("%s answers %q", Program, reply.Kind)
	case err == nil:
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// An order is what a warpld-remote reads when it starts.
type order struct {
	Socket   string
	Settings remote.Settings
}

// start starts a warpld-remote in a session of its own, so that it outlives the link. Its end
// is sent to ended.
func start(program, socket string, settings remote.Settings, ended chan<- error) error {
	text, err := json.Marshal(order{socket, settings})
	if err != nil {
		return err
	}
	cmd := exec.Command(program)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	in.Write(text) // a failure shows in how it ends
	in.Close()
	go func() { ended <- cmd.Wait() }()
	return nil
}

// errGone is the error of a warpld-remote that has ended.
var errGone = errors.New(Program + " has ended")

// read takes the messages of warpld-remote.
func (l *Link) read(w *wire) {
	for {
		m, err := w.receive()
		if err != nil {
			if absent(err) {
				err = errGone
			}
			l.fail(err)
			return
		}
		l.mu.Lock()
		l.heard++
		c := l.calls[m.Call]
		l.mu.Unlock()
		if c == nil {
			continue // it is alive, or the call was given up
		}
		switch m.Kind {
		case kindTaken:
			c.taken()
		case kindWant:
			go l.spool(c, m)
		case kindDone, kindError:
			select {
			case c.answer <- m:
			default: // one answer is enough
			}
		}
	}
}

// spool writes a blob to a file, so that warpld-remote can read it.
func (l *Link) spool(c *call, want *message) {
	reply := &message{Kind: kindBlob, Call: want.Call, Blob: want.Blob}
	err := fmt.Errorf("blob %d is not one of the request", want.Blob)
	if want.Blob >= 0 && want.Blob < len(c.blobs) {
		reply.Path = l.request.Dir() + ".blob"
		err = write(reply.Path, c.blobs[want.Blob])
	}
	if err != nil {
		reply.Error = &wireFail{Text: err.Error()}
	}
	l.mu.Lock()
	c.spools = append(c.spools, reply.Path)
	l.mu.Unlock()
	if err := l.wire.send(reply); err != nil {
		l.fail(err)
	}
}

// write writes a content to a fresh file.
func write(path string, content action.Content) error {
	data, err := content.Open()
	if err != nil {
		return err
	}
	defer data.Close()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, data)
	return errors.Join(err, f.Close())
}

// supervise gives a warpld-remote up that hangs.
func (l *Link) supervise(ctx context.Context) {
	ticker := time.NewTicker(aliveTime)
	defer ticker.Stop()
	for silent, heard := 0, 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		l.mu.Lock()
		if silent++; l.heard != heard || len(l.calls) == 0 {
			silent, heard = 0, l.heard
		}
		l.mu.Unlock()
		if silent >= cmp.Or(l.request.hangTicks, mostSilent) {
			l.fail(errors.New(Program + " hangs"))
			return
		}
	}
}

// fail ends the use of warpld-remote.
func (l *Link) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = err
	}
	if l.conn != nil {
		l.conn.Close()
	}
	for id, c := range l.calls {
		delete(l.calls, id)
		select {
		case c.answer <- &message{Kind: kindError, Error: &wireFail{Text: l.failed.Error()}}:
		default:
		}
	}
}

// Ready implements remote.Server.
func (l *Link) Ready(ctx context.Context) {
	select {
	case <-l.ready:
	case <-ctx.Done():
	}
}

// Close implements remote.Server.
func (l *Link) Close() {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	l.end()
	l.fail(errors.New("the link is over"))
}

// do sends a request and waits for its answer.
func (l *Link) do(ctx context.Context, m *message, c *call) (*message, error) {
	if l.Ready(ctx); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	c.answer = make(chan *message, 1)
	l.mu.Lock()
	if l.failed != nil {
		defer l.mu.Unlock()
		return nil, l.failed
	}
	l.next++
	m.Call = l.next
	l.calls[m.Call] = c
	l.mu.Unlock()
	defer l.forget(m.Call, c)
	if err := l.wire.send(m); err != nil {
		l.fail(errGone)
	}
	select {
	case reply := <-c.answer:
		return reply, reply.Error.err()
	case <-ctx.Done():
		// The answer is waited for: a result must not appear after the link has removed its files.
		l.wire.send(&message{Kind: kindCancel, Call: m.Call})
		<-c.answer
		return nil, ctx.Err()
	}
}

// forget ends a call.
func (l *Link) forget(id int64, c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, id)
	for _, path := range c.spools {
		os.Remove(path)
	}
}

// stepOf returns a step as a message. Files in memory are added to the call.
func stepOf(s *remote.Step, c *call) (*step, error) {
	dir, err := filepath.Abs(s.Dir)
	if err != nil {
		return nil, err
	}
	out := &step{Key: s.Encoding.Key, Outputs: s.Outputs, Limit: s.Limit, Dir: dir}
	for _, m := range s.Encoding.Messages {
		text, err := m.Content.Read()
		if err != nil {
			return nil, err
		}
		out.Messages = append(out.Messages, text)
	}
	for _, f := range s.Encoding.Files {
		b, err := blobOf(f.Content, c)
		if err != nil {
			return nil, err
		}
		b.Digest = f.Digest
		out.Files = append(out.Files, b)
	}
	return out, nil
}

// blobOf returns where bytes lie. The index of each blob in a request is that in the call.
func blobOf(content action.Content, c *call) (b blob, err error) {
	c.blobs = append(c.blobs, content)
	if content.Load == nil && content.Stream == nil {
		b.Path, err = filepath.Abs(content.Path)
	}
	return b, err
}

// LookUp implements remote.Server.
func (l *Link) LookUp(ctx context.Context, s *remote.Step) (*action.Result, error) {
	dir, err := filepath.Abs(s.Dir)
	if err != nil {
		return nil, err
	}
	wanted := &step{Key: s.Encoding.Key, Outputs: s.Outputs, Dir: dir}
	reply, err := l.do(ctx, &message{Kind: kindLookUp, Step: wanted}, &call{})
	if err != nil {
		return nil, err
	}
	return reply.Result.toAction(s)
}

// Execute implements remote.Server.
func (l *Link) Execute(ctx context.Context, s *remote.Step, taken func()) (*remote.Executed, error) {
	c := &call{taken: taken}
	wanted, err := stepOf(s, c)
	if err != nil {
		return nil, err
	}
	reply, err := l.do(ctx, &message{Kind: kindExecute, Step: wanted}, c)
	if err != nil {
		return nil, err
	}
	r, err := reply.Result.toAction(s)
	if err != nil {
		return nil, err
	}
	return &remote.Executed{Result: r, Overhead: reply.Result.Overhead, Sent: reply.Result.Sent,
		Sending: reply.Result.Sending}, nil
}

// Store implements remote.Server.
func (l *Link) Store(ctx context.Context, s *remote.Step, r *action.Result) error {
	c := &call{}
	messages := &remote.Step{Encoding: &action.Encoding{Key: s.Encoding.Key, Messages: s.Encoding.Messages},
		Outputs: s.Outputs, Dir: s.Dir}
	wanted, err := stepOf(messages, c)
	if err != nil {
		return err
	}
	out := &result{Stdout: r.Stdout, Stderr: r.Stderr}
	for name, content := range r.Outputs {
		b, err := blobOf(content, c)
		if err != nil {
			return err
		}
		b.Name = name
		out.Outputs = append(out.Outputs, b)
	}
	_, err = l.do(ctx, &message{Kind: kindStore, Step: wanted, Result: out}, c)
	return err
}

// toAction returns a result. Its outputs are where the step said.
func (r *result) toAction(s *remote.Step) (*action.Result, error) {
	if r == nil {
		return nil, errors.New(Program + " answers without a result")
	}
	out := &action.Result{ExitCode: r.ExitCode, TimedOut: r.TimedOut, Stdout: r.Stdout, Stderr: r.Stderr,
		Cached: r.Cached, Where: r.Where, Outputs: map[string]action.Content{}}
	for _, b := range r.Outputs {
		if !slices.Contains(s.Outputs, b.Name) {
			return nil, fmt.Errorf("%s answers with an output %q that was not asked for", Program, b.Name)
		}
		out.Outputs[b.Name] = action.AtPath(filepath.Join(s.Dir, filepath.FromSlash(b.Name)))
	}
	return out, nil
}
