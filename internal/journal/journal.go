// Package journal observes a link: it reports messages, shows progress, and writes the
// record, the trace and the table of -time.
package journal

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/progress"
	"github.com/warpld/warpld/internal/record"
)

// Streams are where a link writes to.
type Streams struct {
	Stdout, Stderr io.Writer
	Env            func(string) string
	// Terminal: Stderr is read by a person.
	Terminal bool
	Width    func() int // of that terminal
}

// A Journal observes one link. Its methods may be called concurrently, but for
// SetOptions and those that write at the end.
type Journal struct {
	streams Streams
	status  *progress.Display
	log     *message.Log
	options *options.Options

	mu     sync.Mutex
	record record.Record
}

// New returns the journal of a link that begins now.
func New(s Streams) *Journal {
	status := &progress.Display{Out: s.Stderr, Width: s.Width}
	s.Stdout, s.Stderr = status.Over(s.Stdout), status
	log := message.NewLog(s.Stderr, message.Style{Terminal: s.Terminal})
	return &Journal{streams: s, status: status, log: log, options: &options.Options{},
		record: record.Record{Started: time.Now()}}
}

// SetOptions gives the journal the options of the link, once they are known.
func (j *Journal) SetOptions(o *options.Options) { j.options = o }

// Log returns where messages are reported.
func (j *Journal) Log() *message.Log { return j.log }

// Stdout returns the standard output, which progress does not get mixed up with.
func (j *Journal) Stdout() io.Writer { return j.streams.Stdout }

// Stderr returns the standard error, which progress does not get mixed up with.
func (j *Journal) Stderr() io.Writer { return j.streams.Stderr }

// Report reports a message.
func (j *Journal) Report(m *message.Message) { j.log.Report(m) }

// Verbosef reports what --warpld-verbose shows.
func (j *Journal) Verbosef(format string, args ...any) {
	if j.options.Own.Verbose {
		j.Infof(format, args...)
	}
}

// Infof reports what an option asked for.
func (j *Journal) Infof(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	j.log.Report(&message.Message{Severity: message.Info, ID: "verbose", Tool: "warpld", Text: text})
}

// Phase notes when a phase begins; what it returns is called at its end.
func (j *Journal) Phase(name string) (end func()) {
	start := time.Now()
	return func() {
		phase := record.Phase{Name: name, Start: j.since(start), Wall: time.Since(start).Microseconds()}
		j.record.Phases = append(j.record.Phases, phase)
	}
}

// since returns a time in the record's form.
func (j *Journal) since(t time.Time) int64 { return t.Sub(j.record.Started).Microseconds() }

// Watch returns a runner whose actions are shown and noted in the record.
func (j *Journal) Watch(next action.Runner) action.Runner { return watched{j, next} }

type watched struct {
	j    *Journal
	next action.Runner
}

// Run implements action.Runner.
func (w watched) Run(ctx context.Context, a *action.Action) (*action.Result, error) {
	w.j.Verbosef("%s: %s %s", a.Label, a.Tool.Path, strings.Join(a.Args, " "))
	start, running := time.Now(), w.j.status.Begin(a.Label)
	result, err := w.next.Run(ctx, a)
	w.j.status.End(running, sourceOf(result, err))
	w.j.noteAction(a, start, result, err)
	switch {
	case err != nil:
	case result.Cached:
		w.j.Verbosef("%s: from %s", a.Label, cmp.Or(result.Where, "the cache"))
	case result.Where != "":
		w.j.Verbosef("%s: %v wall, by %s", a.Label, rounded(result.Usage.Wall), result.Where)
	default:
		u := result.Usage
		w.j.Verbosef("%s: %v wall, %v CPU, %d MB", a.Label, rounded(u.Wall), rounded(u.CPU), u.Memory>>20)
	}
	return result, err
}

// rounded returns a time in milliseconds, or in microseconds if it is less than one: a merge
// in this process may take no longer.
func rounded(d time.Duration) time.Duration {
	if d < time.Millisecond {
		return d.Round(time.Microsecond)
	}
	return d.Round(time.Millisecond)
}
