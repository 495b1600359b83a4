package journal

import (
	"bytes"
	"cmp"
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
	"github.com/warpld/warpld/internal/output"
	"github.com/warpld/warpld/internal/plan"
	"github.com/warpld/warpld/internal/record"
	"github.com/warpld/warpld/internal/symbols"
	"github.com/warpld/warpld/internal/toolkit"
)

// Facts are what the record needs to know of the link at its end. What the link did not
// come to is missing.
type Facts struct {
	Toolkit *toolkit.Toolkit
	Objects []*object.Object
	Plan    *plan.Plan
	// Decisions are what the engines' answers made of the plan.
	Decisions []string
	// Scanned are the symbols of the plan's IR, if they were asked for and found.
	Scanned [][]symbols.Symbol
	// Written: there is an output.
	Written bool
}

// Recorded reports whether somebody wants to look at the link later.
func (j *Journal) Recorded() bool {
	return j.options.Own.Record != "" || j.options.Own.Trace != "" || j.AsksForSymbols()
}

// noteAction adds an action to the record. r is nil if the action could not be run.
func (j *Journal) noteAction(a *action.Action, start time.Time, r *action.Result, err error) {
	row := record.Action{Label: a.Label, Kernels: a.Kernels, Tool: a.Tool.Path, Arguments: a.Args, Source: "ran",
		Start: j.since(start), Wall: time.Since(start).Microseconds()}
	switch {
	case err != nil:
		row.Failure = err.Error()
	case r.Cached:
		row.Source = "cache"
	default:
		row.CPU, row.Memory = r.Usage.CPU.Microseconds(), r.Usage.Memory
		j.noteStages(&row, r)
	}
	if j.Recorded() {
		row.Sent, row.Received = sizes(a, r)
	}
	if r != nil {
		row.Where = r.Where
	}
	if r != nil && !r.OK() {
		row.Failure = cmp.Or(r.Ending(), "exit code "+strconv.Itoa(r.ExitCode))
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.record.Actions = append(j.record.Actions, row)
}

// sizes returns how many bytes the inputs and outputs of an action have. It may have to
// read them for that.
func sizes(a *action.Action, r *action.Result) (sent, received int64) {
	for _, f := range a.Inputs {
		if !f.Toolchain {
			sent += f.Size()
		}
	}
	if r != nil {
		for _, content := range r.Outputs {
			received += content.Size()
		}
	}
	return sent, received
}

// noteStages adds when an action that ran on this machine began to, and what its worker
// did then. Each stage lasts until the next.
func (j *Journal) noteStages(row *record.Action, r *action.Result) {
	if r.Where != "" || r.Usage.Start.IsZero() {
		return
	}
	end := row.Start + row.Wall
	ran := min(max(j.since(r.Usage.Start), row.Start), end)
	row.Waited = ran - row.Start
	for _, c := range engine.Calls(r.Stdout) {
		at := min(ran+c.At.Microseconds(), end)
		if last := len(row.Stages) - 1; last >= 0 {
			row.Stages[last].Wall = at - row.Stages[last].Start
		}
		row.Stages = append(row.Stages, record.Phase{Name: c.Name, Start: at, Wall: end - at})
	}
}

// WriteRecord writes what was asked for, whether the link succeeded or not.
func (j *Journal) WriteRecord(facts Facts) error {
	if !j.Recorded() {
		return nil
	}
	if err := j.completeRecord(&facts); err != nil {
		return err
	}
	r, own := &j.record, &j.options.Own
	for _, file := range []struct {
		path, suffix string
		write        func(io.Writer) error
	}{{own.Record, ".json", r.Write}, {own.Trace, ".trace.json", r.WriteTrace}, {own.Map, ".map", r.WriteMap}} {
		if file.path == "" {
			continue
		}
		var text bytes.Buffer
		if err := file.write(&text); err != nil {
			return err
		}
		name := filepath.Base(j.options.Output) + "." + j.options.Arch.String() + file.suffix
		if err := output.Replace(output.Path(file.path, name), &text); err != nil {
			return err
		}
	}
	if r.Output == nil {
		return nil // there is nothing to show of a link that failed
	}
	if own.PrintRemoved {
		r.WriteRemoved(j.streams.Stdout)
	}
	for _, name := range own.WhyLive {
		r.WhyLive(j.streams.Stdout, name)
	}
	return nil
}

// completeRecord fills in what is known at the end.
func (j *Journal) completeRecord(facts *Facts) (err error) {
	r := &j.record
	r.Wall = j.since(time.Now())
	r.Exit = j.log.ExitCode()
	r.Target, r.Arguments = j.options.Arch.String(), j.options.Raw
	if facts.Toolkit != nil {
		r.Toolkit = facts.Toolkit.Version.String()
	}
	slices.SortStableFunc(r.Actions, func(a, b record.Action) int { return int(a.Start - b.Start) })
	for _, m := range j.log.Messages() {
		r.Messages = append(r.Messages, record.Message{Severity: m.Severity.String(), ID: m.ID, Text: m.Text,
			Input: m.Origin.String(), Symbol: m.Symbol, Notes: m.Notes, Hint: m.Hint})
	}
	if facts.Plan != nil {
		recordPlan(r, facts.Plan, facts.Decisions)
	}
	if r.Inputs, err = recordInputs(facts); err != nil {
		return err
	}
	if r.Exit != 0 || !facts.Written {
		return nil
	}
	return recordOutput(r, facts, j.options.Output)
}

// recordPlan adds what was decided, and why.
func recordPlan(r *record.Record, p *plan.Plan, decisions []string) {
	r.Mode, r.Engine, r.EngineReason = string(p.Mode), string(p.Engine), p.EngineReason
	for _, reason := range p.Reasons {
		r.Reasons = append(r.Reasons, record.Reason{Rule: reason.Rule, Input: reason.Origin.String()})
	}
	for _, what := range slices.Sorted(slices.Values(decisions)) { // engines answer in any order
		r.Reasons = append(r.Reasons, record.Reason{Rule: what})
	}
	for _, o := range p.Agreed.Options() {
		option := record.Option{Name: o.Name, Value: o.Value, Votes: []record.Vote{}}
		for _, vote := range o.Said {
			option.Votes = append(option.Votes, record.Vote{Value: vote.Value, Inputs: vote.Inputs})
		}
		r.Options = append(r.Options, option)
	}
}

// recordInputs returns the inputs. A file is digested once, however many members it
// has.
func recordInputs(facts *Facts) ([]record.Input, error) {
	linked := map[*object.Module]bool{}
	if facts.Plan != nil {
		for _, piece := range slices.Concat(facts.Plan.IR, facts.Plan.Bitcode, facts.Plan.Native) {
			linked[piece.Module] = true
		}
	}
	files := map[string]record.File{}
	inputs := []record.Input{}
	for _, obj := range facts.Objects {
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
			if m.Kind != object.ELF { // the bytes there beside native code are no text
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

// recordOutput describes the output.
func recordOutput(r *record.Record, facts *Facts, path string) error {
	file, err := recordFile(path)
	if err != nil {
		return err
	}
	r.Output = &file
	var places []symbols.Place
	if facts.Plan.EmitPTX || facts.Plan.KeepBitcode {
		places, err = placesInText(path, facts.Plan.KeepBitcode)
	} else {
		places, err = recordCubin(r, path, file.Size)
	}
	if err != nil {
		return err
	}
	recordSymbols(r, facts, places)
	return nil
}

// placesInText returns the symbols of an output that is no cubin.
func placesInText(path string, isBitcode bool) ([]symbols.Place, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if isBitcode {
		return symbols.InBitcode(data)
	}
	return symbols.InPTX(data)
}

// recordCubin adds the kernels and sections of the output, and returns its symbols.
func recordCubin(r *record.Record, path string, size int64) (places []symbols.Place, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := cubin.Open(f, size)
	if err != nil {
		return nil, err
	}
	if err := recordKernels(r, c); err != nil {
		return nil, err
	}
	r.Sections, places, err = symbols.InCubin(c)
	return places, err
}

// recordKernels adds the resources of the kernels in the output.
func recordKernels(r *record.Record, c *cubin.File) error {
	kernels, err := c.Resources()
	for _, k := range kernels {
		row := record.Kernel{Name: k.Kernel, Registers: k.Registers, Stack: k.Stack, Spills: k.Spills,
			Barriers: k.Barriers, Shared: k.Shared, Code: k.Code,
			Textures: k.Images.Textures, Surfaces: k.Images.Surfaces, Samplers: k.Images.Samplers}
		for _, b := range k.Constant {
			if row.Constant == nil {
				row.Constant = map[string]uint64{}
			}
			row.Constant[strconv.Itoa(b.Bank)] = b.Bytes
		}
		r.Kernels = append(r.Kernels, row)
	}
	return err
}
