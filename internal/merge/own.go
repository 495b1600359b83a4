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
)

// The arguments of warpld as a merger, beside nvlink's. They are part of the keys of
// cached merges, so their texts stay as they are.
const (
	Stage         = "merge" // after engine.WorkerArgument
	toolkitOption = "-toolkit="
	recordOption  = "-record=" // once for each field of a cubin.Tool, in their order
	fixOption     = "-mend"    // device.Options.FixNvlinkBugs
	dedupOption   = "-weak-data-once"
	knowsOption   = "-references-known" // device.Options.KnowsReferences
	// AnswerFile is what it writes beside nvlink's files.
	AnswerFile = "merged.json"
)

// Settings are the options of a merge by warpld.
type Settings struct {
	Options device.Options
	// WarningsAsErrors is -Werror.
	WarningsAsErrors bool
	// NotCovered is an option that the merger does not know, if there is one.
	NotCovered string
}

// Own is warpld as a merger. In this process it merges by the settings; as a worker, by
// the arguments that say the same.
func Own(self string, settings Settings) Merger {
	o := &settings.Options
	m := Merger{
		Tool:  action.File{Name: "warpld", Content: action.AtPath(self)},
		First: []string{engine.WorkerArgument, Stage, fmt.Sprintf("%s%d", toolkitOption, o.Release.Number())},
		Also:  []string{AnswerFile},
		own:   &settings,
	}
	for _, field := range []string{o.Record.Output, o.Record.Name, o.Record.Version, o.Record.Build, o.Record.Options} {
		m.First = append(m.First, recordOption+field)
	}
	if o.FixNvlinkBugs {
		m.First = append(m.First, fixOption)
	}
	if o.DedupWeakData {
		m.First = append(m.First, dedupOption)
	}
	if o.KnowsReferences {
		m.First = append(m.First, knowsOption)
	}
	return m
}

// An Answer is what warpld writes as a merger, whatever came of it.
type Answer struct {
	// NotCovered is what the rules don't cover, if there is something.
	NotCovered string `json:",omitempty"`
	Failed     bool   `json:",omitempty"`
	Messages   message.List
	Removed    []device.Removal
	// DedupedBytes is that of device.Output.
	DedupedBytes uint64 `json:"LeftOut,omitempty"`
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
		out.Removed, out.DedupedBytes = a.Removed, a.DedupedBytes
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
		m.Text, m.Hint, m.Origin.File = withOrigins(m.Text, parts), withOrigins(m.Hint, parts), withOrigins(m.Origin.File,
			parts)
		for i, note := range m.Notes {
			m.Notes[i] = withOrigins(note, parts)
		}
	}
	for i := range a.Removed {
		a.Removed[i].From = withOrigins(a.Removed[i].From, parts)
	}
}
