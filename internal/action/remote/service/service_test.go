package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/remote"
)

// The test binary stands for warpld-remote if this variable is set. It holds the name of a file
// in which each process notes its identifier.
const serveVariable = "WARPLD_TEST_SERVE"

// connectVariable makes it connect to a socket and print what it is told.
const connectVariable = "WARPLD_TEST_CONNECT"

func TestMain(m *testing.M) {
	if path := os.Getenv(connectVariable); path != "" {
		connectAsStranger(path)
		return
	}
	log := os.Getenv(serveVariable)
	if log == "" {
		os.Exit(m.Run())
	}
	err := Serve(os.Stdin, func(s remote.Settings) (Backend, error) {
		f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = fmt.Fprintln(f, os.Getpid())
		}
		if strings.HasSuffix(s.Cache, "wrong") {
			err = errors.New("the token is empty")
		}
		return fakeBackend{}, errors.Join(err, f.Close())
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A fakeBackend is a server in the process itself.
type fakeBackend struct{}

func (fakeBackend) Session(invocation string) remote.Server { return fakeSession{invocation} }
func (fakeBackend) Close()                                  {}

type fakeSession struct{ invocation string }

func (fakeSession) Close()                {}
func (fakeSession) Ready(context.Context) {}

// deliver writes the outputs of a step.
func deliver(s *remote.Step, text string) (*action.Result, error) {
	r := &action.Result{Outputs: map[string]action.Content{}, Stdout: []byte("said")}
	if err := os.Mkdir(s.Dir+".part", 0o700); err != nil {
		return nil, err
	}
	for _, name := range s.Outputs {
		if err := os.WriteFile(filepath.Join(s.Dir+".part", name), []byte(text), 0o600); err != nil {
			return nil, err
		}
		r.Outputs[name] = action.AtPath(filepath.Join(s.Dir, name))
	}
	return r, os.Rename(s.Dir+".part", s.Dir)
}

// LookUp finds everything but what is called "unknown".
func (f fakeSession) LookUp(ctx context.Context, s *remote.Step) (*action.Result, error) {
	switch s.Encoding.Key {
	case action.DigestOf([]byte("unknown")):
		return nil, remote.ErrNotFound
	case action.DigestOf([]byte("down")):
		return nil, errors.New("the server is down")
	case action.DigestOf([]byte("slow")):
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	case action.DigestOf([]byte("never")):
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return deliver(s, "found by "+f.invocation)
}

// Execute puts the files of a step together.
func (fakeSession) Execute(_ context.Context, s *remote.Step, taken func()) (*remote.Executed, error) {
	taken()
	var all []byte
	for _, f := range s.Encoding.Files {
		data, err := f.Content.Read()
		if err != nil {
			return nil, err
		}
		if action.DigestOf(data) != f.Digest {
			return nil, errors.New("a file has other bytes")
		}
		all = append(all, data...)
	}
	r, err := deliver(s, string(all))
	if err != nil {
		return nil, err
	}
	r.Where = "worker w"
	return &remote.Executed{Result: r, Overhead: 5, Sent: int64(len(all)), Sending: 7}, nil
}

// Store accepts outputs that say "made here".
func (fakeSession) Store(_ context.Context, s *remote.Step, r *action.Result) error {
	for name, content := range r.Outputs {
		if data, err := content.Read(); err != nil || string(data) != "made here" {
			return fmt.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if len(r.Outputs) == 0 || string(r.Stdout) != "said" || len(s.Encoding.Messages) == 0 {
		return errors.New("something is missing")
	}
	return nil
}

// A world is where links of a test find warpld-remote.
type world struct {
	dir, log string
	env      map[string]string
	n        atomic.Int64
}

func newWorld(t *testing.T) *world {
	t.Helper()
	runtime, err := os.MkdirTemp("", "w") // the paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	w := &world{dir: t.TempDir(), env: map[string]string{"XDG_RUNTIME_DIR": runtime, "WARPLD_INVOCATION_ID": "build"}}
	w.log = filepath.Join(w.dir, "log")
	script := fmt.Sprintf("#!/bin/sh\nexport %s='%s'\nexec '%s'\n", serveVariable, w.log, os.Args[0])
	if err := os.WriteFile(filepath.Join(w.dir, Program), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, pid := range w.processes(t) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		os.RemoveAll(runtime)
	})
	return w
}

// processes returns all that were started.
func (w *world) processes(t *testing.T) (list []int) {
	t.Helper()
	text, _ := os.ReadFile(w.log)
	for word := range strings.FieldsSeq(string(text)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, pid)
	}
	return list
}

func (w *world) open(t *testing.T, keep time.Duration) *Link {
	t.Helper()
	l, err := Open(t.Context(), Request{Self: filepath.Join(w.dir, "warpld"),
		Env:  func(name string) string { return w.env[name] },
		Keep: keep, Settings: remote.Settings{Cache: "grpc://localhost:1/" + w.env["instance"]}, hangTicks: 8,
		Dir: func() string { return filepath.Join(w.dir, fmt.Sprint(w.n.Add(1))) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func (w *world) step(name string) *remote.Step {
	return &remote.Step{Encoding: &action.Encoding{Key: action.DigestOf([]byte(name))}, Outputs: []string{"out"},
		Dir: filepath.Join(w.dir, fmt.Sprint(w.n.Add(1)))}
}

// output returns the text of the output of a result.
func output(t *testing.T, r *action.Result) string {
	t.Helper()
	data, err := r.Outputs["out"].Read()
	if err != nil {
		t.Error(err)
	}
	return string(data)
}

func TestRequests(t *testing.T) {
	w := newWorld(t)
	l := w.open(t, time.Minute)
	r, err := l.LookUp(t.Context(), w.step("known"))
	if err != nil || output(t, r) != "found by build" || string(r.Stdout) != "said" {
		t.Errorf("result %+v, error %v", r, err)
	}
	if _, err := l.LookUp(t.Context(), w.step("unknown")); !errors.Is(err, remote.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	if _, err := l.LookUp(t.Context(), w.step("down")); err == nil || err.Error() != "the server is down" {
		t.Errorf("error %v", err)
	}
	s := w.step("run")
	file := filepath.Join(w.dir, "file")
	if err := os.WriteFile(file, []byte("in a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, content := range []action.Content{action.Bytes([]byte("in memory, ")), action.AtPath(file)} {
		digest, err := content.Digest()
		if err != nil {
			t.Fatal(err)
		}
		s.Encoding.Files = append(s.Encoding.Files, action.Blob{Digest: digest, Content: content})
	}
	taken := false
	e, err := l.Execute(t.Context(), s, func() { taken = true })
	if err != nil || output(t, e.Result) != "in memory, in a file" || !taken || e.Overhead != 5 || e.Sending != 7 ||
		e.Result.Where != "worker w" {
		t.Errorf("result %+v, error %v, taken %v", e, err, taken)
	}
	s = w.step("store")
	s.Encoding.Messages = []action.Blob{{Digest: action.DigestOf(nil), Content: action.Bytes(nil)}}
	made := &action.Result{Stdout: []byte("said"),
		Outputs: map[string]action.Content{"out": action.Bytes([]byte("made here"))}}
	if err := l.Store(t.Context(), s, made); err != nil {
		t.Errorf("store: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(w.dir, "*.blob")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := l.LookUp(ctx, w.step("never")); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: error %v", err)
	}
}

// TestOneProcess: the links of a build share a warpld-remote, also if they begin at once, and it
// ends after the last.
func TestOneProcess(t *testing.T) {
	w := newWorld(t)
	var links sync.WaitGroup
	for range 20 {
		links.Go(func() {
			l := w.open(t, 200*time.Millisecond)
			if r, err := l.LookUp(t.Context(), w.step("slow")); err != nil || output(t, r) != "found by build" {
				t.Errorf("error %v", err)
			}
			l.Close()
		})
	}
	links.Wait()
	pids := w.processes(t)
	if len(pids) != 1 {
		t.Fatalf("%d processes", len(pids))
	}
	w.gone(t, pids[0])
	if sockets, _ := filepath.Glob(filepath.Join(w.env["XDG_RUNTIME_DIR"], "warpld", "*")); len(sockets) != 1 {
		t.Errorf("beside the lock there are %q", sockets)
	}
}

// gone waits for the end of a process.
func (w *world) gone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil || bytes.Contains(stat, []byte(") Z ")) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is left", pid)
		}
	}
}

// TestKeepZero: warpld-remote ends with the link.
func TestKeepZero(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		l := w.open(t, 0)
		if _, err := l.LookUp(t.Context(), w.step("known")); err != nil {
			t.Error(err)
		}
		l.Close()
	}
	for _, pid := range w.processes(t) {
		w.gone(t, pid)
	}
}

// TestKilled: whenever warpld-remote is killed, a link gets a right result or an error, and the
// next link is served.
func TestKilled(t *testing.T) {
	w := newWorld(t)
	turns := 30
	if os.Getenv("WARPLD_TEST_FULL") != "" {
		turns = 200
	}
	failed := 0
	for range turns {
		l := w.open(t, time.Minute)
		killed := make(chan struct{})
		go func() {
			defer close(killed)
			time.Sleep(rand.N(40 * time.Millisecond))
			if pids := w.processes(t); len(pids) > 0 {
				syscall.Kill(pids[len(pids)-1], syscall.SIGKILL)
			}
		}()
		for range 4 {
			r, err := l.LookUp(t.Context(), w.step("slow"))
			if err != nil {
				failed++
				break
			}
			if output(t, r) != "found by build" {
				t.Error("a wrong result")
			}
		}
		l.Close()
		<-killed
	}
	l := w.open(t, 0)
	if _, err := l.LookUp(t.Context(), w.step("known")); err != nil {
		t.Errorf("the link after them: %v", err)
	}
	l.Close()
	for _, pid := range w.processes(t) {
		w.gone(t, pid)
	}
	t.Logf("%d links, of which %d lost their process; %d processes", turns, failed, len(w.processes(t)))
	if failed == 0 {
		t.Error("no link was hit")
	}
}

// TestHang: a warpld-remote that does nothing any more is given up.
func TestHang(t *testing.T) {
	w := newWorld(t)
	l := w.open(t, 0)
	if _, err := l.LookUp(t.Context(), w.step("known")); err != nil {
		t.Fatal(err)
	}
	syscall.Kill(w.processes(t)[0], syscall.SIGSTOP)
	if _, err := l.LookUp(t.Context(), w.step("known")); err == nil || !strings.Contains(err.Error(), "hangs") {
		t.Errorf("error %v", err)
	}
	if _, err := l.LookUp(t.Context(), w.step("known")); err == nil {
		t.Error("it is used again")
	}
}

func TestNotThere(t *testing.T) {
	w := newWorld(t)
	if err := os.Remove(filepath.Join(w.dir, Program)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.open(t, 0).LookUp(t.Context(), w.step("known")); err == nil ||
		!strings.Contains(err.Error(), Program) {
		t.Errorf("error %v", err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, Program), []byte("#!/bin/sh\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := w.open(t, 0).LookUp(t.Context(), w.step("known")); err == nil ||
		!strings.Contains(err.Error(), "status 3") {
		t.Errorf("error %v", err)
	}
}

// TestFound: the program is beside warpld, or where packages put it.
func TestFound(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"bin", "libexec/warpld"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self := filepath.Join(root, "bin", "warpld")
	link := filepath.Join(root, "nvlink") // as a shim has it
	for _, place := range []string{"libexec/warpld", "bin"} {
		want := filepath.Join(root, place, Program)
		if err := errors.Join(os.WriteFile(self, nil, 0o755), os.WriteFile(want, nil, 0o755)); err != nil {
			t.Fatal(err)
		}
		os.Symlink(self, link)
		if got, err := FindProgram(link); err != nil || got != want {
			t.Errorf("%s, error %v, want %s", got, err, want)
		}
	}
}

// TestWrongSettings: what is wrong with the settings is an error of the options, and the next
// link is told again.
func TestWrongSettings(t *testing.T) {
	w := newWorld(t)
	w.env["instance"] = "wrong"
	for range 2 {
		_, err := w.open(t, time.Minute).LookUp(t.Context(), w.step("known"))
		var options *remote.OptionsError
		if !errors.As(err, &options) || !strings.Contains(err.Error(), "the token is empty") {
			t.Errorf("error %v", err)
		}
	}
	for _, pid := range w.processes(t) {
		w.gone(t, pid)
	}
}

// TestKeys: another server, other credentials and another environment have another process.
func TestKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	of := func(s remote.Settings) string { return key(s, file, func(name string) string { return env[name] }) }
	base := remote.Settings{Cache: "grpc://a"}
	seen := map[string]string{of(base): "base"}
	add := func(what, key string) {
		if seen[key] != "" {
			t.Errorf("%s has the key of %s", what, seen[key])
		}
		seen[key] = what
	}
	add("another server", of(remote.Settings{Cache: "grpc://b"}))
	add("a token", of(remote.Settings{Cache: "grpc://a", Token: file}))
	add("a header", of(remote.Settings{Cache: "grpc://a", Headers: []string{"a=b"}}))
	env["HTTPS_PROXY"] = "proxy"
	add("a proxy", of(base))
	if err := os.WriteFile(file, []byte("another token"), 0o600); err != nil {
		t.Fatal(err)
	}
	add("a file that has changed", of(base))
	if of(base) != of(base) {
		t.Error("a key changes by itself")
	}
}

// TestPrivateDirectory: a directory that others can enter, or that is a link, is not used.
func TestPrivateDirectory(t *testing.T) {
	root := t.TempDir()
	open, link := filepath.Join(root, "open"), filepath.Join(root, "link")
	if err := errors.Join(os.Mkdir(open, 0o755), os.Chmod(open, 0o755), os.Symlink(t.TempDir(), link)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{open, link} {
		if private(dir) == nil {
			t.Errorf("%s is accepted", dir)
		}
	}
	fresh := filepath.Join(root, "fresh")
	for range 2 {
		if err := private(fresh); err != nil {
			t.Error(err)
		}
	}
	if info, err := os.Stat(fresh); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// connectAsStranger prints what a socket answers to a hello.
func connectAsStranger(path string) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		fmt.Println("refused:", err)
		return
	}
	w := &wire{rw: conn}
	w.send(&message{Kind: kindHello, Hello: &hello{}})
	m, err := w.receive()
	fmt.Printf("answer %v, %v\n", m, err)
}

// TestOtherUser: another user of the machine can't use the socket, even if he can reach it. Only
// root can become another user; for others the peer is checked by the same code.
func TestOtherUser(t *testing.T) {
	w := newWorld(t)
	l := w.open(t, time.Minute)
	if _, err := l.LookUp(t.Context(), w.step("known")); err != nil {
		t.Fatal(err)
	}
	runtime := w.env["XDG_RUNTIME_DIR"]
	sockets, err := filepath.Glob(filepath.Join(runtime, "warpld", "*"))
	if err != nil || len(sockets) != 2 {
		t.Fatalf("%q, %v", sockets, err)
	}
	if info, err := os.Stat(filepath.Join(runtime, "warpld")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if os.Getuid() != 0 {
		return
	}
	program := filepath.Join(runtime, "test")
	data, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = errors.Join(os.WriteFile(program, data, 0o755), os.Chmod(runtime, 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	try := func() string {
		cmd := exec.Command(program)
		cmd.Dir = "/"
		cmd.Env = []string{connectVariable + "=" + sockets[0]}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return string(out)
	}
	if said := try(); !strings.HasPrefix(said, "refused:") || !strings.Contains(said, "permission denied") {
		t.Errorf("a stranger is told %q", said)
	}
	if err := errors.Join(os.Chmod(filepath.Join(runtime, "warpld"), 0o755), os.Chmod(sockets[0], 0o777)); err != nil {
		t.Fatal(err)
	}
	if said := try(); !strings.HasPrefix(said, "answer <nil>") {
		t.Errorf("a stranger who can reach the socket is told %q", said)
	}
}

func TestInvocation(t *testing.T) {
	none := func(string) string { return "" }
	first := invocation(none)
	if first != invocation(none) || len(first) != 36 {
		t.Errorf("%q, then %q", first, invocation(none))
	}
	if got := invocation(func(string) string { return "mine" }); got != "mine" {
		t.Errorf("%q", got)
	}
	if name, parent, started, err := process(os.Getpid()); err != nil || name == "" || parent != os.Getppid() ||
		started == "" {
		t.Errorf("%q, parent %d, started %q, error %v", name, parent, started, err)
	}
}

func FuzzMessage(f *testing.F) {
	var sample bytes.Buffer
	w := &wire{rw: &sample}
	lookUp := &message{Kind: kindLookUp, Call: 1, Step: &step{Key: action.DigestOf(nil), Outputs: []string{"out"}}}
	if err := w.send(lookUp); err != nil {
		f.Fatal(err)
	}
	f.Add(sample.Bytes())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, '{'})
	f.Add([]byte{0, 0, 0, 2, '{', '}'})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		for {
			m, err := readMessage(r)
			if err != nil {
				return
			}
			out := &bytes.Buffer{}
			if err := (&wire{rw: out}).send(m); err != nil {
				t.Error(err)
			}
			if _, err := readMessage(io.Reader(out)); err != nil {
				t.Error(err)
			}
		}
	})
}
