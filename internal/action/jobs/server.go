package jobs

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// A server is GNU make's jobserver: a pipe with one byte for each job that may still be
// started. A process reads a byte before it starts a job and writes the same byte back when
// the job is done. Each child of make may run one job without a byte.
type server struct {
	read, write int // descriptors: os.File would make them wait
	implicit    chan struct{}
	signals     chan os.Signal
}

// openServer returns the jobserver that make's flags name, or nil if there is none or it is
// not for this process: make closes the pipe for commands that it doesn't recognize as a make.
func openServer(makeFlags string) *server {
	readPath, writePath, ok := serverPaths(makeFlags)
	if !ok {
		return nil
	}
	// Opened anew, reading can be made not to wait without make's noticing.
	const flags = syscall.O_NONBLOCK | syscall.O_CLOEXEC
	read, err := syscall.Open(readPath, syscall.O_RDONLY|flags, 0)
	if err != nil {
		return nil
	}
	write, err := syscall.Open(writePath, syscall.O_WRONLY|flags, 0)
	if err != nil || !samePipe(read, write) {
		syscall.Close(read)
		if err == nil {
			syscall.Close(write)
		}
		return nil
	}
	s := &server{read: read, write: write, implicit: make(chan struct{}, 1), signals: make(chan os.Signal, 1)}
	s.implicit <- struct{}{}
	// Without this a closed stderr would end the process with its tokens.
	signal.Notify(s.signals, syscall.SIGPIPE)
	return s
}

// serverPaths reads MAKEFLAGS: --jobserver-auth=fifo:PATH since make 4.4, R,W before
// and --jobserver-fds=R,W before that. The last one counts.
func serverPaths(makeFlags string) (read, write string, ok bool) {
	for word := range strings.FieldsSeq(makeFlags) {
		value, found := strings.CutPrefix(word, "--jobserver-auth=")
		if !found {
			value, found = strings.CutPrefix(word, "--jobserver-fds=")
		}
		if !found {
			continue
		}
		if path, isFIFO := strings.CutPrefix(value, "fifo:"); isFIFO {
			read, write, ok = path, path, path != ""
			continue
		}
		var r, w uint
		n, _ := fmt.Sscanf(value, "%d,%d", &r, &w)
		read, write, ok = fmt.Sprintf("/proc/self/fd/%d", r), fmt.Sprintf("/proc/self/fd/%d", w), n == 2
	}
	return read, write, ok
}

// samePipe reports whether both descriptors are ends of one pipe. The numbers alone prove
// nothing: make may have closed its pipe, and they may have been used again for something
// else.
func samePipe(read, write int) bool {
	var r, w syscall.Stat_t
	if syscall.Fstat(read, &r) != nil || syscall.Fstat(write, &w) != nil {
		return false
	}
	return r.Mode&syscall.S_IFMT == syscall.S_IFIFO && r.Dev == w.Dev && r.Ino == w.Ino
}

func (s *server) try() (giveBack func(), ok bool) {
	select {
	case <-s.implicit:
		return func() { s.implicit <- struct{}{} }, true
	default:
	}
	token := make([]byte, 1)
	for {
		n, err := syscall.Read(s.read, token)
		switch {
		case n == 1:
			return func() { s.giveBack(token) }, true
		case err == syscall.EINTR:
		default:
			return nil, false
		}
	}
}

// giveBack cannot fail: the byte came out of the pipe, so there is room for it.
func (s *server) giveBack(token []byte) {
	for {
		_, err := syscall.Write(s.write, token)
		if err != syscall.EINTR && err != syscall.EAGAIN {
			return
		}
	}
}

func (s *server) close() {
	signal.Stop(s.signals)
	syscall.Close(s.read)
	syscall.Close(s.write)
}
