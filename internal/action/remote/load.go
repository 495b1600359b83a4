package remote

import (
	"sync"
	"time"

	"github.com/warpld/warpld/internal/action"
)

// A window bounds how many of our actions wait for a machine of the server. It grows while the
// server starts them quickly and shrinks while they wait, so that the number in flight follows
// the server and not this machine.
type window struct {
	mu      sync.Mutex
	size    int
	waiting int
	changed chan struct{} // closed when there is room again
}

const (
	firstWindow = 4
	leastWindow = 2
	mostWindow  = 256
	longWait    = time.Second // for a machine
)

func newWindow() window { return window{size: firstWindow, changed: make(chan struct{})} }

// enter takes a place in the queue. If there is none, the channel is closed when it is worth
// trying again.
func (w *window) enter() (bool, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting < w.size {
		w.waiting++
		return true, nil
	}
	return false, w.changed
}

// leave frees a place after a wait.
func (w *window) leave(waited time.Duration, taken bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting--
	if taken && waited < longWait {
		w.size = min(w.size+1, mostWindow)
	} else {
		w.size = max(w.size/2, leastWindow)
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// A ticket is one place in the queue.
type ticket struct {
	window *window
	since  time.Time
	once   sync.Once
}

func (w *window) ticket() *ticket { return &ticket{window: w, since: time.Now()} }

// taken is called when a machine has the action.
func (t *ticket) taken() { t.once.Do(func() { t.window.leave(time.Since(t.since), true) }) }

// leave is called when the execution is over.
func (t *ticket) leave() { t.once.Do(func() { t.window.leave(time.Since(t.since), false) }) }

// A meter measures what the server costs beside the work itself and the wait for a
// machine, which is the window's to know.
type meter struct {
	mu       sync.Mutex
	trip     time.Duration // question and answer
	overhead time.Duration // of an execution
	rate     float64       // of uploads, bytes a second
}

const (
	// What an execution costs until one was measured: some questions, and the start
	// of a process in a fresh directory.
	firstTrips    = 4
	firstOverhead = 10 * time.Millisecond
	firstRate     = 20 << 20
	measurable    = 1 << 20 // smaller uploads are too short to measure the rate
)

// smooth moves an average towards a new value.
func smooth(old, latest time.Duration) time.Duration {
	if old == 0 {
		return latest
	}
	return (3*old + latest) / 4
}

func (m *meter) answered(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trip = smooth(m.trip, d)
}

func (m *meter) ran(overhead time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.overhead = smooth(m.overhead, max(overhead, 0))
}

func (m *meter) sent(size int64, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if size >= measurable && d > 0 {
		m.rate = float64(size) / d.Seconds()
	}
}

// cost is what an execution with these bytes of its own costs beside its work.
func (m *meter) cost(size int64) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	overhead, rate := m.overhead, m.rate
	if overhead == 0 {
		overhead = firstTrips*m.trip + firstOverhead
	}
	if rate == 0 {
		rate = firstRate
	}
	return overhead + time.Duration(float64(size)/rate*float64(time.Second))
}

// gain is how much sooner the result is likely to be there if the action is sent away
// than if it is run here: less than nothing if it costs more than its work. Tools
// and libraries don't count: they are sent once.
func (e *executor) gain(a *action.Action, encoding *action.Encoding) time.Duration {
	return estimate(a, encoding) - e.meter.cost(ownBytes(a, encoding))
}

// Tools that compile take about this long for a byte of input, and this long for
// none.
const (
	timePerByte = 5 * time.Microsecond
	timeToStart = 20 * time.Millisecond
)

// estimate is how long the action may take.
func estimate(a *action.Action, encoding *action.Encoding) time.Duration {
	return timeToStart + time.Duration(ownBytes(a, encoding))*timePerByte
}

// ownBytes is the size of the inputs that are not part of the toolchain.
func ownBytes(a *action.Action, encoding *action.Encoding) (size int64) {
	files := encoding.Files[len(encoding.Files)-len(a.Inputs):]
	for i, f := range a.Inputs {
		if !f.Toolchain {
			size += files[i].Size
		}
	}
	return size
}

// lateAfter is when an action that is still not done is started here too.
func (e *executor) lateAfter(a *action.Action, encoding *action.Encoding) time.Duration {
	const least = 3 * time.Second
	return max(least, 4*estimate(a, encoding)) + e.meter.cost(ownBytes(a, encoding))
}
