package build

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/bitcode"
	"github.com/warpld/warpld/internal/pattern"
	"github.com/warpld/warpld/internal/plan"
	"github.com/warpld/warpld/internal/ptx"
)

// After optimization all objects are one, and the tools that complain about a symbol
// no longer know which object it is from. So each object's code is read by itself; a
// link that has failed can take that time.

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

// A question is a message of a failed link and the complaint that it is.
type question struct {
	m *message.Message
	c complaint
}

// Blame adds to the messages of a failed link which objects they are about.
func Blame(ctx context.Context, in Input, failed message.List) {
	questions := questionsOf(failed)
	if len(questions) == 0 || len(in.Plan.IR)+len(in.Plan.Bitcode) == 0 {
		return
	}
	symbols := symbolsByModule(ctx, in)
	for _, q := range questions {
		who := bitcodeWith(in.Plan, q.m.Symbol, q.c.defined)
		for i, declarations := range symbols {
			answers := func(d ptx.Declaration) bool { return d.Name == q.m.Symbol && d.Defined() == q.c.defined }
			if slices.ContainsFunc(declarations, answers) {
				who = append(who, in.Plan.IR[i].Object.Origin.String())
			}
		}
		what := "referred to by "
		if q.c.defined {
			what = "defined in "
		}
		if len(who) > 0 {
			q.m.Notes = append(q.m.Notes, what+message.FirstFew(who))
		}
		if !q.c.defined {
			explainRenamed(in.Plan, q.m)
		}
	}
	if all := len(in.Plan.IR); all > blameModules {
		first := questions[0].m
		first.Notes = append(first.Notes, fmt.Sprintf("only the first %d of %d objects were searched", blameModules, all))
	}
}

// questionsOf finds the symbols of the messages, and returns those whose objects are
// not known.
func questionsOf(failed message.List) (list []question) {
	for _, m := range failed {
		if part := symbolAnywhere().FindStringSubmatch(m.Text); part != nil {
			m.Symbol = part[1]
		}
		for _, c := range complaints {
			if part := c.pattern().FindStringSubmatch(m.Text); part != nil {
				m.Symbol, m.Hint = part[1], c.hint
				list = append(list, question{m, c})
			}
		}
	}
	return list
}

// symbolsByModule returns the symbols of each module of the LTO-IR. A module that fails
// has none. What was found before an end by time or error counts.
func symbolsByModule(ctx context.Context, in Input) [][]ptx.Declaration {
	if len(in.Plan.IR) == 0 {
		return nil
	}
	tools, err := newTools(&in)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, blameTime)
	defer cancel()
	in.Watch = func(r action.Runner) action.Runner { return r }
	modules := Modules(in.Plan)
	modules = modules[:min(len(modules), blameModules)]
	s := &scanner[[]ptx.Declaration]{in: &in, tools: tools, modules: modules, tolerant: true,
		read: func(_ int, text []byte) ([]ptx.Declaration, error) {
			return slices.Collect(ptx.Declarations(text)), nil
		}}
	s.scan(ctx)
	return s.found
}

// bitcodeWith returns the objects whose bitcode defines a symbol, or refers to it.
func bitcodeWith(p *plan.Plan, symbol string, defined bool) []string {
	var who []string
	for _, piece := range p.Bitcode {
		is := func(y bitcode.Symbol) bool { return y.Name == symbol && y.Defined == defined }
		has := func(m bitcode.Module) bool { return slices.ContainsFunc(m.Symbols, is) }
		if slices.ContainsFunc(piece.Module.Bitcode, has) {
			who = append(who, piece.Object.Origin.String())
		}
	}
	return who
}

// renamed is what clang puts between the name of a static variable that host code uses and
// the hash of its source. What it compiled before it met the use has the plain name.
const renamed = "__static__"

// explainRenamed adds to a message about an undefined symbol that clang defines it under
// another name.
func explainRenamed(p *plan.Plan, m *message.Message) {
	for _, piece := range p.Bitcode {
		for _, module := range piece.Module.Bitcode {
			for _, y := range module.Symbols {
				if y.Defined && y.Kind == bitcode.Variable && strings.HasPrefix(y.Name, m.Symbol+renamed) {
					m.Notes = append(m.Notes, fmt.Sprintf("clang defines it as '%s' in %s", y.Name, piece.Object.Origin))
					m.Hint = "declare the variable without static, or move its use in host code before that in device code"
					return
				}
			}
		}
	}
}
