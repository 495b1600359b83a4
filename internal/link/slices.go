package link

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/merge"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/plan"
	"github.com/warpld/warpld/internal/slice"
)

// sliced is what a build knows of its slices. Its shards are the data object and the
// slices, in that order.
type sliced struct {
	modules []engine.Module
	plan    *slice.Plan

	open int                  // slices that libnvvm has not made yet
	logs [][]*message.Message // what libnvvm said of each slice
	said []*message.Message   // what else was said
}

func (s *sliced) hear(m *message.Message) {
	s.said = append(s.said, m)
}

// all is what was said, in an order that doesn't depend on which step ended first.
// What libnvvm says of code that slices share comes once.
func (s *sliced) all() (list []*message.Message) {
	seen := map[string]bool{}
	for _, m := range slices.Concat(s.logs...) {
		if m != nil && !seen[m.Text] {
			seen[m.Text] = true
			list = append(list, m)
		}
	}
	return append(list, s.said...)
}

// slices links the program in slices: it reads the symbols of each module, plans
// the cut, and compiles, rewrites and assembles each slice. The merge of all is the
// output.
func (b *build) slices(ctx context.Context, w *workshop) error {
	s := b.sliced
	read := func(i int, text []byte) (*slice.Module, error) { return slice.Scan(s.modules[i].Origin, text) }
	scanned, err := scan(ctx, b, w, s.modules, read)
	if err != nil {
		return err
	}
	if s.plan, err = slice.Make(scanned, b.sliceOptions()); err != nil {
		return err
	}
	b.decide(fmt.Sprintf("the program is cut into %d slices, together %.2f times its work", len(s.plan.Slices), s.plan.Amplification))
	s.open, s.logs = len(s.plan.Slices), make([][]*message.Message, len(s.plan.Slices))
	b.shards = make([]*assembly, 1+s.open)
	b.shards[0] = b.assembleSlice(s.plan.Data())
	for i := range s.plan.Slices {
		b.compileSlice(i)
	}
	return b.graph.Run(ctx, b.watch(w.runner), w.inFlight)
}

func (b *build) sliceOptions() slice.Options {
	o := slice.Options{Vector: b.plan.Compile, Provided: b.provided(), Size: b.options.Own.SliceSize << 10}
	if o.Size == 0 {
		o.Size, o.Amplification = 1, math.Inf(1)
	}
	return o
}

// provided says which functions the device runtime has, if it takes part.
func (b *build) provided() func(string) bool {
	if len(b.plan.Native) == 0 {
		return nil
	}
	return func(name string) bool { return strings.HasPrefix(name, "__cudaCDP2") }
}

// compileAction lets the plan's engine compile some modules with another vector.
func (b *build) compileAction(modules []engine.Module, vector []string) (*action.Action, error) {
	return engine.Compile(b.plan.Engine, b.tools, modules, b.engineOptions(vector))
}

// engineOptions is a vector in the form of the plan's engine.
func (b *build) engineOptions(vector []string) []string {
	p := *b.plan
	p.Compile = vector
	return p.EngineOptions()
}

// compiledText returns the PTX of a compile action that went well.
func (b *build) compiledText(modules []engine.Module, r *action.Result) ([]byte, *engine.Outcome, error) {
	outcome, err := engine.ParseResult(b.plan.Engine, modules, r)
	if err != nil {
		return nil, nil, err
	}
	text, err := outcome.PTX.Read()
	return text, outcome, err
}

// compileSlice adds the step that makes the PTX of a slice, which is then assembled.
// After the last one of these all parts of the merge are known.
func (b *build) compileSlice(i int) {
	s, one := b.sliced, b.sliced.plan.Slices[i]
	var modules []engine.Module
	for _, m := range one.Modules {
		modules = append(modules, s.modules[m])
	}
	b.graph.Add(&action.Step{
		Weight: 2 * one.Size, // ptxas takes as long again
		Make:   func() (*action.Action, error) { return b.compileAction(modules, one.Vector) },
		Handle: action.Handle(func(r *action.Result) (c sliceCompilation, err error) {
			var outcome *engine.Outcome
			if c.text, outcome, err = b.compiledText(modules, r); err != nil {
				return c, err
			}
			if outcome.Relocatable {
				return c, one.LeftOpen()
			}
			c.text, err = one.Rewrite(c.text)
			c.log, c.wall = []*message.Message{outcome.Wrote, outcome.Log}, r.Usage.Wall
			return c, err
		}, func(c sliceCompilation) error {
			b.took(b.timeOfLTO("cicc", "lto.nvvm", "lto.ptx"), c.wall)
			s.logs[i] = c.log
			b.shards[1+i] = b.assembleSlice(c.text)
			if s.open--; s.open == 0 {
				b.merge()
			}
			return nil
		}),
	})
}

// A sliceCompilation is what libnvvm made of a slice.
type sliceCompilation struct {
	text []byte
	log  []*message.Message
	wall time.Duration
}

// assembleSlice adds the step that assembles PTX. What it is worth is clear by now:
// loops that the compiler has unrolled make more of a kernel than the scan shows.
func (b *build) assembleSlice(text []byte) *assembly {
	arguments := slices.Clone(b.plan.Assemble)
	// A slice is one of many things that are done at once, and is to be the same
	// however many threads there are.
	if at := slices.Index(arguments, "-split-compile"); at >= 0 {
		arguments = slices.Delete(arguments, at, at+2)
	}
	return b.assemble(&assembly{ptx: action.Bytes(text), arguments: relocatable(arguments), weight: len(text)}, nil)
}

// mergeArguments are the plan's. What the host cannot name is in no slice, so the
// merger has nothing to remove.
func (b *build) mergeArguments() []string {
	if b.sliced == nil {
		return b.plan.MergeArguments
	}
	arguments := slices.DeleteFunc(slices.Clone(b.plan.MergeArguments), func(a string) bool {
		return a == "-ignore-host-info" || strings.HasPrefix(a, "-kernels-used=") || strings.HasPrefix(a, "-variables-used=")
	})
	return append(arguments, "-ignore-host-info")
}

// slicedParts are the parts of the merge: the data first, so that its definitions
// come before all references, and the device runtime last.
func (b *build) slicedParts(target object.Arch) []part {
	assembled := b.nativeAssemblies()
	var parts []part
	for _, shard := range b.shards {
		parts = append(parts, part{assembled: shard, Part: merge.Part{Origin: plan.LTOName, Form: merge.Carried, ID: "_lto",
			Code: stored(shard.cubin, target), Cubin: shard.cubin.Read}})
	}
	for i := range b.plan.Merge {
		if m := &b.plan.Merge[i]; m.Native != nil {
			parts = append(parts, nativePart(m, assembled[m.Native], target))
		}
	}
	return parts
}
