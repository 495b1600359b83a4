package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/warpld/warpld/internal/message"
)

// A State is what the modules say about one option, all taken together.
type State uint8

const (
	Unseen   State = iota // no module was asked
	Absent                // none has it
	Present               // all have it, with one value
	Mixed                 // some have it, with one value
	Conflict              // there are several values
)

// A Vote is one module's value of an option.
type Vote struct {
	Origin message.Origin
	Value  int
	Given  bool
}

// A Consensus is what all modules' values of one option come to.
type Consensus struct {
	State State
	Value int
	Votes []Vote
}

// add counts one more module's vote.
func (o *Consensus) add(s Vote) {
	o.Votes = append(o.Votes, s)
	switch {
	case !s.Given && o.State == Unseen:
		o.State = Absent
	case !s.Given && o.State == Present:
		o.State = Mixed
	case !s.Given || o.State == Conflict:
	case o.State == Unseen:
		o.State, o.Value = Present, s.Value
	case o.State == Absent:
		o.State, o.Value = Mixed, s.Value
	case o.Value != s.Value:
		o.State = Conflict
	}
}

// known reports whether the modules settled on a value.
func (o *Consensus) known() bool { return o.State == Present || o.State == Mixed }

// or returns the value that the modules settled on, or the default.
func (o *Consensus) or(value int) int {
	if o.known() {
		return o.Value
	}
	return value
}

// Agreed is the consensus on each option that LTO-IR carries with it.
type Agreed struct {
	LineInfo, InlineInfo, MaxReg, FTZ, PrecDiv, PrecSqrt, FMAD, SplitCompile Consensus
}

// A tracked option is looked for in the text that nvcc left beside the IR.
type tracked struct {
	opinion func(*Agreed) *Consensus
	mark    string // as in that text; what follows is the value
	name    string // as in messages
	valued  bool
}

// all is in the order in which nvlink complains.
var all = []tracked{
	{func(a *Agreed) *Consensus { return &a.LineInfo }, "-generate-line-info", "-lineinfo", false},
	{func(a *Agreed) *Consensus { return &a.InlineInfo }, "-inline-info", "-inline-info", false},
	{func(a *Agreed) *Consensus { return &a.MaxReg }, "-maxreg ", "-maxrregcount", true},
	{func(a *Agreed) *Consensus { return &a.FTZ }, "-ftz=", "-ftz", true},
	{func(a *Agreed) *Consensus { return &a.PrecDiv }, "-prec_div=", "-prec-div", true},
	{func(a *Agreed) *Consensus { return &a.PrecSqrt }, "-prec_sqrt=", "-prec-sqrt", true},
	{func(a *Agreed) *Consensus { return &a.FMAD }, "-fmad=", "-fmad", true},
	{func(a *Agreed) *Consensus { return &a.SplitCompile }, "-split-compile ", "-split-compile", true},
}

// in reads the option out of a module's text as nvlink does: the first place where
// the mark stands, even inside a longer word, and the number after it.
func (t tracked) in(text string) (value int, given bool) {
	_, rest, given := strings.Cut(text, t.mark)
	if !given || !t.valued {
		return 0, given
	}
	rest = strings.TrimLeft(rest, " \t")
	digits := rest
	isOther := func(r rune) bool { return r < '0' || r > '9' }
	if end := strings.IndexFunc(strings.TrimPrefix(rest, "-"), isOther); end >= 0 {
		digits = rest[:len(rest)-len(strings.TrimPrefix(rest, "-"))+end]
	}
	value, _ = strconv.Atoi(digits)
	return value, true
}

// agree hears all modules and complains as nvlink does: in silence, with an info,
// or with a fatal that ends the link before anything is compiled.
func (p *Plan) agree(in Input) (Agreed, error) {
	o := in.Options
	var a Agreed
	for _, piece := range p.IR {
		if !piece.carriesOptions() {
			continue
		}
		for _, t := range all {
			value, given := t.in(piece.Module.Options)
			t.opinion(&a).add(Vote{piece.Object.Origin, value, given})
		}
	}
	if split := &a.SplitCompile; split.known() && o.Given("split-compile") && in.Release.Rules().SplitOptionVotes {
		split.add(Vote{message.Origin{File: "the command line"}, o.SplitCompile, true}) // before, the objects went over it
	}
	for _, t := range all {
		op := t.opinion(&a)
		overruled := t.name == "-maxrregcount" && o.MaxRegCount != nil && *o.MaxRegCount > 0
		switch {
		case overruled:
		case op.State == Conflict:
			return a, t.conflict(op)
		case op.State == Mixed && (t.name == "-maxrregcount" || t.name == "-lineinfo"):
			p.report(t.mixed(op))
		}
	}
	return a, nil
}

func (t tracked) conflict(op *Consensus) *message.Message {
	m := &message.Message{Severity: message.Fatal, ID: "option-conflict",
		Text: fmt.Sprintf("Cicc option values for '%s' do not match", t.name),
		Hint: fmt.Sprintf("compile all objects with the same %s", t.name)}
	if t.name == "-maxrregcount" {
		m.Hint += ", or give -maxrregcount to the link"
	}
	m.Notes = op.disagreement(t)
	return m
}

func (t tracked) mixed(op *Consensus) *message.Message {
	return &message.Message{Severity: message.Info, ID: "option-mixed",
		Text: fmt.Sprintf("Some objects do not have '%s' specified but others do; will build everything with '%s'",
			t.name, t.text(op.Value)),
		Notes: op.disagreement(t)}
}

// text is the option as people write it.
func (t tracked) text(value int) string {
	if !t.valued {
		return t.name
	}
	return t.name + "=" + strconv.Itoa(value)
}

// disagreement names the first objects of each opinion.
func (o *Consensus) disagreement(t tracked) []string {
	var notes []string
	for _, g := range o.groups(t) {
		what := "without " + t.name
		if g.Value != "" {
			what = "with " + g.Value
		}
		notes = append(notes, what+": "+message.FirstFew(g.Inputs))
	}
	return notes
}
