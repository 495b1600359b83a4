package build

import (
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/message"
)

// An ltoEngine compiles the LTO-IR of a link.
type ltoEngine struct {
	b       *build
	modules []engine.Module
}

// compile adds the step from LTO-IR to PTX; what follows depends on its answer.
func (e *ltoEngine) compile(vector []string, try int) {
	b := e.b
	b.result.Steps.Vector = vector
	b.graph.Add(&action.Step{
		Make: func() (*action.Action, error) { return compileAction(b.in.Plan, b.tools, e.modules, vector) },
		Handle: action.Handle(e.read, func(c *compilation) error {
			if e.retry(c.result, vector, try) {
				return nil
			}
			b.result.Steps.Linked = c.result.Outputs[engine.LinkedFile]
			b.result.Printed = engine.Printed(c.result.Stdout)
			if c.outcome == nil {
				return c.err
			}
			b.tookNVVM(c.wall)
			for _, m := range []*message.Message{c.outcome.Wrote, c.outcome.Log} {
				if m != nil {
					b.compileLog = append(b.compileLog, m)
				}
			}
			if len(b.result.Steps.Native) == 0 {
				b.reportSteps()
			}
			if c.err == nil {
				e.done(c)
			}
			return c.err
		}),
	})
}

// done passes the code on.
func (e *ltoEngine) done(c *compilation) {
	if e.b.in.Plan.EmitPTX {
		e.b.emit(c.outcome.PTX)
		return
	}
	made := code{relocatable: c.outcome.Relocatable}
	for _, shard := range c.shards {
		made.texts = append(made.texts, text{shard, e.b.in.Plan.Assemble})
	}
	e.b.take(made)
}

// A compilation is the result of a compile action. An error of the engine is part of it,
// because the build may retry.
type compilation struct {
	result  *action.Result
	outcome *engine.Outcome
	shards  []action.Content // the PTX
	wall    time.Duration
	err     error
}

func (e *ltoEngine) read(r *action.Result) (*compilation, error) {
	c := &compilation{result: r, wall: r.Usage.Wall}
	c.outcome, c.err = engine.ParseResult(e.b.in.Plan.Engine, e.modules, r)
	if c.err == nil && !e.b.in.Plan.EmitPTX {
		c.shards, c.err = shardsOf(c.outcome)
	}
	return c, nil
}

// shardsOf returns the PTX texts of an outcome.
func shardsOf(o *engine.Outcome) ([]action.Content, error) {
	if len(o.Shards) <= 1 {
		return []action.Content{o.PTX}, nil
	}
	text, err := o.PTX.Read()
	if err != nil {
		return nil, err
	}
	shards, err := engine.Shards(text, o.Shards)
	var contents []action.Content
	for _, s := range shards {
		contents = append(contents, action.Bytes(s))
	}
	return contents, err
}
