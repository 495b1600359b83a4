package message

import (
	"io"
	"sync"
)

// Exit codes of nvlink, which scripts rely on.
const (
	ExitOK     = 0
	ExitFatal  = 1
	ExitErrors = 255
)

// A Policy holds what the command line says about messages as a whole.
type Policy struct {
	WarningsAsErrors bool // -Werror
	NoWarnings       bool // -w
	NoInfos          bool // -disable-infos
	Strict           bool // --warpld-strict
	// ToolName is who speaks in the linker's own messages; empty: nvlink.
	ToolName string
	// Suffix ends every message's first line.
	Suffix string
}

// A Log collects messages in the order in which they are reported and writes
// each one, as soon as it is known, through its Style. It is safe for use by
// several goroutines.
type Log struct {
	mu     sync.Mutex
	out    io.Writer
	style  Style
	policy Policy
	all    []*Message
}

// NewLog returns a Log that writes to out.
func NewLog(out io.Writer, style Style) *Log {
	return &Log{out: out, style: style}
}

// SetPolicy applies to the messages reported from now on; the command line is
// itself a source of messages, so a Log exists before it is understood.
func (l *Log) SetPolicy(p Policy) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.policy = p
}

// Report adds a message.
func (l *Log) Report(m *Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ours := m.Tool == "" && !m.Verbatim // -w and the like are about the linker's messages, not ptxas's
	promote := l.policy.WarningsAsErrors
	if m.Extra {
		promote = l.policy.Strict
	}
	switch {
	case ours && m.Severity == Info && l.policy.NoInfos && !alwaysShown[m.ID],
		ours && m.Severity == Warning && l.policy.NoWarnings && !promote && !alwaysShown[m.ID]:
		return
	case ours && m.Severity == Warning && promote:
		promoted := *m
		promoted.Severity = Error
		m = &promoted
	}
	l.all = append(l.all, m)
	shown := *m
	if !m.Verbatim {
		shown.Text += l.policy.Suffix
	}
	if ours && l.policy.ToolName != "" {
		shown.Tool = l.policy.ToolName
	}
	io.WriteString(l.out, l.style.Render(&shown))
}

// Fail reports what a phase ended with.
func (l *Log) Fail(err error) {
	for _, m := range Of(err) {
		l.Report(m)
	}
}

// alwaysShown lists the messages that nvlink prints whatever -w and
// -disable-infos say, by ID.
var alwaysShown = map[string]bool{
	"partial-lto":     true,
	"option-mixed":    true,
	"no-lto-objects":  true,
	"arch-not-found":  true,
	"engine-log":      true,
	"option-conflict": true,
}

// Messages returns what was reported so far.
func (l *Log) Messages() []*Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]*Message(nil), l.all...)
}

// ExitCode is nvlink's for what was reported.
func (l *Log) ExitCode() int {
	code := ExitOK
	for _, m := range l.Messages() {
		switch m.Severity {
		case Fatal:
			return ExitFatal
		case Error:
			code = ExitErrors
		}
	}
	return code
}
