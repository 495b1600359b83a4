package link

import (
	"context"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/plan"
)

// A built is what the actions gave.
type built struct {
	output action.Content // the cubin, or the PTX with -emit-ptx
	// handOver says why the vendor's nvlink must do this link after all.
	handOver string
}

// build makes the graph of actions and runs it.
func (l *linker) build(ctx context.Context, r action.Runner, parallel int) (*built, error) {
	tools, err := l.tools()
	if err != nil {
		return nil, err
	}
	modules := l.modules()
	var g action.Graph
	out := &built{}
	g.Add(&action.Step{
		Make: func() (*action.Action, error) {
			return engine.Compile(l.plan.Engine, tools, modules, l.plan.EngineOptions())
		},
		Done: func(result *action.Result) error {
			return l.compiled(&g, tools, modules, result, out)
		},
	})
	if err := g.Run(ctx, l.watch(r), parallel); err != nil {
		return out, err
	}
	return out, nil
}

// compiled goes on from the PTX.
func (l *linker) compiled(g *action.Graph, t engine.Tools, modules []engine.Module, r *action.Result, out *built) error {
	outcome, err := engine.Judge(l.plan.Engine, modules, r)
	if err != nil {
		return err
	}
	if out.handOver = l.afterCompile(outcome); out.handOver != "" {
		return nil
	}
	l.flush()
	l.took("cicc", "lto.nvvm", "lto.ptx", r.Usage.Wall)
	if outcome.Log != nil {
		l.log.Report(outcome.Log)
	}
	if l.options.EmitPTX {
		out.output = outcome.PTX
		return nil
	}
	g.Add(&action.Step{
		Make: func() (*action.Action, error) { return engine.Assemble(t, outcome.PTX, l.plan.Assemble), nil },
		Done: func(r *action.Result) error { return l.assembled(r, out) },
	})
	return nil
}

func (l *linker) assembled(r *action.Result, out *built) error {
	l.took("ptxas", "lto.ptx", "lto.cubin", r.Usage.Wall)
	cubin, said, err := engine.JudgeAssembly(r)
	for _, m := range said {
		l.log.Report(m)
	}
	out.output = cubin
	return err
}

// modules are the plan's, in the form that its engine reads.
func (l *linker) modules() []engine.Module {
	var modules []engine.Module
	for _, piece := range l.plan.IR {
		load := piece.Module.Data
		if l.plan.Engine == plan.JITLink {
			load = piece.Module.Container
		}
		modules = append(modules, engine.Module{Origin: piece.Object.Origin.String(), Content: action.Content{Load: load}})
	}
	return modules
}

// tools are those of the user's toolkit.
func (l *linker) tools() (t engine.Tools, err error) {
	t = engine.Tools{Self: l.Self, Env: l.workerEnv(), Limit: l.options.Own.TimeLimit}
	if l.plan.Engine == plan.JITLink {
		t.Library, err = l.toolkit.NeedJitLink()
	} else {
		t.Library, err = l.toolkit.NeedNVVM()
	}
	if err != nil || l.options.EmitPTX {
		return t, err
	}
	t.PTXAS, err = l.toolkit.NeedPTXAS()
	return t, err
}

// A phaseTime is one row of -time.
type phaseTime struct {
	phase, from, to string
	wall            time.Duration
}

func (l *linker) took(phase, from, to string, wall time.Duration) {
	l.times = append(l.times, phaseTime{phase, from, to, wall})
}
