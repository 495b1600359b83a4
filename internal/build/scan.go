package build

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
	in      *Input
	tools   engine.Tools
	modules []engine.Module
	read    func(module int, text []byte) (T, error)
	// tolerant: a module that fails is left out.
	tolerant bool
	vector   []string
	lookUps  []*action.Step

	known []bool
	found []T
	wall  time.Duration // of the compiler
}

// Scan compiles each module of the plan's LTO-IR by itself and returns what read finds
// in the PTX of each. It calls read concurrently.
func Scan[T any](ctx context.Context, in *Input, read func(module int, text []byte) (T, error)) ([]T, error) {
	tools, err := newTools(in)
	if err != nil {
		return nil, err
	}
	s := &scanner[T]{in: in, tools: tools, modules: Modules(in.Plan), read: read}
	err = s.scan(ctx)
	return s.found, err
}

// scan fills in what is found. After an error that is what was found before.
func (s *scanner[T]) scan(ctx context.Context) error {
	n, set := len(s.modules), s.in.Runners
	s.vector = slice.ScanOptions(strings.TrimPrefix(s.in.Plan.Compile[0], "-arch="))
	s.known, s.found, s.lookUps = make([]bool, n), make([]T, n), make([]*action.Step, n)
	var lookUps action.Graph
	for i := range s.modules {
		s.lookUps[i] = lookUps.Add(s.lookUp(i))
	}
	if err := lookUps.Run(ctx, set.Remember(runnerFunc(cacheMiss)), set.InFlight); err != nil {
		return err
	}
	var unknown []int
	for i := range s.modules {
		if !s.known[i] {
			unknown = append(unknown, i)
		}
	}
	var g action.Graph
	for batch := range slices.Chunk(unknown, max(1, len(unknown)/(2*set.Jobs))) {
		g.Add(s.compile(ctx, batch))
	}
	return g.Run(ctx, s.in.Watch(set.Limited), set.Jobs)
}

// A runnerFunc is a Runner for one action.
type runnerFunc func(context.Context, *action.Action) (*action.Result, error)

// Run implements action.Runner.
func (f runnerFunc) Run(ctx context.Context, a *action.Action) (*action.Result, error) {
	return f(ctx, a)
}

// cacheMiss stands for an action that is not in the cache.
func cacheMiss(context.Context, *action.Action) (*action.Result, error) {
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
			if a, err = compileAction(s.in.Plan, s.tools, s.modules[i:i+1], s.vector); err == nil {
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
func (s *scanner[T]) compile(ctx context.Context, batch []int) *action.Step {
	var modules []engine.Module
	for _, i := range batch {
		modules = append(modules, s.modules[i])
	}
	return &action.Step{
		Make: func() (a *action.Action, err error) {
			p := s.in.Plan
			if a, err = engine.CompileSeparately(p.Engine, s.tools, modules, p.EngineOptions(s.vector)); err == nil {
				a.Label = "scan"
			}
			return a, err
		},
		Handle: action.Handle(func(r *action.Result) ([]scanned[T], error) { return s.readBatch(ctx, batch, r) }, s.take),
	}
}

// readBatch reads the result of some modules and puts that of each into the cache.
func (s *scanner[T]) readBatch(ctx context.Context, batch []int, r *action.Result) (list []scanned[T], err error) {
	for place, i := range batch {
		alone := engine.SeparateResult(r, place)
		one, err := s.readModule(i, alone)
		if err != nil && s.tolerant {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, one)
		known := runnerFunc(func(context.Context, *action.Action) (*action.Result, error) { return alone, nil })
		if _, err := s.in.Runners.Remember(known).Run(ctx, s.lookUps[i].Action()); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// readModule reads the result of one module.
func (s *scanner[T]) readModule(i int, r *action.Result) (one scanned[T], err error) {
	text, _, err := compiledText(s.in.Plan, s.modules[i:i+1], r)
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
		s.wall += one.wall
	}
	return nil
}
