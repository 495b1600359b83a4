package merge

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/merge/device"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/cubin"
)

// What warpld is told as a merger, beside nvlink's arguments.
const (
	Stage         = "merge" // after engine.WorkerArgument
	ToolkitOption = "-toolkit="
	RecordOption  = "-record=" // once for each field of a cubin.Tool, in their order
	MendOption    = "-mend"    // a right program where nvlink breaks it
	OnceOption    = "-weak-data-once"
	// AnswerFile is what it writes beside nvlink's files.
	AnswerFile = "merged.json"
)

// Own is warpld as a merger, for a release of CUDA such as 130. The record is what
// the output says of the link; more are MendOption and OnceOption.
func Own(self string, release int, record cubin.Tool, more ...string) Merger {
	m := Merger{
		Tool:  action.File{Name: "warpld", Content: action.AtPath(self)},
		First: []string{engine.WorkerArgument, Stage, fmt.Sprintf("%s%d", ToolkitOption, release)},
		Also:  []string{AnswerFile},
		Ours:  true,
	}
	for _, field := range []string{record.Output, record.Name, record.Version, record.Build, record.Options} {
		m.First = append(m.First, RecordOption+field)
	}
	m.First = append(m.First, more...)
	return m
}

// An Answer is what warpld writes as a merger, whatever came of it.
type Answer struct {
	// NotCovered is what the rules don't cover; empty: they cover all.
	NotCovered string `json:",omitempty"`
	Failed     bool   `json:",omitempty"`
	Messages   message.List
	Removed    []device.Removal
	LeftOut    uint64 `json:",omitempty"` // bytes, see OnceOption
}

// NotCovered is the error of a merge that only nvlink can do.
type NotCovered struct{ What string }

func (n *NotCovered) Error() string { return n.What }

// ParseOwnResult returns what a merge by warpld made. The error is a NotCovered, or
// messages in nvlink's words.
func ParseOwnResult(parts []Part, r *action.Result) (*Outcome, error) {
	if !r.OK() {
		how := cmp.Or(r.Ending(), fmt.Sprintf("ended with exit code %d: %s", r.ExitCode, r.Stderr))
		return nil, &NotCovered{"why warpld's merger " + how}
	}
	text, err := r.Outputs[AnswerFile].Read()
	if err != nil {
		return nil, err
	}
	var a Answer
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, fmt.Errorf("answer of the merger: %w", err)
	}
	a.name(parts)
	switch {
	case a.NotCovered != "":
		return nil, &NotCovered{a.NotCovered}
	case a.Failed:
		return nil, a.Messages
	}
	out, err := outcome(a.Messages, r)
	if err == nil {
		out.Removed, out.LeftOut = a.Removed, a.LeftOut
	}
	return out, err
}

// Explain adds to what nvlink said of a link what our merger knows of the same.
func Explain(vendor, own error) {
	var known message.List
	if !errors.As(own, &known) {
		return
	}
	for _, m := range message.Of(vendor) {
		at := slices.IndexFunc(known, func(k *message.Message) bool { return k.Severity == m.Severity && k.Text == m.Text })
		if at >= 0 {
			k := known[at]
			m.ID, m.Symbol, m.Origin, m.Notes, m.Hint = k.ID, k.Symbol, k.Origin, k.Notes, k.Hint
		}
	}
}

// name puts the user's names in the place of ours.
func (a *Answer) name(parts []Part) {
	a.NotCovered = withOrigins(a.NotCovered, parts)
	for _, m := range a.Messages {
		m.Text, m.Hint, m.Origin.File = withOrigins(m.Text, parts), withOrigins(m.Hint, parts), withOrigins(m.Origin.File, parts)
		for i, note := range m.Notes {
			m.Notes[i] = withOrigins(note, parts)
		}
	}
	for i := range a.Removed {
		a.Removed[i].From = withOrigins(a.Removed[i].From, parts)
	}
}
