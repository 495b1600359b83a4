package build

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
	"github.com/warpld/warpld/internal/plan"
	"github.com/warpld/warpld/internal/slice"
)

// A slicedLink builds a program in slices. The shards of its build are the data object
// and the slices, in that order.
type slicedLink struct {
	b       *build
	modules []engine.Module
	plan    *slice.Plan
	open    int // slices that libnvvm has not made yet
	// logs are libnvvm's messages about each slice, and said are all others. They are
	// held back until it is certain that the link counts.
	logs [][]*message.Message
	said []*message.Message
}

func newSlicedLink(in *Input, modules []engine.Module) (*slicedLink, error) {
	b, err := newBuild(in)
	if err != nil {
		return nil, err
	}
	s := &slicedLink{b: b, modules: modules}
	b.report = func(m *message.Message) { s.said = append(s.said, m) }
	b.parts, b.mergeArguments, b.keepsAllKernels = s.parts, slicedArguments(in.Plan.MergeArguments), true
	return s, nil
}

// messages returns what was said, in an order that doesn't depend on which step ended
// first. What libnvvm says of code that slices share comes once.
func (s *slicedLink) messages() (list []*message.Message) {
	seen := map[string]bool{}
	for _, m := range slices.Concat(s.logs...) {
		if m != nil && !seen[m.Text] {
			seen[m.Text] = true
			list = append(list, m)
		}
	}
	return append(list, s.said...)
}

// run reads the symbols of each module, plans the cut, and compiles, rewrites and
// assembles each slice. The merge of all is the output.
func (s *slicedLink) run(ctx context.Context) error {
	b := s.b
	read := func(i int, text []byte) (*slice.Module, error) { return slice.Scan(s.modules[i].Origin, text) }
	scan := &scanner[*slice.Module]{in: b.in, tools: b.tools, modules: s.modules, read: read, limited: true}
	err := scan.scan(ctx)
	if err != nil {
		return err
	}
	b.tookNVVM(scan.wall)
	if s.plan, err = slice.Make(scan.found, sliceOptions(b.in)); err != nil {
		return err
	}
	b.decide(fmt.Sprintf("the program is cut into %d slices, together %.2f times its work",
		len(s.plan.Slices), s.plan.Amplification))
	s.open, s.logs = len(s.plan.Slices), make([][]*message.Message, len(s.plan.Slices))
	b.result.Steps.Shards = make([]*Assembly, 1+s.open)
	s.assemble(0, s.plan.Data(), nil)
	for i := range s.plan.Slices {
		s.compile(i)
	}
	return b.run(ctx)
}

func sliceOptions(in *Input) slice.Options {
	o := slice.Options{Vector: in.Plan.Compile, Size: in.Options.Own.SliceSize << 10,
		Release: in.Toolkit.Version.Release()}
	if len(in.Plan.Native) > 0 { // the device runtime
		o.Provided = func(name string) bool { return strings.HasPrefix(name, "__cudaCDP2") }
	}
	if o.Size == 0 {
		o.Size, o.Amplification = 1, math.Inf(1)
	}
	return o
}

// A slicePTX is what libnvvm made of a slice.
type slicePTX struct {
	text []byte
	log  []*message.Message
	wall time.Duration
}

// compile adds the step that makes the PTX of a slice, which is then assembled. After
// the last one of these all parts of the merge are known.
func (s *slicedLink) compile(i int) {
	b, one := s.b, s.plan.Slices[i]
	var modules []engine.Module
	for _, m := range one.Modules {
		modules = append(modules, s.modules[m])
	}
	read := func(r *action.Result) (p slicePTX, err error) {
		text, outcome, err := compiledText(b.in.Plan, modules, r)
		if err != nil {
			return p, err
		}
		if outcome.Relocatable {
			return p, one.LeftOpen()
		}
		text, err = one.Rewrite(text)
		return slicePTX{text, []*message.Message{outcome.Wrote, outcome.Log}, r.Usage.Wall}, err
	}
	b.graph.Add(&action.Step{
		Weight: 2 * one.Size, // ptxas takes as long again
		Make: func() (*action.Action, error) {
			a, err := compileAction(b.in.Plan, b.tools, modules, one.Vector)
			if err == nil {
				a.Kernels = one.Kernels
			}
			return a, err
		},
		Handle: action.Handle(read, func(p slicePTX) error {
			b.tookNVVM(p.wall)
			s.logs[i] = p.log
			s.assemble(1+i, p.text, one.Kernels)
			if s.open--; s.open == 0 {
				b.merge()
			}
			return nil
		}),
	})
}

// assemble adds the step that assembles a shard. Its weight is known only now: loops that
// the compiler has unrolled make more of a kernel than the scan shows.
func (s *slicedLink) assemble(place int, text []byte, kernels []string) {
	arguments := slices.Clone(s.b.in.Plan.Assemble)
	// A slice is one of many things that are done at once, and is to be the same
	// however many threads there are.
	if at := slices.Index(arguments, "-split-compile"); at >= 0 {
		arguments = slices.Delete(arguments, at, at+2)
	}
	a := &Assembly{PTX: action.Bytes(text), arguments: relocatable(arguments), weight: len(text), kernels: kernels}
	s.b.result.Steps.Shards[place] = a
	s.b.assemble(a, nil)
}

// slicedArguments returns the merger's arguments for a sliced link. What the host cannot
// name is in no slice, so the merger has nothing to remove.
func slicedArguments(arguments []string) []string {
	arguments = slices.DeleteFunc(slices.Clone(arguments), func(a string) bool {
		return a == "-ignore-host-info" || strings.HasPrefix(a, "-kernels-used=") ||
			strings.HasPrefix(a, "-variables-used=")
	})
	return append(arguments, "-ignore-host-info")
}

// parts returns the parts of the merge: the data first, so that its definitions come
// before all references, and the device runtime last.
func (s *slicedLink) parts() []Part {
	p, target := s.b.in.Plan, target(s.b.in.Options)
	assembled := s.b.nativeAssemblies()
	var parts []Part
	for _, shard := range s.b.result.Steps.Shards {
		parts = append(parts, Part{Assembly: shard, Merge: merge.Part{Origin: plan.LTOName, Form: merge.Carried, ID: "_lto",
			Code: stored(shard.Cubin, target), Cubin: shard.Cubin.Read}})
	}
	for i := range p.Merge {
		if m := &p.Merge[i]; m.Native != nil {
			parts = append(parts, nativePart(m, assembled[m.Native], target))
		}
	}
	return parts
}
