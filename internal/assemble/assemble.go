// Package assemble does the work of ptxas kernel by kernel: it cuts the PTX of a whole program
// into units, lets ptxas assemble each, and composes the cubin that ptxas would have made of
// all of it, byte for byte. What can't be done that way is one run of ptxas.
package assemble

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/compose"
	"github.com/warpld/warpld/internal/compose/units"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/message"
)

// The values of --warpld-assemble.
const (
	Auto    = "auto"    // by kernel if that pays
	Kernels = "kernels" // by kernel if that is possible
	Whole   = "whole"   // one run of ptxas
)

// worthwhile is how many bytes of PTX a program must have for Auto. ptxas takes half a second
// for less, and each unit costs some hundredths of a second more than its kernels.
const worthwhile = 2 * units.DefaultBundleSize

// rules is part of the key of composed cubins. It changes when a mistake in them is corrected.
const rules = "warpld composes cubins, version 1\n"

// Settings are what assembling by kernel depends on.
type Settings struct {
	Mode string
	// Runner runs actions, InFlight at once, and Remember puts the caches in front of a
	// runner that does more than one process.
	Runner   action.Runner
	InFlight int
	Remember func(action.Runner) action.Runner
	// Watch wraps a runner whose actions are to be observed.
	Watch func(action.Runner) action.Runner
	// Report is called for each message, and Verbosef with what --warpld-verbose shows.
	Report   func(*message.Message)
	Verbosef func(format string, args ...any)
	// Slow is how long a unit may take until it is reported, or zero.
	Slow time.Duration
	// Verify is the share of programs that are assembled as a whole as well, and Differs is
	// called if the result is another one.
	Verify  float64
	Differs func(Difference) error
}

// A Difference is a composed cubin that is not that of ptxas.
type Difference struct {
	PTX, Composed, Whole []byte
	Arguments            []string
}

// An Assembler is a Runner that does assemblies of whole programs kernel by kernel, and passes
// all other actions on.
type Assembler struct {
	s    Settings
	next action.Runner // observed
	cut  func(text []byte, s units.Settings) (*units.Program, error)
	// compose is compose.Compose.
	compose func(p *units.Program, cubins [][]byte) ([]byte, error)

	mu        sync.Mutex
	decisions []string
}

// New returns an Assembler.
func New(s Settings) *Assembler {
	return &Assembler{s: s, next: s.Watch(s.Runner), cut: units.Cut, compose: compose.Compose}
}

// Decisions are how programs were assembled, and why.
func (a *Assembler) Decisions() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.decisions)
}

func (a *Assembler) decide(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	a.s.Verbosef("%s", text)
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.decisions, text) {
		a.decisions = append(a.decisions, text)
	}
}

// A runnerFunc is a Runner for one action.
type runnerFunc func(context.Context, *action.Action) (*action.Result, error)

// Run implements action.Runner.
func (f runnerFunc) Run(ctx context.Context, a *action.Action) (*action.Result, error) {
	return f(ctx, a)
}

// Run implements action.Runner.
func (a *Assembler) Run(ctx context.Context, whole *action.Action) (*action.Result, error) {
	j, reason := a.job(whole)
	if j == nil {
		return a.next.Run(ctx, whole)
	}
	if reason == "" {
		r, err := j.run(ctx)
		var refused *refusal
		if !errors.As(err, &refused) {
			return r, err
		}
		reason = refused.Error()
	}
	a.decide("ptxas assembles the program as a whole: %s", reason)
	return a.next.Run(ctx, whole)
}

// job returns an assembly of a whole program, and why it is not done by kernel. It returns nil
// for all other actions.
func (a *Assembler) job(whole *action.Action) (j *job, reason string) {
	if (a.s.Mode != Auto && a.s.Mode != Kernels) || whole.Label != engine.AssembleLabel {
		return nil, ""
	}
	c, err := Parse(whole.Args)
	if err != nil || len(whole.Inputs) != 1 || IsRelocatable(c.Arguments) {
		return nil, "" // it is no program
	}
	j = &job{a: a, whole: whole, arguments: c.Arguments}
	size := whole.Inputs[0].Size()
	switch {
	case WhyWhole(c.Arguments) != "":
		return j, WhyWhole(c.Arguments)
	case a.s.Mode == Auto && size < worthwhile:
		return nil, ""
	case a.s.Mode == Auto && a.s.InFlight < 2:
		return j, "there is one processor"
	}
	return j, ""
}

// A refusal is why a program is not composed.
type refusal struct{ cause error }

func (r *refusal) Error() string { return r.cause.Error() }

func refuse(format string, args ...any) error { return &refusal{fmt.Errorf(format, args...)} }
