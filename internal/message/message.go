// Package message holds diagnostics as values. Every other package may make
// them; only the edge of the program turns them into text.
//
// A Message is also an error, so a function that cannot go on returns one, and
// the phases above need not translate it.
package message

import (
	"errors"
	"fmt"
	"strings"
)

// A Severity decides the word that is printed and the exit code.
type Severity uint8

const (
	Info    Severity = iota
	Warning          // the link goes on; -Werror makes it an Error
	Error            // the link goes on to find more of them, then fails
	Fatal            // the link stops here
)

var severityWords = [...]string{"info", "warning", "error", "fatal"}

func (s Severity) String() string { return severityWords[s] }

// An Origin is where something came from: a file and, if the file is an archive, the member in
// it.
type Origin struct {
	File   string
	Member string
}

// String returns the form that nvlink prints: "file" or "archive:member".
func (o Origin) String() string {
	if o.Member == "" {
		return o.File
	}
	return o.File + ":" + o.Member
}

// A Message is one diagnostic.
type Message struct {
	Severity Severity
	// ID names the kind of message for scripts and tests: "undefined-symbol".
	ID string
	// Tool is the program that reports it: "nvlink" if empty, else "ptxas" or another engine.
	Tool string
	// Extra marks a warning or info that nvlink doesn't have. -Werror ignores it, because a
	// build that nvlink links must not fail, and --warpld-strict makes the warning an error.
	Extra bool
	// PolicyExempt messages keep their severity and are shown whatever -Werror and
	// similar options say. The JSON name is the one that stored results have.
	PolicyExempt bool `json:"Fixed"`
	// Verbatim means that Text is not a message but a tool's own output, to be printed
	// unchanged.
	Verbatim bool
	// Text is one line in the words nvlink has for the case, where it has some.
	Text string
	// Origin is the input that brought the problem in, if one did.
	Origin Origin
	// Symbol is the mangled name that the text is about, if any.
	Symbol string
	// Notes are further details, one line each: the evidence.
	Notes []string
	// Hint is what to do next.
	Hint string
	// Cause is what went wrong beneath, for errors.Is and errors.As.
	Cause error
}

// Error makes a Message usable as an error.
func (m *Message) Error() string { return m.Text }

// Unwrap returns the cause.
func (m *Message) Unwrap() error { return m.Cause }

// A List is several messages that end a phase together, the worst one last.
type List []*Message

// Error joins the texts.
func (l List) Error() string {
	var texts []string
	for _, m := range l {
		texts = append(texts, m.Text)
	}
	return strings.Join(texts, "; ")
}

// Of turns any error into messages: a Message or a List stays itself, anything
// else becomes a fatal one with the error's text.
func Of(err error) List {
	var m *Message
	var l List
	switch {
	case err == nil:
		return nil
	case errors.As(err, &l):
		return l
	case errors.As(err, &m):
		return List{m}
	}
	return List{{Severity: Fatal, ID: "internal", Text: strings.TrimSpace(err.Error()), Cause: err}}
}

// FirstFew joins the first few names and the number of the others.
func FirstFew(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
