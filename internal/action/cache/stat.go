package cache

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/warpld/warpld/internal/action"
)

// A statCache remembers digests of files, so that a tool of a hundred megabytes is
// not read for every link. A digest holds while the file's identity, size and
// times to the nanosecond are the same; the time of the last status change can't
// be set back by programs that set the time of modification. Files that were
// changed just now are not remembered, because a second change could fall into the
// same tick of the file system's clock.
type statCache struct {
	path    string
	mu      sync.Mutex
	entries map[string]statEntry
	changed bool
}

type statEntry struct {
	stamp  string
	digest action.Digest
	order  int // of being learned, for dropping the oldest
}

const (
	settled     = 2 * time.Second // after this a change of the file changes its times too
	mostEntries = 4096
)

// openStatCache reads the file; one that cannot be read is an empty one, because
// everything in it can be found out again.
func openStatCache(path string) *statCache {
	s := &statCache{path: path, entries: map[string]statEntry{}}
	text, err := os.ReadFile(path)
	if err != nil {
		return s
	}
	for scan := bufio.NewScanner(bytes.NewReader(text)); scan.Scan(); {
		var e statEntry
		fields := strings.SplitN(scan.Text(), " ", 4) // hash, size, stamp, path
		if len(fields) != 4 || len(fields[0]) != 64 {
			continue
		}
		if _, err := fmt.Sscan(fields[1], &e.digest.Size); err != nil {
			continue
		}
		e.digest.Hash, e.stamp, e.order = fields[0], fields[2], len(s.entries)
		s.entries[fields[3]] = e
	}
	return s
}

// stampOf is everything that changes when a file does.
func stampOf(info os.FileInfo) string {
	st := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%d:%d:%d:%d:%d", st.Dev, st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano())
}

func (s *statCache) digest(path string) (action.Digest, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return action.Digest{}, err
	}
	before, err := os.Stat(path)
	if err != nil {
		return action.Digest{}, err
	}
	stamp := stampOf(before)
	s.mu.Lock()
	known, ok := s.entries[path]
	s.mu.Unlock()
	if ok && known.stamp == stamp {
		return known.digest, nil
	}
	start := time.Now()
	digest, err := action.AtPath(path).Digest()
	if err != nil {
		return digest, err
	}
	after, err := os.Stat(path)
	if err == nil && stampOf(after) == stamp && start.Sub(lastChange(before)) > settled &&
		!strings.ContainsRune(path, '\n') {
		s.mu.Lock()
		s.entries[path] = statEntry{stamp, digest, len(s.entries)}
		s.changed = true
		s.mu.Unlock()
	}
	return digest, nil
}

// lastChange is the later of the two times of a file.
func lastChange(info os.FileInfo) time.Time {
	st := info.Sys().(*syscall.Stat_t)
	return time.Unix(0, max(st.Mtim.Nano(), st.Ctim.Nano()))
}

// save writes what was learned. Of two processes that do so at once, one wins; the
// other's digests are found out again.
func (s *statCache) save() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.changed {
		return nil
	}
	type line struct {
		order int
		text  string
	}
	var lines []line
	for path, e := range s.entries {
		lines = append(lines, line{e.order, fmt.Sprintf("%s %d %s %s\n", e.digest.Hash, e.digest.Size, e.stamp, path)})
	}
	slices.SortFunc(lines, func(a, b line) int { return a.order - b.order })
	var text strings.Builder
	for _, l := range lines[max(0, len(lines)-mostEntries):] {
		text.WriteString(l.text)
	}
	temporary := fmt.Sprintf("%s.%d", s.path, os.Getpid())
	if err := os.WriteFile(temporary, []byte(text.String()), 0o666); err != nil {
		return err
	}
	return os.Rename(temporary, s.path)
}
