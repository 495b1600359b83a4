// Package progress shows how far a link is while it goes on: as one line on a
// terminal, as lines of text, or as events in JSON. Links that take less than a second
// show nothing but events.
package progress

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Form is how progress is shown.
type Form int

const (
	None Form = iota
	Line
	Plain
	JSON
)

const (
	quick      = time.Second // shorter links show nothing
	redraw     = 200 * time.Millisecond
	plainPause = 5 * time.Second
)

// A Step is an action of an earlier link, and how long it takes when it is run.
type Step struct {
	Label string
	Wall  time.Duration
}

// A Source is where the result of an action came from.
type Source string

const (
	Ran    Source = "ran"
	Cache  Source = "cache"
	Remote Source = "remote"
	Failed Source = "failed"
)

// A Display is the state of a link. Messages are written through it, so that they and
// the line don't get mixed up. The zero Display with an output shows nothing.
type Display struct {
	Out io.Writer
	// Width is how many columns the terminal has.
	Width func() int
	// Parallel is how many actions can run at once.
	Parallel int
	// Earlier returns the actions of the last link of the same output. It is called once, and
	// only if the link takes long enough.
	Earlier func() []Step

	mu      sync.Mutex
	form    Form
	start   time.Time
	stop    chan struct{}
	stopped sync.WaitGroup
	drawn   bool      // the line is on the terminal
	said    time.Time // when the last plain line was

	running              []*Action
	done, cached, remote int
	doneBy               map[string]int // by label
	expected             map[string]expectation
	expectedCount        int
}

// An expectation is what is known from an earlier link about the actions with a label.
type expectation struct {
	count int
	wall  time.Duration // of all
}

// An Action is one that is running.
type Action struct {
	label string
	since time.Time
}

// Start begins to show.
func (d *Display) Start(form Form) {
	d.form, d.start, d.doneBy = form, time.Now(), map[string]int{}
	if form != Line && form != Plain {
		return
	}
	d.stop = make(chan struct{})
	d.stopped.Go(d.tick)
}

// Close ends it; the line vanishes.
func (d *Display) Close() {
	if d.stop != nil {
		close(d.stop)
		d.stopped.Wait()
		d.stop = nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clear()
	if d.form == Plain && !d.said.IsZero() {
		fmt.Fprintf(d.Out, "warpld: %s\n", d.status(false))
	}
	d.event("finish", "", "")
	d.form = None
}

// tick draws from time to time, once the link is not quick any more.
func (d *Display) tick() {
	wait := time.NewTimer(quick)
	defer wait.Stop()
	for {
		select {
		case <-d.stop:
			return
		case <-wait.C:
		}
		d.mu.Lock()
		d.expect()
		d.draw()
		d.mu.Unlock()
		wait.Reset(redraw)
	}
}

// Begin is called when an action begins, and End when it has ended.
func (d *Display) Begin(label string) *Action {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := &Action{label, time.Now()}
	d.running = append(d.running, a)
	d.event("begin", label, "")
	return a
}

// End records the end of an action.
func (d *Display) End(a *Action, from Source) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running = slices.DeleteFunc(d.running, func(r *Action) bool { return r == a })
	d.done++
	d.doneBy[a.label]++
	switch from {
	case Cache:
		d.cached++
	case Remote:
		d.remote++
	}
	d.event("end", a.label, from)
}

// Write writes messages, above the line.
func (d *Display) Write(text []byte) (int, error) { return d.writeTo(d.Out, text) }

// Over is another output that may be the same terminal.
func (d *Display) Over(out io.Writer) io.Writer { return over{d, out} }

type over struct {
	d   *Display
	out io.Writer
}

func (o over) Write(text []byte) (int, error) { return o.d.writeTo(o.out, text) }

func (d *Display) writeTo(out io.Writer, text []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clear()
	return out.Write(text)
}

const eraseLine = "\r\x1b[2K"

func (d *Display) clear() {
	if d.drawn {
		io.WriteString(d.Out, eraseLine)
		d.drawn = false
	}
}

func (d *Display) draw() {
	switch {
	case d.form == Line:
		text := []rune("warpld: " + d.status(true))
		io.WriteString(d.Out, eraseLine+string(text[:min(len(text), max(d.Width()-1, 0))]))
		d.drawn = true
	case time.Since(d.said) >= plainPause:
		fmt.Fprintf(d.Out, "warpld: %s\n", d.status(true))
		d.said = time.Now()
	}
}

// status is the line. What runs and what is left is for a link that goes on.
func (d *Display) status(now bool) string {
	parts := []string{fmt.Sprintf("%d done", d.done)}
	if now && d.expectedCount > d.done {
		parts[0] = fmt.Sprintf("%d of about %d done", d.done, d.expectedCount)
	}
	for _, count := range []struct {
		n    int
		what string
	}{{d.cached, "cached"}, {d.remote, "remote"}} {
		if count.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count.n, count.what))
		}
	}
	if now && len(d.running) > 0 {
		parts = append(parts, fmt.Sprintf("%d running (%s)", len(d.running), d.running[len(d.running)-1].label))
	}
	parts = append(parts, fmt.Sprintf("%.0f s", time.Since(d.start).Seconds()))
	if left, known := d.left(); now && known {
		parts = append(parts, fmt.Sprintf("about %.0f s left", left.Seconds()))
	}
	return strings.Join(parts, ", ")
}

// An Event is a line of JSON.
type Event struct {
	Event   string `json:"event"` // "begin", "end" or "finish"
	Action  string `json:"action,omitempty"`
	Source  Source `json:"source,omitempty"` // of the result, at the end of an action
	Elapsed int64  `json:"elapsed_us"`
	Done    int    `json:"done"`
	Running int    `json:"running"`
	Cached  int    `json:"cached"`
	Remote  int    `json:"remote"`
	// Left is the estimate. It is missing if the last link of this output did no more than this
	// one has.
	Left *int64 `json:"left_us,omitempty"`
}

func (d *Display) event(what, label string, from Source) {
	if d.form != JSON {
		return
	}
	e := Event{Event: what, Action: label, Source: from, Elapsed: time.Since(d.start).Microseconds(),
		Done: d.done, Running: len(d.running), Cached: d.cached, Remote: d.remote}
	if time.Since(d.start) > quick {
		d.expect()
		if left, known := d.left(); known {
			us := left.Microseconds()
			e.Left = &us
		}
	}
	text, err := json.Marshal(e)
	if err == nil {
		d.Out.Write(append(text, '\n'))
	}
}

// expect reads what the earlier link did, once.
func (d *Display) expect() {
	if d.expected != nil {
		return
	}
	d.expected = map[string]expectation{}
	for _, s := range d.Earlier() {
		e := d.expected[s.Label]
		d.expected[s.Label] = expectation{e.count + 1, e.wall + s.Wall}
		d.expectedCount++
	}
}

// left estimates the remaining time: as long as the actions that the earlier link ran and this
// one has not run yet, divided by how many can run at once.
func (d *Display) left() (time.Duration, bool) {
	var work time.Duration
	open := 0
	for label, e := range d.expected {
		rest := e.count - d.doneBy[label]
		if rest <= 0 {
			continue
		}
		open += rest
		work += e.wall / time.Duration(e.count) * time.Duration(rest)
	}
	for _, a := range d.running {
		if e := d.expected[a.label]; e.count > d.doneBy[a.label] {
			work -= min(time.Since(a.since), e.wall/time.Duration(e.count))
		}
	}
	return work / time.Duration(max(1, min(d.Parallel, open))), open > 0
}
