package build

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/assemble"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/plan"
)

// runFast links a program in slices (sliced.go). If that is impossible it reports why
// and returns nothing: the program is then linked as in exact mode, which also shows
// what is really wrong with it. So no link fails because it is fast.
func runFast(ctx context.Context, in *Input) (*Result, error) {
	if in.Plan.Mode == plan.Plain {
		return nil, nil // there is nothing to cut
	}
	if reason := whyNotSliced(in); reason != "" {
		in.Report(notSliced(&message.Message{Text: reason}))
		return nil, nil
	}
	result, report, err := fastLink(ctx, in)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		in.Report(notSliced(err))
		return nil, nil
	case report.Refused != nil:
		in.Report(report.Refused)
		return nil, nil
	}
	for _, m := range append(plan.Messages(in.Events), report.Said...) {
		in.Report(m)
	}
	return result, nil
}

// whyNotSliced returns why a link cannot be cut into slices, or "".
func whyNotSliced(in *Input) string {
	switch o := in.Options; {
	case o.EmitPTX:
		return "-emit-ptx asks for the PTX of the whole program"
	case o.Relocatable:
		return "-r asks for code that is linked again, so nothing may be removed or made local"
	case len(in.Plan.Bitcode) > 0:
		return "slices are of nvcc's LTO-IR, and LLVM bitcode takes part"
	case in.Plan.Mode != plan.Whole:
		return "other code is linked with the result, so nothing may be removed or made local"
	case o.Own.VerboseKeep:
		return "--verbose-keep shows the steps of a link that is not cut"
	}
	return ""
}

// notSliced returns the message for an error that ends the attempt.
func notSliced(err error) *message.Message {
	all := message.Of(err)
	m := &message.Message{Severity: message.Info, ID: "not-sliced", Tool: "warpld",
		Text: "linked without slices: " + all[len(all)-1].Text}
	for _, one := range all[:len(all)-1] {
		m.Notes = append(m.Notes, one.Text)
	}
	m.Notes = append(m.Notes, all[len(all)-1].Notes...)
	return m
}

// Files of the action that is the whole sliced link.
const (
	fastCubinFile  = "linked.cubin"
	fastReportFile = "report.json"
)

// A fastReport is all that is known of a sliced link but its cubin.
type fastReport struct {
	// Refused is why there is none.
	Refused    *message.Message
	Said       []*message.Message
	Registered []string
}

// byPlace returns the modules under names that depend only on their places in the link.
// Messages about them can then be kept for links of the same code in other files.
func byPlace(modules []engine.Module) []engine.Module {
	named := slices.Clone(modules)
	for i := range named {
		named[i].Origin = engine.ModuleName(i)
	}
	return named
}

// name replaces the names of byPlace in the messages with those of this link.
func (r *fastReport) name(modules []engine.Module) {
	messages := r.Said
	if r.Refused != nil {
		messages = append(slices.Clip(messages), r.Refused)
	}
	for _, m := range messages {
		m.Text = engine.WithOrigins(m.Text, modules)
		for i := range m.Notes {
			m.Notes[i] = engine.WithOrigins(m.Notes[i], modules)
		}
	}
}

// fastLink does a sliced link as one action, whose result the cache may have: looking
// at each slice takes a while in a large program.
func fastLink(ctx context.Context, in *Input) (*Result, *fastReport, error) {
	modules := Modules(in.Plan)
	s, err := newSlicedLink(in, byPlace(modules))
	if err != nil {
		return nil, nil, err
	}
	whole, err := fastAction(in, s.b.tools, modules)
	if err != nil {
		return nil, nil, err
	}
	steps := &stepUsage{}
	s.b.in = steps.observe(in)
	link := runnerFunc(func(ctx context.Context, _ *action.Action) (*action.Result, error) {
		start := time.Now()
		r, err := s.attempt(ctx)
		if r != nil {
			r.Usage = action.Usage{Wall: time.Since(start), CPU: steps.cpu, Memory: steps.memory}
		}
		return r, err
	})
	done, err := in.Watch(in.Runners.Remember(link)).Run(ctx, whole)
	if err != nil {
		return nil, nil, err
	}
	text, err := done.Outputs[fastReportFile].Read()
	report := &fastReport{}
	if err == nil {
		err = json.Unmarshal(text, report)
	}
	report.name(modules)
	result := s.b.finish()
	result.Output, result.Registered = done.Outputs[fastCubinFile], report.Registered
	// What the unsliced link would be, for the order in the registration file.
	result.Whole = !slices.ContainsFunc(in.Plan.Register, func(r plan.Registered) bool {
		return r.Runtime && slices.Contains(report.Registered, r.ID)
	})
	return result, report, err
}

// fastAction returns an action that names all that a sliced link depends on.
func fastAction(in *Input, tools engine.Tools, modules []engine.Module) (*action.Action, error) {
	own, p, record := &in.Options.Own, in.Plan, ""
	if own.ExactBytes {
		record = in.CommandLine
	}
	job, err := json.Marshal([]any{p.Engine, p.EngineOptions(p.Compile), p.Assemble, p.MergeArguments, in.Options.Arch,
		own.SliceSize, own.Merge, own.ExactBytes, record})
	if err != nil {
		return nil, err
	}
	a := &action.Action{
		Label:   "link in slices",
		Tool:    action.File{Name: "warpld", Content: action.AtPath(in.Self)},
		Env:     tools.Env,
		Outputs: []string{fastCubinFile, fastReportFile},
		Limit:   tools.Limit,
		Inputs: []action.File{
			{Name: engine.JobFile, Content: action.Bytes(job)},
			{Name: "engine.so", Toolchain: true, Content: action.AtPath(tools.Library)},
			{Name: "ptxas", Toolchain: true, Content: action.AtPath(tools.PTXAS)},
		},
	}
	if nvlink, err := in.Toolkit.NeedNVLink(); err == nil { // our own merger may do without
		a.Inputs = append(a.Inputs, action.File{Name: "nvlink", Toolchain: true, Content: action.AtPath(nvlink)})
	}
	for i, m := range modules {
		a.Inputs = append(a.Inputs, action.File{Name: engine.ModuleName(i), Origin: m.Origin, Content: m.Content})
	}
	for i, piece := range p.Native {
		a.Inputs = append(a.Inputs, action.File{Name: fmt.Sprintf("native-%05d", i), Origin: piece.Object.Origin.String(),
			Content: action.Content{Load: piece.Module.Container}})
	}
	if hasLineTables(p, p.Assemble) {
		a.Impure = assemble.LineTables
	}
	return a, nil
}

// attempt runs the sliced link. A refusal follows from the inputs, so it is a result that
// can be kept; a tool that failed may succeed next time.
func (s *slicedLink) attempt(ctx context.Context) (*action.Result, error) {
	result := &action.Result{Outputs: map[string]action.Content{fastCubinFile: action.Bytes(nil)}}
	report := fastReport{}
	if err := s.run(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		report.Refused = notSliced(err)
		if m := message.Of(err); len(m) == 1 && m[0].ID == "not-sliced" {
			report.Refused = m[0]
			m[0].Tool = "warpld"
		} else {
			result.ExitCode = 1
		}
	} else {
		report.Said, report.Registered = s.messages(), s.b.result.Registered
		result.Outputs[fastCubinFile] = s.b.result.Output
	}
	text, err := json.Marshal(report)
	result.Outputs[fastReportFile] = action.Bytes(text)
	return result, err
}

// stepUsage is what the steps of a sliced link used together.
type stepUsage struct {
	mu     sync.Mutex
	cpu    time.Duration
	memory int64 // of the largest one
}

// observe returns an input whose steps are counted. Those from the cache used nothing.
func (u *stepUsage) observe(in *Input) *Input {
	counted := *in
	counted.Watch = func(next action.Runner) action.Runner {
		watched := in.Watch(next)
		return runnerFunc(func(ctx context.Context, a *action.Action) (*action.Result, error) {
			r, err := watched.Run(ctx, a)
			if err == nil && !r.Cached {
				u.mu.Lock()
				defer u.mu.Unlock()
				u.cpu, u.memory = u.cpu+r.Usage.CPU, max(u.memory, r.Usage.Memory)
			}
			return r, err
		})
	}
	return &counted
}
