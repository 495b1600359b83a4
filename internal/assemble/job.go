package assemble

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/compose/units"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/message"
)

// A job is the assembly of one program.
type job struct {
	a         *Assembler
	whole     *action.Action // ptxas on all of the text
	arguments []string       // those of ptxas, without its files

	program *units.Program
	results []*action.Result // of the units
}

// run returns what ptxas returns for the whole text. Results of such runs are in caches
// already, and are looked for first. A composed result has a key of its own: who wants
// ptxas's own result, to compare them or because of a mistake in the rules, must not get
// a composed one.
func (j *job) run(ctx context.Context) (*action.Result, error) {
	a := j.a
	if a.s.Mode == Auto && j.whole.Impure == "" {
		miss := func(context.Context, *action.Action) (*action.Result, error) { return &action.Result{ExitCode: 1}, nil }
		r, err := a.s.Remember(runnerFunc(miss)).Run(ctx, j.whole)
		if err != nil || r.OK() {
			return j.observe(ctx, j.whole, r, err)
		}
	}
	composed := j.composed()
	r, err := a.s.Remember(runnerFunc(func(ctx context.Context, _ *action.Action) (*action.Result, error) {
		return j.assemble(ctx)
	})).Run(ctx, composed)
	if err != nil {
		return nil, err
	}
	if r.Cached {
		if r, err = j.observe(ctx, composed, r, nil); err != nil {
			return nil, err
		}
	}
	if j.isVerified() {
		return j.verify(ctx, r)
	}
	return r, nil
}

// observe shows a result that did not need the runners.
func (j *job) observe(ctx context.Context, a *action.Action, r *action.Result, err error) (*action.Result, error) {
	if err != nil {
		return nil, err
	}
	known := runnerFunc(func(context.Context, *action.Action) (*action.Result, error) { return r, nil })
	return j.a.s.Watch(known).Run(ctx, a)
}

// composed returns the action by which the cache knows the composed cubin.
func (j *job) composed() *action.Action {
	c := *j.whole
	c.Inputs = append(c.Inputs[:len(c.Inputs):len(c.Inputs)],
		action.File{Name: "composer", Toolchain: true, Content: action.Bytes([]byte(rules))})
	return &c
}

// assemble cuts the program, assembles its units and composes the result.
func (j *job) assemble(ctx context.Context) (*action.Result, error) {
	start := time.Now()
	text, err := j.whole.Inputs[0].Read()
	if err != nil {
		return nil, err
	}
	settings := units.Settings{BundleSize: units.DefaultBundleSize}
	if len(text) < worthwhile {
		settings.BundleSize = 0 // it would be one unit, and somebody wants to see kernels
	}
	if j.program, err = j.a.cut(text, settings); err != nil {
		return nil, &refusal{err}
	}
	if len(j.program.Units) < 2 && j.a.s.Mode == Auto {
		return nil, refuse("its kernels are one unit")
	}
	j.a.decide("ptxas assembles the program by kernel, in %d units", len(j.program.Units))
	if err := j.runUnits(ctx); err != nil {
		return nil, err
	}
	said, err := j.said()
	if err != nil {
		return nil, err
	}
	r, err := j.compose(ctx)
	if err != nil {
		return nil, err
	}
	j.reportSlow()
	r.Stderr, r.Usage = said, j.usage(start)
	return r, nil
}

// runUnits assembles the units. The first one that fails or prints a message ends the others:
// only ptxas on the whole text says the right things in the right order.
func (j *job) runUnits(ctx context.Context) error {
	j.results = make([]*action.Result, len(j.program.Units))
	var g action.Graph
	for i := range j.program.Units {
		unit := &j.program.Units[i]
		g.Add(&action.Step{
			Weight: len(unit.Text),
			Make:   func() (*action.Action, error) { return j.unit(unit), nil },
			Handle: action.Handle(func(r *action.Result) (*action.Result, error) {
				switch ending := r.Ending(); {
				case r.TimedOut:
					return nil, j.tooSlow(unit)
				case ending != "":
					return nil, refuse("ptxas %s on %s", ending, j.names(unit))
				case !r.OK():
					return nil, refuse("ptxas fails on %s", j.names(unit))
				case j.messages(r) != "":
					return nil, refuse("ptxas has a message about %s: %s", j.names(unit), j.messages(r))
				}
				return r, nil
			}, func(r *action.Result) error {
				j.results[i] = r
				return nil
			}),
		})
	}
	return g.Run(ctx, j.a.next, j.a.s.InFlight)
}

// unit returns the action that assembles a unit. It is that of a program with the unit's text.
func (j *job) unit(u *units.Unit) *action.Action {
	a := *j.whole
	text := u.Text
	a.Inputs = []action.File{{Name: engine.PTXFile, Content: action.Shared(func() ([]byte, error) { return text, nil })}}
	a.Kernels, a.Cost = j.kernels(u), engine.AssembleCost(int64(len(text)))
	return &a
}

func (j *job) kernels(u *units.Unit) (names []string) {
	for _, k := range u.Kernels {
		names = append(names, j.program.Kernels[k].Name)
	}
	return names
}

// names are the kernels of a unit for people.
func (j *job) names(u *units.Unit) string {
	var names []string
	for _, name := range j.kernels(u) {
		names = append(names, "'"+message.Demangle(name)+"'")
	}
	return message.FirstFew(names)
}

// compose makes the cubin of those of the units, as an action in this process.
func (j *job) compose(ctx context.Context) (*action.Result, error) {
	a := &action.Action{Label: "compose", Tool: action.File{Name: "warpld", Content: action.AtPath("warpld")},
		Args: []string{fmt.Sprintf("%d cubins", len(j.results))}, Outputs: []string{engine.CubinFile}}
	var cubins [][]byte
	for _, r := range j.results {
		data, err := r.Outputs[engine.CubinFile].Read()
		if err != nil {
			return nil, err
		}
		cubins = append(cubins, data)
		a.Inputs = append(a.Inputs, action.File{Name: engine.CubinFile, Content: action.Bytes(data)})
	}
	var refused error
	a.InProcess = func() *action.Result {
		data, err := j.a.compose(j.program, cubins)
		if err != nil {
			refused = err
			return &action.Result{ExitCode: 1}
		}
		return &action.Result{Outputs: map[string]action.Content{engine.CubinFile: action.Bytes(data)}}
	}
	r, err := j.a.s.Watch(action.RunInProcess(nil)).Run(ctx, a)
	switch {
	case err != nil:
		return nil, err
	case refused != nil:
		return nil, &refusal{refused}
	case !r.OK():
		return nil, refuse("the composer %s", r.Ending())
	}
	return r, nil
}

// usage returns what the units cost together. Those from the cache cost nothing.
func (j *job) usage(start time.Time) action.Usage {
	u := action.Usage{Start: start, Wall: time.Since(start)}
	for _, r := range j.results {
		if !r.Cached {
			u.CPU, u.Memory = u.CPU+r.Usage.CPU, max(u.Memory, r.Usage.Memory)
		}
	}
	return u
}

// isVerified reports whether the program is one of the share that is assembled as a whole as
// well. Its text decides, so that the same program is always one or never.
func (j *job) isVerified() bool {
	share := j.a.s.Verify
	if share <= 0 || share >= 1 {
		return share >= 1
	}
	digest, err := j.whole.Inputs[0].Digest()
	if err != nil {
		return true
	}
	sum, err := hex.DecodeString(digest.Hash)
	return err != nil || len(sum) < 8 || float64(binary.BigEndian.Uint64(sum)) < share*math.MaxUint64
}

// verify assembles the program as a whole and compares. ptxas's result counts.
func (j *job) verify(ctx context.Context, composed *action.Result) (*action.Result, error) {
	whole, err := j.a.next.Run(ctx, j.whole)
	if err != nil {
		return nil, err
	}
	var d Difference
	if d.Composed, err = composed.Outputs[engine.CubinFile].Read(); err != nil {
		return nil, err
	}
	if whole.OK() {
		if d.Whole, err = whole.Outputs[engine.CubinFile].Read(); err != nil {
			return nil, err
		}
	}
	if bytes.Equal(d.Composed, d.Whole) {
		j.a.decide("the composed cubin was compared with that of ptxas on the whole program: they are equal")
		return whole, nil
	}
	j.a.decide("the composed cubin is not that of ptxas on the whole program, which is used")
	if d.PTX, err = j.whole.Inputs[0].Read(); err != nil {
		return nil, err
	}
	d.Arguments = j.arguments
	return whole, j.a.s.Differs(d)
}
