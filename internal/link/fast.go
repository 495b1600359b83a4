package link

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/plan"
)

// buildFast links a program in slices (slices.go). If that cannot be done it says
// why and gives nothing: the program is then linked as in exact mode, which also
// brings up what is really wrong with it. So no link fails because it is fast.
func (l *linker) buildFast(ctx context.Context, w *workshop) (*build, error) {
	if l.plan.Mode == plan.Plain {
		return nil, nil // there is nothing to cut
	}
	if reason := l.unfit(); reason != "" {
		l.log.Report(notSliced(&message.Message{Text: reason}))
		return nil, nil
	}
	b, report, err := l.fastLink(ctx, w)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		l.log.Report(notSliced(err))
		return nil, nil
	case report.Refused != nil:
		l.log.Report(report.Refused)
		return nil, nil
	}
	l.reportPlan(len(l.plan.Messages))
	for _, m := range report.Said {
		l.log.Report(m)
	}
	return b, nil
}

// unfit says why slices are out of the question; empty: they are not.
func (l *linker) unfit() string {
	switch o := l.options; {
	case o.EmitPTX:
		return "-emit-ptx asks for the PTX of the whole program"
	case o.Relocatable:
		return "-r asks for code that is linked again, so nothing may be removed or made local"
	case len(l.plan.Bitcode) > 0:
		return "slices are of nvcc's LTO-IR, and LLVM bitcode takes part"
	case l.plan.Mode != plan.Whole:
		return "other code is linked with the result, so nothing may be removed or made local"
	case o.Own.VerboseKeep:
		return "--verbose-keep shows the steps of a link that is not cut"
	}
	return ""
}

// notSliced is the message for an error that ends the attempt.
func notSliced(err error) *message.Message {
	all := message.Of(err)
	m := &message.Message{Severity: message.Info, ID: "not-sliced", Tool: "warpld", Text: "linked without slices: " + all[len(all)-1].Text}
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

// byPlace are the modules under names that say only where they stand in the link. What
// is said of them can then be kept for links of the same code in other files.
func byPlace(modules []engine.Module) []engine.Module {
	named := slices.Clone(modules)
	for i := range named {
		named[i].Origin = engine.ModuleName(i)
	}
	return named
}

// name gives the modules of the messages their names in this link.
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

// doing is a Runner for one action.
type doing func(context.Context, *action.Action) (*action.Result, error)

func (do doing) Run(ctx context.Context, a *action.Action) (*action.Result, error) { return do(ctx, a) }

// fastLink does a sliced link, as one action of which the cache may know the result
// already: looking at each slice takes a while in a large program.
func (l *linker) fastLink(ctx context.Context, w *workshop) (*build, *fastReport, error) {
	b, err := l.newBuild()
	if err != nil {
		return nil, nil, err
	}
	modules := l.modules()
	b.sliced = &sliced{modules: byPlace(modules)}
	whole, err := b.fastAction(modules)
	if err != nil {
		return nil, nil, err
	}
	link := doing(func(ctx context.Context, _ *action.Action) (*action.Result, error) { return b.linkSlices(ctx, w) })
	result, err := l.watch(w.remember(link)).Run(ctx, whole)
	if err != nil {
		return nil, nil, err
	}
	text, err := result.Outputs[fastReportFile].Read()
	report := &fastReport{}
	if err == nil {
		err = json.Unmarshal(text, report)
	}
	report.name(modules)
	b.output, b.registered = result.Outputs[fastCubinFile], report.Registered
	// What the unsliced link would be, for the order in the registration file.
	b.whole = !slices.ContainsFunc(l.plan.Register, func(r plan.Registered) bool {
		return r.Runtime && slices.Contains(report.Registered, r.ID)
	})
	return b, report, err
}

// fastAction names all that a sliced link depends on.
func (b *build) fastAction(modules []engine.Module) (*action.Action, error) {
	own, record := &b.options.Own, ""
	if own.ExactBytes {
		record = b.commandLine()
	}
	job, err := json.Marshal([]any{b.plan.Engine, b.plan.EngineOptions(), b.plan.Assemble, b.plan.MergeArguments, b.options.Arch,
		own.SliceSize, own.Merge, own.ExactBytes, record})
	if err != nil {
		return nil, err
	}
	a := &action.Action{
		Label:   "link in slices",
		Tool:    action.File{Name: "warpld", Content: action.AtPath(b.Self)},
		Env:     b.tools.Env,
		Outputs: []string{fastCubinFile, fastReportFile},
		Limit:   b.tools.Limit,
		Inputs: []action.File{
			{Name: engine.JobFile, Content: action.Bytes(job)},
			{Name: "engine.so", Toolchain: true, Content: action.AtPath(b.tools.Library)},
			{Name: "ptxas", Toolchain: true, Content: action.AtPath(b.tools.PTXAS)},
		},
	}
	if nvlink, err := b.toolkit.NeedNVLink(); err == nil { // our own merger may do without
		a.Inputs = append(a.Inputs, action.File{Name: "nvlink", Toolchain: true, Content: action.AtPath(nvlink)})
	}
	for i, m := range modules {
		a.Inputs = append(a.Inputs, action.File{Name: engine.ModuleName(i), Origin: m.Origin, Content: m.Content})
	}
	for i, piece := range b.plan.Native {
		a.Inputs = append(a.Inputs, action.File{Name: fmt.Sprintf("native-%05d", i), Origin: piece.Object.Origin.String(),
			Content: action.Content{Load: piece.Module.Container}})
	}
	if b.hasLineTables(&assembly{arguments: b.plan.Assemble}) {
		a.Impure = lineTables
	}
	return a, nil
}

// linkSlices runs the attempt. A refusal follows from the inputs, so it is a result
// that can be kept; a tool that failed may do better next time.
func (b *build) linkSlices(ctx context.Context, w *workshop) (*action.Result, error) {
	result := &action.Result{Outputs: map[string]action.Content{fastCubinFile: action.Bytes(nil)}}
	report := fastReport{}
	if err := b.slices(ctx, w); err != nil {
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
		report.Said, report.Registered = b.sliced.all(), b.registered
		result.Outputs[fastCubinFile] = b.output
	}
	text, err := json.Marshal(report)
	result.Outputs[fastReportFile] = action.Bytes(text)
	return result, err
}
