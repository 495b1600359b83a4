package link

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/record"
	"github.com/warpld/warpld/internal/symbols"
)

// recorded says whether somebody wants to look at the link later.
func (l *linker) recorded() bool {
	return l.options.Own.Record != "" || l.options.Own.Trace != "" || l.asksForSymbols()
}

// phase notes when a phase begins; what it returns is called at its end.
func (l *linker) phase(name string) (end func()) {
	start := time.Now()
	return func() {
		l.record.Phases = append(l.record.Phases, record.Phase{Name: name, Start: l.since(start), Wall: time.Since(start).Microseconds()})
	}
}

// since is a time in the record's form.
func (l *linker) since(t time.Time) int64 { return t.Sub(l.record.Started).Microseconds() }

// noteAction takes down one action. r is nil if the action could not be run.
func (l *linker) noteAction(a *action.Action, start time.Time, r *action.Result, err error) {
	row := record.Action{Label: a.Label, Tool: a.Tool.Path, Arguments: a.Args, Source: "ran",
		Start: l.since(start), Wall: time.Since(start).Microseconds()}
	switch {
	case err != nil:
		row.Failure = err.Error()
	case r.Cached:
		row.Source = "cache"
	default:
		row.CPU, row.Memory = r.Usage.CPU.Microseconds(), r.Usage.Memory
		l.noteStages(&row, r)
	}
	if l.recorded() { // sizes may have to be found by reading
		for _, f := range a.Inputs {
			if !f.Toolchain {
				row.Sent += f.Size()
			}
		}
		if r != nil {
			for _, content := range r.Outputs {
				row.Received += content.Size()
			}
		}
	}
	if r != nil {
		row.Where = r.Where
	}
	if r != nil && !r.OK() {
		if row.Failure = r.Ending(); row.Failure == "" {
			row.Failure = "exit code " + strconv.Itoa(r.ExitCode)
		}
	}
	l.noting.Lock()
	defer l.noting.Unlock()
	l.record.Actions = append(l.record.Actions, row)
}

// noteStages takes down when an action that ran here began to, and what its worker did
// then. Each stage lasts until the next.
func (l *linker) noteStages(row *record.Action, r *action.Result) {
	if r.Where != "" || r.Usage.Start.IsZero() {
		return
	}
	end := row.Start + row.Wall
	ran := min(max(l.since(r.Usage.Start), row.Start), end)
	row.Waited = ran - row.Start
	for _, c := range engine.Calls(r.Stdout) {
		at := min(ran+c.At.Microseconds(), end)
		if last := len(row.Stages) - 1; last >= 0 {
			row.Stages[last].Wall = at - row.Stages[last].Start
		}
		row.Stages = append(row.Stages, record.Phase{Name: c.Name, Start: at, Wall: end - at})
	}
}

// writeRecord writes what was asked for, whether the link succeeded or not.
func (l *linker) writeRecord() error {
	if !l.recorded() {
		return nil
	}
	if err := l.completeRecord(); err != nil {
		return err
	}
	own := &l.options.Own
	for _, file := range []struct {
		path, suffix string
		write        func(io.Writer) error
	}{{own.Record, ".json", l.record.Write}, {own.Trace, ".trace.json", l.record.WriteTrace}, {own.Map, ".map", l.record.WriteMap}} {
		if file.path == "" {
			continue
		}
		var text bytes.Buffer
		if err := file.write(&text); err != nil {
			return err
		}
		if err := replaceFile(l.recordPath(file.path, file.suffix), &text); err != nil {
			return err
		}
	}
	if l.record.Output == nil {
		return nil // of a link that failed there is nothing to tell
	}
	if own.PrintRemoved {
		l.record.WriteRemoved(l.Stdout)
	}
	for _, name := range own.WhyLive {
		l.record.WhyLive(l.Stdout, name)
	}
	return nil
}

// recordPath gives each link of a build a file of its own when path is a folder:
// nvcc links once for every architecture, with the same options.
func (l *linker) recordPath(path, suffix string) string {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return path
	}
	return filepath.Join(path, filepath.Base(l.options.Output)+"."+l.options.Arch.String()+suffix)
}

// completeRecord fills in what is known at the end.
func (l *linker) completeRecord() (err error) {
	r := &l.record
	r.Wall = l.since(time.Now())
	r.Exit = l.log.ExitCode()
	r.Target, r.Arguments = l.options.Arch.String(), l.options.Raw
	if l.toolkit != nil {
		r.Toolkit = l.toolkit.Version.String()
	}
	slices.SortStableFunc(r.Actions, func(a, b record.Action) int { return int(a.Start - b.Start) })
	for _, m := range l.log.Messages() {
		r.Messages = append(r.Messages, record.Message{Severity: m.Severity.String(), ID: m.ID, Text: m.Text,
			Input: m.Origin.String(), Symbol: m.Symbol, Notes: m.Notes, Hint: m.Hint})
	}
	l.recordPlan()
	if r.Inputs, err = l.recordInputs(); err != nil {
		return err
	}
	return l.recordOutput()
}

// recordPlan takes over what was decided, and why.
func (l *linker) recordPlan() {
	if l.plan == nil {
		return
	}
	r := &l.record
	r.Mode, r.Engine, r.EngineReason = string(l.plan.Mode), string(l.plan.Engine), l.plan.EngineReason
	for _, reason := range l.plan.Reasons {
		r.Reasons = append(r.Reasons, record.Reason{Rule: reason.Rule, Input: reason.Origin.String()})
	}
	slices.Sort(l.decided) // engines answer in any order
	for _, what := range l.decided {
		r.Reasons = append(r.Reasons, record.Reason{Rule: what})
	}
	for _, o := range l.plan.Agreed.Options() {
		option := record.Option{Name: o.Name, Value: o.Value, Votes: []record.Vote{}}
		for _, said := range o.Said {
			option.Votes = append(option.Votes, record.Vote{Value: said.Value, Inputs: said.Inputs})
		}
		r.Options = append(r.Options, option)
	}
}

// recordInputs lists the inputs. A file is digested once, however many members it
// has.
func (l *linker) recordInputs() ([]record.Input, error) {
	linked := map[*object.Module]bool{}
	if l.plan != nil {
		for _, piece := range slices.Concat(l.plan.IR, l.plan.Bitcode, l.plan.Native) {
			linked[piece.Module] = true
		}
	}
	files := map[string]record.File{}
	inputs := []record.Input{}
	for _, obj := range l.objects {
		path := obj.Origin.File
		file, known := files[path]
		if !known {
			var err error
			if file, err = recordFile(path); err != nil {
				return nil, err
			}
			files[path] = file
		}
		in := record.Input{Name: obj.Origin.String(), File: file, Kind: obj.Kind.String(), NotLinked: obj.Ignored}
		for i := range obj.Modules {
			m := &obj.Modules[i]
			row := record.Module{Kind: m.Form(), Target: m.Arch.String(), Size: m.Size, Linked: linked[m]}
			if m.Kind != object.ELF { // what stands there beside native code is no text
				row.Options = m.Options
			}
			in.Modules = append(in.Modules, row)
		}
		inputs = append(inputs, in)
	}
	return inputs, nil
}

func recordFile(path string) (record.File, error) {
	d, err := action.AtPath(path).Digest()
	return record.File{Path: path, Size: d.Size, SHA256: d.Hash}, err
}

// recordOutput describes the result, if there is one.
func (l *linker) recordOutput() error {
	if l.record.Exit != 0 || !l.written {
		return nil
	}
	file, err := recordFile(l.options.Output)
	if err != nil {
		return err
	}
	l.record.Output = &file
	if l.emitsPTX() || l.plan.KeepBitcode { // the result is no cubin
		places, err := l.placesInText(file.Path)
		if err == nil {
			l.recordSymbols(places)
		}
		return err
	}
	f, err := os.Open(file.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	c, err := cubin.Open(f, file.Size)
	if err != nil {
		return err
	}
	if err := l.recordKernels(c); err != nil {
		return err
	}
	var places []symbols.Place
	if l.record.Sections, places, err = placesInCubin(c); err == nil {
		l.recordSymbols(places)
	}
	return err
}

// recordKernels lists what the kernels of the result take.
func (l *linker) recordKernels(c *cubin.File) error {
	kernels, err := c.Resources()
	for _, k := range kernels {
		row := record.Kernel{Name: k.Kernel, Registers: k.Registers, Stack: k.Stack, Spills: k.Spills, Barriers: k.Barriers, Shared: k.Shared, Code: k.Code}
		for _, b := range k.Constant {
			if row.Constant == nil {
				row.Constant = map[string]uint64{}
			}
			row.Constant[strconv.Itoa(b.Bank)] = b.Bytes
		}
		l.record.Kernels = append(l.record.Kernels, row)
	}
	return err
}
