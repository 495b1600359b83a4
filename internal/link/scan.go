package link

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/slice"
)

// A scanner compiles all modules, each by itself with nothing removed, and reads a T
// off the PTX of each. To the cache every module is an action of its own; those that
// it does not know are compiled several in a process.
type scanner[T any] struct {
	b       *build
	modules []engine.Module
	read    func(module int, text []byte) (T, error)
	vector  []string
	known   []bool
	found   []T
	lookUps []*action.Step
}

// scan returns what read finds in each module. It calls read concurrently.
func scan[T any](ctx context.Context, b *build, w *workshop, modules []engine.Module, read func(int, []byte) (T, error)) ([]T, error) {
	n := len(modules)
	s := &scanner[T]{b: b, modules: modules, read: read, vector: slice.ScanOptions(strings.TrimPrefix(b.plan.Compile[0], "-arch=")),
		known: make([]bool, n), found: make([]T, n), lookUps: make([]*action.Step, n)}
	var lookUps action.Graph
	for i := range modules {
		s.lookUps[i] = lookUps.Add(s.lookUp(i))
	}
	if err := lookUps.Run(ctx, w.remember(doing(notKnown)), w.inFlight); err != nil {
		return nil, err
	}
	var unknown []int
	for i := range modules {
		if !s.known[i] {
			unknown = append(unknown, i)
		}
	}
	var g action.Graph
	for batch := range slices.Chunk(unknown, max(1, len(unknown)/(2*w.jobs))) {
		g.Add(s.compile(ctx, w, batch))
	}
	err := g.Run(ctx, b.watch(w.limited), w.jobs)
	return s.found, err
}

// notKnown stands for an action that is not in the cache.
func notKnown(context.Context, *action.Action) (*action.Result, error) {
	return &action.Result{ExitCode: 1}, nil
}

// A scanned is what was read of one module.
type scanned[T any] struct {
	module int
	value  T
	wall   time.Duration
}

// lookUp asks the cache for a module.
func (s *scanner[T]) lookUp(i int) *action.Step {
	return &action.Step{
		Make: func() (a *action.Action, err error) {
			if a, err = s.b.compileAction(s.modules[i:i+1], s.vector); err == nil {
				a.Label = "scan"
			}
			return a, err
		},
		Handle: action.Handle(func(r *action.Result) ([]scanned[T], error) {
			if !r.OK() {
				return nil, nil
			}
			one, err := s.readModule(i, r)
			return []scanned[T]{one}, err
		}, s.take),
	}
}

// compile compiles some modules and lets the cache keep the result of each.
func (s *scanner[T]) compile(ctx context.Context, w *workshop, batch []int) *action.Step {
	var modules []engine.Module
	for _, i := range batch {
		modules = append(modules, s.modules[i])
	}
	return &action.Step{
		Make: func() (a *action.Action, err error) {
			if a, err = engine.CompileSeparately(s.b.plan.Engine, s.b.tools, modules, s.b.engineOptions(s.vector)); err == nil {
				a.Label = "scan"
			}
			return a, err
		},
		Handle: action.Handle(func(r *action.Result) (list []scanned[T], err error) {
			for place, i := range batch {
				alone := engine.SeparateResult(r, place)
				one, err := s.readModule(i, alone)
				if err != nil {
					return nil, err
				}
				list = append(list, one)
				known := doing(func(context.Context, *action.Action) (*action.Result, error) { return alone, nil })
				if _, err := w.remember(known).Run(ctx, s.lookUps[i].Action()); err != nil {
					return nil, err
				}
			}
			return list, nil
		}, s.take),
	}
}

// readModule reads the result of one module.
func (s *scanner[T]) readModule(i int, r *action.Result) (one scanned[T], err error) {
	text, _, err := s.b.compiledText(s.modules[i:i+1], r)
	if err != nil {
		return one, err
	}
	value, err := s.read(i, text)
	return scanned[T]{i, value, r.Usage.Wall}, err
}

// take stores what was read.
func (s *scanner[T]) take(list []scanned[T]) error {
	for _, one := range list {
		s.known[one.module], s.found[one.module] = true, one.value
		s.b.took(s.b.timeOfLTO("cicc", "lto.nvvm", "lto.ptx"), one.wall)
	}
	return nil
}
