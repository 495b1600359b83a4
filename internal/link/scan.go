package link

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/slice"
)

// A scan reads the symbols of all modules, each compiled by itself with nothing
// removed. To the cache every module is an action of its own; those that it does not
// know are compiled several in a process.
type scan struct {
	*build
	modules []engine.Module
	// take gets the PTX of each module; it may be called for several at once.
	take    func(module int, text []byte) error
	vector  []string
	actions []*action.Action

	mu      sync.Mutex
	unknown []int // modules
}

func (b *build) scan(ctx context.Context, w *workshop, modules []engine.Module, take func(int, []byte) error) error {
	s := &scan{build: b, modules: modules, take: take, vector: slice.ScanOptions(strings.TrimPrefix(b.plan.Compile[0], "-arch=")),
		actions: make([]*action.Action, len(modules))}
	var known action.Graph
	for i := range modules {
		known.Add(s.lookUp(i))
	}
	if err := known.Run(ctx, w.remember(doing(notKnown)), w.inFlight); err != nil {
		return err
	}
	slices.Sort(s.unknown)
	var g action.Graph
	for batch := range slices.Chunk(s.unknown, max(1, len(s.unknown)/(2*w.jobs))) {
		g.Add(s.compile(ctx, w, batch))
	}
	return g.Run(ctx, b.watch(w.limited), w.jobs)
}

// notKnown stands for an action that is not in the cache.
func notKnown(context.Context, *action.Action) (*action.Result, error) {
	return &action.Result{ExitCode: 1}, nil
}

// lookUp asks the cache for a module.
func (s *scan) lookUp(i int) *action.Step {
	return &action.Step{
		Make: func() (a *action.Action, err error) {
			if a, err = s.compileAction(s.modules[i:i+1], s.vector); err == nil {
				a.Label, s.actions[i] = "scan", a
			}
			return a, err
		},
		Done: func(r *action.Result) error {
			if r.OK() {
				return s.read(i, r)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.unknown = append(s.unknown, i)
			return nil
		},
	}
}

// compile compiles some modules and lets the cache keep the result of each.
func (s *scan) compile(ctx context.Context, w *workshop, batch []int) *action.Step {
	var modules []engine.Module
	for _, i := range batch {
		modules = append(modules, s.modules[i])
	}
	return &action.Step{
		Make: func() (a *action.Action, err error) {
			if a, err = engine.CompileSeparately(s.plan.Engine, s.tools, modules, s.engineOptions(s.vector)); err == nil {
				a.Label = "scan"
			}
			return a, err
		},
		Done: func(r *action.Result) error {
			for place, i := range batch {
				one := engine.SeparateResult(r, place)
				if err := s.read(i, one); err != nil {
					return err
				}
				known := doing(func(context.Context, *action.Action) (*action.Result, error) { return one, nil })
				if _, err := w.remember(known).Run(ctx, s.actions[i]); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// read takes the symbols off a result.
func (s *scan) read(i int, r *action.Result) error {
	text, _, err := s.compiledText(s.modules[i:i+1], r)
	if err == nil {
		err = s.take(i, text)
	}
	return err
}
