package build

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/message"
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
	// limited: the scan costs no more processor time than it is worth (scan_limit.go).
	limited bool
	// tolerant: a module that fails is left out.
	tolerant bool
	vector   []string
	lookUps  []*action.Step

	known   []bool
	found   []T
	wall    time.Duration // of the compiler
	crashes []crashedBatch
}

// A crashedBatch is modules whose compilation in one process ended without a result.
type crashedBatch struct {
	modules []int
	err     error
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
		g.Add(s.compile(ctx, &g, batch))
	}
	if err := g.Run(ctx, s.in.Watch(set.Limited), set.Jobs); err != nil {
		return err
	}
	s.reportCrashes()
	return nil
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

// compile compiles some modules and lets the cache keep the result of each. If their
// process crashes they are compiled again, each in a process of its own: the libraries
// sometimes crash because of the module before.
func (s *scanner[T]) compile(ctx context.Context, g *action.Graph, batch []int) *action.Step {
	modules := s.modulesOf(batch)
	return &action.Step{
		Make: func() (a *action.Action, err error) {
			p := s.in.Plan
			if a, err = engine.CompileSeparately(p.Engine, s.tools, modules, p.EngineOptions(s.vector)); err == nil {
				a.Label, a.CPULimit = "scan", s.cpuLimit(batch)
			}
			return a, err
		},
		Handle: action.Handle(func(r *action.Result) (scannedBatch[T], error) {
			if len(batch) > 1 && !r.OK() && !r.TimedOut {
				_, err := engine.ParseResult(s.in.Plan.Engine, modules, r)
				return scannedBatch[T]{crashed: err}, nil
			}
			list, err := s.readBatch(ctx, batch, r)
			return scannedBatch[T]{list: list}, err
		}, func(done scannedBatch[T]) error {
			if done.crashed != nil {
				s.crashes = append(s.crashes, crashedBatch{batch, done.crashed})
				for i := range batch {
					g.Add(s.compile(ctx, g, batch[i:i+1]))
				}
			}
			return s.take(done.list)
		}),
	}
}

// modulesOf returns the modules at some places of the link.
func (s *scanner[T]) modulesOf(places []int) (modules []engine.Module) {
	for _, i := range places {
		modules = append(modules, s.modules[i])
	}
	return modules
}

// A scannedBatch is what was read of a batch, or how its process crashed.
type scannedBatch[T any] struct {
	list    []scanned[T]
	crashed error
}

// reportCrashes reports batches that crashed although each of their modules can be
// compiled by itself. It names all modules, because any of them may be the cause.
func (s *scanner[T]) reportCrashes() {
	if s.tolerant {
		return // the messages of a failed link are not about this
	}
	slices.SortFunc(s.crashes, func(a, b crashedBatch) int { return a.modules[0] - b.modules[0] })
	all := Modules(s.in.Plan) // under the names that the user knows
	for _, c := range s.crashes {
		var names []string
		for _, i := range c.modules {
			names = append(names, all[i].Origin)
		}
		last := message.Of(c.err)
		s.in.Report(&message.Message{Severity: message.Info, ID: "scan-again", Tool: "warpld",
			Text:  last[len(last)-1].Text + "; each module was read again in a process of its own",
			Notes: []string{"the modules are from " + strings.Join(names, ", ")}})
	}
}

// readBatch reads the result of some modules and puts that of each into the cache.
func (s *scanner[T]) readBatch(ctx context.Context, batch []int, r *action.Result) (list []scanned[T], err error) {
	if err := s.tooSlow(batch, r); err != nil {
		return nil, err
	}
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
