package jobs

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"

	"github.com/warpld/warpld/internal/action"
)

// memory lets actions start as long as all of them together are expected to fit. A single
// action may always start: if it does not fit, waiting would not help.
type memory struct {
	// available returns how many bytes are free.
	available func() int64

	mu      sync.Mutex
	changed chan struct{} // closed when something ends
	budget  int64         // what there was when nothing ran
	used    int64         // what is expected of all that runs
	running int
	// factor is by how much actions of a label were underestimated at worst.
	factor map[string]float64
}

func newMemory(available func() int64) *memory {
	return &memory{available: available, changed: make(chan struct{}), factor: map[string]float64{}}
}

// take waits until there is room for an action.
func (m *memory) take(ctx context.Context, a *action.Action) (free func(), err error) {
	for {
		m.mu.Lock()
		need := m.need(a)
		if m.running == 0 {
			m.budget = m.available()
		}
		if m.running == 0 || m.used+need <= m.budget {
			m.running++
			m.used += need
			m.mu.Unlock()
			return func() { m.free(need) }, nil
		}
		changed := m.changed
		m.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (m *memory) free(need int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running--
	m.used -= need
	close(m.changed)
	m.changed = make(chan struct{})
}

// need is the estimate, corrected by what actions like it have needed.
func (m *memory) need(a *action.Action) int64 {
	return int64(float64(a.Cost.Memory) * max(1, m.factor[a.Label]))
}

// learn compares an estimate with what was needed.
func (m *memory) learn(a *action.Action, peak int64) {
	if a.Cost.Memory <= 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.factor[a.Label] = max(m.factor[a.Label], float64(peak)/float64(a.Cost.Memory))
}

// available is the memory that can be had without swapping, within the limit of the
// container if there is one.
func available() int64 {
	most := int64(math.MaxInt64)
	if kilobytes, ok := numberAfter("/proc/meminfo", "MemAvailable:"); ok {
		most = kilobytes << 10
	}
	const group = "/sys/fs/cgroup/memory."
	limit, limited := numberAfter(group+"max", "")
	current, known := numberAfter(group+"current", "")
	if !limited || !known {
		return most
	}
	unused, _ := numberAfter(group+"stat", "inactive_file ") // files that were read once
	return min(most, max(0, limit-current+unused))
}

// numberAfter reads the number behind a word in one of the kernel's files.
func numberAfter(path, word string) (n int64, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	_, rest, found := strings.Cut(string(text), word)
	count, _ := fmt.Sscan(rest[:min(len(rest), 40)], &n)
	return n, found && count == 1
}
