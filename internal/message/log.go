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

// A Policy is what the command line specifies about messages as a whole.
type Policy struct {
	WarningsAsErrors bool // -Werror
	NoWarnings       bool // -w
	NoInfos          bool // -disable-infos
	Strict           bool // --warpld-strict
	// ToolName is the name in the linker's own messages. Empty stands for nvlink.
	ToolName string
	// Suffix ends every message's first line.
	Suffix string
}

// Apply returns the severity that a message gets and reports whether it is shown. With nvlink
// -disable-infos hides warnings and no infos, and -w hides nothing; messages that nvlink
// doesn't have are hidden as the options' names suggest.
func (p Policy) Apply(m *Message) (severity Severity, shown bool) {
	warning := m.Severity == Warning
	switch {
	case m.PolicyExempt || m.Severity > Warning || !m.linkers():
		return m.Severity, true
	case m.Extra && warning && p.Strict:
		return Error, true
	case m.Extra:
		return m.Severity, !p.NoInfos && !(warning && p.NoWarnings)
	case warning && p.NoInfos:
		return Warning, false
	case warning && p.WarningsAsErrors:
		return Error, true
	}
	return m.Severity, true
}

// linkers reports whether the message is the linker's own, not that of ptxas or another tool.
func (m *Message) linkers() bool { return m.Tool == "" && !m.Verbatim }

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
	severity, shown := l.policy.Apply(m)
	if !shown {
		return
	}
	if severity != m.Severity {
		promoted := *m
		promoted.Severity = severity
		m = &promoted
	}
	l.all = append(l.all, m)
	printed := *m
	if !m.Verbatim {
		printed.Text += l.policy.Suffix
	}
	if m.linkers() && l.policy.ToolName != "" {
		printed.Tool = l.policy.ToolName
	}
	io.WriteString(l.out, l.style.Render(&printed))
}

// Fail reports what a phase ended with.
func (l *Log) Fail(err error) {
	for _, m := range Of(err) {
		l.Report(m)
	}
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
