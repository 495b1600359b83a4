package link

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/pattern"
	"github.com/warpld/warpld/internal/plan"
	"github.com/warpld/warpld/internal/ptx"
)

// After optimization all objects are one, and the tools that complain about a
// symbol can no longer say whose it is. Then each object's code is looked at by
// itself; a link that has failed can take that time.

// A complaint is a message about a symbol, and the question that it leaves open.
type complaint struct {
	pattern func() *regexp.Regexp // the symbol is its first group
	defined bool                  // the question: who defines it; else: who refers to it
	hint    string
}

const (
	undefinedHint = "link the object or library that defines it"
	duplicateHint = "keep one definition, or make it static, inline or weak"
)

// optimizedParts matches the names of the parts that came out of an engine.
var optimizedParts = "(?:" + regexp.QuoteMeta(plan.LTOName) + "|" + regexp.QuoteMeta(plan.LLVMName) + ")"

var complaints = []complaint{
	{pattern.Lazy(`^Undefined reference to '([^']+)' in '` + optimizedParts + `'`), false, undefinedHint},
	{pattern.Lazy(`^Unresolved extern (?:function|variable) '([^']+)'`), false, undefinedHint},
	{pattern.Lazy(`Linking globals named '([^']+)': symbol multiply defined`), true, duplicateHint},
	{pattern.Lazy(`^Multiple definition of '([^']+)' in .*'` + optimizedParts + `'`), true, duplicateHint},
}

// symbolAnywhere finds the symbol of complaints whose objects are named already.
var symbolAnywhere = pattern.Lazy(`^(?:Undefined reference to|Multiple definition of) '([^']+)' in `)

// The search is bounded: a message is worth waiting for, but not for long.
const (
	blameModules = 512
	blameTime    = time.Minute
)

// blame adds to the messages of a failed link which objects they are about.
func (l *linker) blame(ctx context.Context, w *workshop, failed message.List) {
	type question struct {
		m *message.Message
		c complaint
	}
	var open []question
	for _, m := range failed {
		if part := symbolAnywhere().FindStringSubmatch(m.Text); part != nil {
			m.Symbol = part[1]
		}
		for _, c := range complaints {
			if part := c.pattern().FindStringSubmatch(m.Text); part != nil {
				m.Symbol, m.Hint = part[1], c.hint
				open = append(open, question{m, c})
			}
		}
	}
	if len(open) == 0 || len(l.plan.IR)+len(l.plan.Bitcode) == 0 {
		return
	}
	symbols := l.symbolsByModule(ctx, w)
	for _, q := range open {
		who := l.bitcodeWith(q.m.Symbol, q.c.defined)
		for i, declarations := range symbols {
			for _, d := range declarations {
				if d.Name == q.m.Symbol && d.Defined() == q.c.defined {
					who = append(who, l.plan.IR[i].Object.Origin.String())
					break
				}
			}
		}
		what := "referred to by "
		if q.c.defined {
			what = "defined in "
		}
		if len(who) > 0 {
			q.m.Notes = append(q.m.Notes, what+message.FirstFew(who))
		}
	}
	if more := len(l.plan.IR) - blameModules; more > 0 {
		open[0].m.Notes = append(open[0].m.Notes, fmt.Sprintf("only the first %d of %d objects were searched", blameModules, len(l.plan.IR)))
	}
}

// symbolsByModule compiles each module by itself, with nothing removed and as fast
// as can be, and reads the symbols off its PTX. A module that fails has none.
func (l *linker) symbolsByModule(ctx context.Context, w *workshop) [][]ptx.Declaration {
	if len(l.plan.IR) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, blameTime)
	defer cancel()
	tools, err := l.tools()
	if err != nil {
		return nil
	}
	modules := l.modules()
	modules = modules[:min(len(modules), blameModules)]
	symbols := make([][]ptx.Declaration, len(modules))
	alone := *l.plan
	alone.Compile = append(l.plan.Compile[:2:2], "-Ofast-compile=max", "--device-c", "--force-device-c")
	var g action.Graph
	for i := range modules {
		one := modules[i : i+1]
		g.Add(&action.Step{
			Make: func() (*action.Action, error) {
				return engine.Compile(alone.Engine, tools, one, alone.EngineOptions())
			},
			Handle: action.Handle(func(r *action.Result) (list []ptx.Declaration, err error) {
				outcome, err := engine.ParseResult(alone.Engine, one, r)
				if err != nil {
					return nil, nil
				}
				text, err := outcome.PTX.Read()
				return slices.Collect(ptx.Declarations(text)), err
			}, func(list []ptx.Declaration) error {
				symbols[i] = list
				return nil
			}),
		})
	}
	g.Run(ctx, w.runner, w.inFlight) // what it found before an end by time or error counts
	return symbols
}
