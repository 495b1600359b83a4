package jobs

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// slots are files, one of which each running action locks. The kernel releases the lock
// however the process ends.
type slots struct {
	dir   string
	count int
}

func (s *slots) close() {}

// try locks one of the files. Where that is not possible at all, nothing is shared.
func (s *slots) try() (giveBack func(), ok bool) {
	for i := range s.count {
		f, err := s.open(strconv.Itoa(i))
		if err != nil {
			return func() {}, true
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, true
		}
		f.Close()
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR {
			return func() {}, true
		}
	}
	return nil, false
}

func (s *slots) open(name string) (*os.File, error) {
	path := filepath.Join(s.dir, name)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if os.IsNotExist(err) {
		if err = os.MkdirAll(s.dir, 0o777); err == nil {
			f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		}
	}
	return f, err
}
