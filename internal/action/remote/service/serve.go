package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/remote"
	"golang.org/x/sys/unix"
)

// A Backend is the connection to a server.
type Backend interface {
	// Session returns the use of the server by a link of an invocation.
	Session(invocation string) remote.Server
	Close()
}

// lockTime is how long to wait for another warpld-remote that is about to end.
const lockTime = 5 * time.Second

// Serve is warpld-remote: it reads its order from in, and serves links until there have been
// none for a while.
func Serve(in io.Reader, dial func(remote.Settings) (Backend, error)) error {
	closeInherited()
	var o order
	if err := json.NewDecoder(io.LimitReader(in, 1<<20)).Decode(&o); err != nil {
		return fmt.Errorf("%s is started by warpld, with an order on its standard input: %w", Program, err)
	}
	lock, err := o.lock()
	if lock == nil {
		return err
	}
	defer lock.Close() // after the socket is gone
	listener, err := o.listen()
	if err != nil {
		return err
	}
	backend, err := dial(o.Settings)
	s := &server{listener: listener, backend: backend, wrong: err, socket: o.Socket}
	s.stay(startTime) // for the link that started it
	s.accept()
	s.links.Wait()
	if backend != nil && err == nil {
		backend.Close()
	}
	return nil
}

// closeInherited closes files that are not ours. Those that Go opened are closed on exec;
// others, such as the pipes of a build's jobserver, came from the program that started the link.
func closeInherited() {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, f := range files {
		fd, err := strconv.Atoi(f.Name())
		if err != nil || fd <= 2 {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
}

// lock takes the right to serve the socket. It returns nil if another process serves it.
func (o *order) lock() (*os.File, error) {
	f, err := os.OpenFile(o.Socket+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(lockTime); ; time.Sleep(5 * time.Millisecond) {
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			return f, nil
		}
		if conn, err := net.Dial("unix", o.Socket); err == nil {
			return nil, errors.Join(conn.Close(), f.Close())
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("another one holds %s", f.Name()), f.Close())
		}
	}
}

// listen makes the socket. Whoever has the lock may replace one that was left behind.
func (o *order) listen() (*net.UnixListener, error) {
	fresh := o.Socket + "." + strconv.Itoa(os.Getpid())
	os.Remove(fresh)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: fresh, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false)
	if err := os.Rename(fresh, o.Socket); err != nil {
		return nil, errors.Join(err, listener.Close(), os.Remove(fresh))
	}
	return listener, nil
}

// A server serves links.
type server struct {
	listener *net.UnixListener
	backend  Backend
	wrong    error // with the settings
	socket   string
	links    sync.WaitGroup

	mu    sync.Mutex
	count int // of links
	keep  time.Duration
	timer *time.Timer // runs while there is no link
}

// accept takes links until the server has been idle for long enough.
func (s *server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.enter()
		s.links.Go(func() {
			defer s.leave()
			defer conn.Close()
			if sameUser(conn) == nil {
				s.serve(&wire{rw: conn})
			}
		})
	}
}

// stay sets the time after which a server without links ends.
func (s *server) stay(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep = d
	s.timer = time.AfterFunc(d, s.idle)
}

func (s *server) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	s.timer.Stop()
}

func (s *server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count--; s.count == 0 {
		s.timer.Reset(s.keep)
	}
}

// idle ends the server, unless a link has come meanwhile. The socket goes first: a link that
// has connected but was not accepted sees the connection end, and starts another server.
func (s *server) idle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count == 0 {
		os.Remove(s.socket)
		s.listener.Close()
	}
}

// serve serves a link.
func (s *server) serve(w *wire) {
	first, err := w.receive()
	if err != nil || first.Kind != kindHello || first.Hello == nil {
		return
	}
	s.mu.Lock()
	s.keep = first.Hello.Keep
	s.mu.Unlock()
	if s.wrong != nil {
		s.mu.Lock()
		s.keep = 0
		s.mu.Unlock()
		w.send(&message{Kind: kindError, Error: &wireFail{Text: s.wrong.Error(), Options: true}})
		return
	}
	if w.send(&message{Kind: kindReady}) != nil {
		return
	}
	session := s.backend.Session(first.Hello.Invocation)
	defer session.Close()
	c := &connection{wire: w, session: session, running: map[int64]*running{}}
	ctx, end := context.WithCancel(context.Background())
	defer c.requests.Wait()
	defer end()
	go c.alive(ctx)
	for {
		m, err := w.receive()
		if err != nil {
			return
		}
		c.handle(ctx, m)
	}
}

// A connection is that of a link.
type connection struct {
	wire     *wire
	session  remote.Server
	requests sync.WaitGroup

	mu      sync.Mutex
	running map[int64]*running
}

// A running is a request that is not answered yet.
type running struct {
	end   context.CancelFunc
	ctx   context.Context
	blobs map[int]chan *message // those that the link was asked for
}

// handle starts a request, ends one, or takes a blob for one.
func (c *connection) handle(ctx context.Context, m *message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.running[m.Call]
	switch m.Kind {
	case kindCancel:
		if r != nil {
			r.end()
		}
	case kindBlob:
		if r != nil && r.blobs[m.Blob] != nil {
			r.blobs[m.Blob] <- m // it has room for one
			delete(r.blobs, m.Blob)
		}
	case kindLookUp, kindExecute, kindStore:
		if r != nil || m.Step == nil {
			return
		}
		r = &running{blobs: map[int]chan *message{}}
		r.ctx, r.end = context.WithCancel(ctx)
		c.running[m.Call] = r
		c.requests.Go(func() { c.answer(m, r) })
	}
}

// answer does a request.
func (c *connection) answer(m *message, r *running) {
	out, err := c.do(m, r)
	r.end()
	reply := &message{Kind: kindDone, Call: m.Call, Result: out}
	if err != nil {
		var options *remote.OptionsError
		reply = &message{Kind: kindError, Call: m.Call, Error: &wireFail{Text: err.Error(),
			NotFound: errors.Is(err, remote.ErrNotFound), Options: errors.As(err, &options)}}
	}
	c.mu.Lock()
	delete(c.running, m.Call)
	c.mu.Unlock()
	c.wire.send(reply)
}

func (c *connection) do(m *message, r *running) (*result, error) {
	step := c.step(m, r)
	switch m.Kind {
	case kindLookUp:
		found, err := c.session.LookUp(r.ctx, step)
		if err != nil {
			return nil, err
		}
		return fromAction(found), nil
	case kindExecute:
		done, err := c.session.Execute(r.ctx, step, func() { c.wire.send(&message{Kind: kindTaken, Call: m.Call}) })
		if err != nil {
			return nil, err
		}
		out := fromAction(done.Result)
		out.Overhead, out.Sent, out.Sending = done.Overhead, done.Sent, done.Sending
		return out, nil
	}
	if m.Result == nil {
		return nil, errors.New("there is nothing to store")
	}
	made := &action.Result{Stdout: m.Result.Stdout, Stderr: m.Result.Stderr, Outputs: map[string]action.Content{}}
	for i, b := range m.Result.Outputs {
		made.Outputs[b.Name] = c.content(m.Call, r, len(m.Step.Files)+i, b)
	}
	return nil, c.session.Store(r.ctx, step, made)
}

// step returns the step of a request.
func (c *connection) step(m *message, r *running) *remote.Step {
	e := &action.Encoding{Key: m.Step.Key}
	for _, text := range m.Step.Messages {
		e.Messages = append(e.Messages, action.Blob{Digest: action.DigestOf(text), Content: action.Bytes(text)})
	}
	for i, b := range m.Step.Files {
		e.Files = append(e.Files, action.Blob{Digest: b.Digest, Content: c.content(m.Call, r, i, b)})
	}
	return &remote.Step{Encoding: e, Outputs: m.Step.Outputs, Limit: m.Step.Limit, Dir: m.Step.Dir}
}

// content returns the bytes of a blob of a link.
func (c *connection) content(id int64, r *running, index int, b blob) action.Content {
	if b.Path != "" {
		return action.AtPath(b.Path)
	}
	return action.Shared(sync.OnceValues(func() ([]byte, error) { return c.want(id, r, index) }))
}

// want asks the link for a blob that lies in its memory.
func (c *connection) want(id int64, r *running, index int) ([]byte, error) {
	reply := make(chan *message, 1)
	c.mu.Lock()
	r.blobs[index] = reply
	c.mu.Unlock()
	if err := c.wire.send(&message{Kind: kindWant, Call: id, Blob: index}); err != nil {
		return nil, err
	}
	select {
	case m := <-reply:
		if m.Error != nil {
			return nil, m.Error.err()
		}
		return os.ReadFile(m.Path)
	case <-r.ctx.Done():
		return nil, r.ctx.Err()
	}
}

// alive tells the link that this process works while there are requests.
func (c *connection) alive(ctx context.Context) {
	ticker := time.NewTicker(aliveTime)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		c.mu.Lock()
		busy := len(c.running) > 0
		c.mu.Unlock()
		if busy {
			c.wire.send(&message{Kind: kindAlive})
		}
	}
}

// fromAction returns a result as a message.
func fromAction(r *action.Result) *result {
	out := &result{ExitCode: r.ExitCode, TimedOut: r.TimedOut, Stdout: r.Stdout, Stderr: r.Stderr, Cached: r.Cached,
		Where: r.Where}
	for name := range r.Outputs {
		out.Outputs = append(out.Outputs, blob{Name: name})
	}
	return out
}
