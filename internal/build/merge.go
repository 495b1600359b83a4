package build

import (
	"errors"
	"fmt"
	"slices"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/merge"
	"github.com/warpld/warpld/internal/merge/device"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/fatbin"
	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/plan"
)

// merge adds the last step of a link that is not a whole program for ptxas.
func (b *build) merge() {
	steps, own := &b.result.Steps, &b.in.Options.Own
	var after []*action.Step
	for _, a := range slices.Concat(steps.Native, steps.Shards, steps.Optimized) {
		after = append(after, a.step)
	}
	ready := func() {
		b.reportSteps()
		steps.Parts = b.parts()
	}
	if own.Merge == "vendor" || (own.Merge == "auto" && !mergesItself(b.in.Options)) {
		b.mergeByVendor(after, ready, nil)
		return
	}
	read := func(r *action.Result) (m ownMerge, _ error) {
		m.outcome, m.err = merge.ParseOwnResult(mergerView(steps.Parts), r)
		return m, nil
	}
	steps.Merging = b.graph.Add(&action.Step{
		After: after,
		Ready: ready,
		Make: func() (*action.Action, error) {
			record, err := toolRecord(b.in)
			return b.mergeBy(merge.Own(b.in.Self, b.mergeSettings(record))), err
		},
		Handle: action.Handle(read, b.mergedByUs),
	})
}

// An ownMerge is the result of a merge by warpld. An error is part of it, because
// nvlink may do the merge instead.
type ownMerge struct {
	outcome *merge.Outcome
	err     error
}

// mergedByUs ends the link, or falls back to nvlink, if that is allowed. What our merger
// refuses nvlink must refuse, too.
func (b *build) mergedByUs(m ownMerge) error {
	var unknown *merge.NotCovered
	switch {
	case m.err == nil:
		b.merged(m.outcome)
		return nil
	case b.in.Options.Own.Merge == "own" && errors.As(m.err, &unknown):
		return &message.Message{Severity: message.Fatal, ID: "merge-not-covered",
			Text: "warpld's own merger cannot do this link: " + unknown.What,
			Hint: "leave out --warpld-merge=own, and the toolkit's nvlink does it"}
	case b.in.Options.Own.Merge == "own":
		return m.err
	}
	b.in.Verbosef("the toolkit's nvlink merges: %v", m.err)
	b.mergeByVendor(nil, nil, m.err)
	return nil
}

// mergesItself reports whether a link uses our merger if the options don't say which.
// With -r that gives something else than nvlink, so it has to be asked for.
func mergesItself(o *options.Options) bool {
	return device.DefaultFor(gpu.Arch(target(o))) && !o.Relocatable
}

// mergeByVendor lets the toolkit's nvlink merge. Refused is the error of our merger, if
// that was tried before.
func (b *build) mergeByVendor(after []*action.Step, ready func(), refused error) {
	steps := &b.result.Steps
	read := func(r *action.Result) (*merge.Outcome, error) {
		outcome, err := merge.ParseResult(mergerView(steps.Parts), r)
		if err != nil {
			merge.Explain(err, refused)
		}
		return outcome, err
	}
	steps.Merging = b.graph.Add(&action.Step{
		After: after,
		Ready: ready,
		Make: func() (*action.Action, error) {
			nvlink, err := b.in.Toolkit.NeedNVLink()
			if err != nil {
				return nil, err
			}
			settings := b.mergeSettings(cubin.Tool{})
			b.mergeArguments = settings.VendorArguments(b.mergeArguments, mergerView(steps.Parts))
			return b.mergeBy(merge.Vendor(nvlink)), nil
		},
		Handle: action.Handle(read, func(o *merge.Outcome) error {
			b.merged(o)
			return nil
		}),
	})
}

func (b *build) mergeBy(m merge.Merger) *action.Action {
	m.Env, m.Limit, m.FileLimit = b.tools.Env, b.tools.Limit, mergeLimit(b.in.Plan)
	return m.Action(mergerView(b.result.Steps.Parts), b.mergeArguments)
}

// mergeLimit returns the limit for the result of a merge. nvlink believes damaged cubins
// that claim to have gigabytes of code, and writes them.
func mergeLimit(p *plan.Plan) int64 {
	const least, perByte = 256 << 20, 4
	return least + perByte*size(p.IR, p.Bitcode, p.Native)
}

// merged ends the link with the result of a merge.
func (b *build) merged(o *merge.Outcome) {
	for _, m := range o.Said {
		m.PolicyExempt = m.PolicyExempt || b.in.Plan.Assembles
	}
	b.reportAll(&o.Said)
	b.showRemoved(o.Removed)
	if b.in.Options.Own.DedupData {
		b.in.Verbosef("%d bytes of variables are left out that were there twice", o.DedupedBytes)
	}
	b.result.Output, b.result.Registered = o.Cubin, o.Registered
}

// showRemoved shows which functions the merger removed. Of the device runtime a program
// uses few functions, so that the others are only counted.
func (b *build) showRemoved(removed []device.Removal) {
	runtimes := map[string]bool{}
	for _, part := range b.result.Steps.Parts {
		runtimes[part.Merge.Origin] = runtimes[part.Merge.Origin] || part.Merge.Runtime
	}
	unused := 0
	for _, r := range removed {
		if runtimes[r.From] {
			unused++
			continue
		}
		b.in.Verbosef("%s of %s is not in the result: %s", message.Demangle(r.Symbol), r.From, r.Reason)
	}
	if unused > 0 {
		b.in.Verbosef("%d functions of the device runtime are not in the result, because nothing uses them", unused)
	}
}

// mergeSettings returns the options of our merger, which are typed in this process. To be
// correct where nvlink is wrong, and to deduplicate data, gives another result than
// nvlink's, so both have to be asked for.
func (b *build) mergeSettings(record cubin.Tool) merge.Settings {
	o, own := b.in.Options, &b.in.Options.Own
	s := merge.Settings{
		Options: device.Options{
			Arch: gpu.Arch(target(o)), Release: b.in.Toolkit.Version.Release(), Record: record,
			FixNvlinkBugs: (own.Merge == "own" || own.DedupData) && !own.ExactBytes, DedupWeakData: own.DedupData,
			Relocatable: o.Relocatable, Debug: o.Debug, Verbose: o.Verbose,
			KernelsUsed: o.KernelsUsed, VariablesUsed: o.VariablesUsed, IgnoreHostInfo: o.IgnoreHostInfo,
			KnowsReferences: b.knowsReferences(), KeepSystemLibraries: o.KeepSystemLibraries,
			SuppressStackSizeWarning: o.SuppressStackSizeWarning,
		},
		WarningsAsErrors: o.Messages.WarningsAsErrors && !b.in.Plan.Assembles,
		NotCovered:       merge.Uncovered(b.mergeArguments),
	}
	if b.keepsAllKernels {
		s.Options.KernelsUsed, s.Options.VariablesUsed, s.Options.IgnoreHostInfo = nil, nil, true
	}
	return s
}

// knowsReferences reports whether nvlink would know all host references before it merges: it
// has read all inputs then, to optimize the program as a whole.
func (b *build) knowsReferences() bool {
	return b.in.Plan.Mode == plan.Whole && len(b.in.Plan.IR) > 0
}

// toolRecord returns what the output records about the link: the same as nvlink, if the
// output has to be the same in every byte.
func toolRecord(in *Input) (cubin.Tool, error) {
	v := in.Toolkit.Version
	record := cubin.Tool{Name: "warpld", Version: fmt.Sprintf("for CUDA %s", v),
		Options: "-arch " + in.Options.Arch.String() + " "}
	if !in.Options.Own.ExactBytes {
		return record, nil
	}
	record.Output, record.Name = in.Options.RecordedOutput(), "nvlink"
	record.Build, record.Options = in.Toolkit.Build(), in.CommandLine
	record.Version = fmt.Sprintf("Cuda compilation tools, release %d.%d, V%s", v.Major, v.Minor, v)
	if record.Build == "" {
		return record, &message.Message{Severity: message.Fatal, ID: "toolkit-build",
			Text: "the build of the CUDA toolkit is not known, so its record cannot be made",
			Hint: "leave out --warpld-exact-bytes, or give --warpld-merge=vendor"}
	}
	return record, nil
}

// A Part is one part of a merge. Its code is an assembly, or the piece as it is.
type Part struct {
	Merge    merge.Part
	Assembly *Assembly
	Piece    *plan.Piece
}

func mergerView(parts []Part) []merge.Part {
	var list []merge.Part
	for _, p := range parts {
		list = append(list, p.Merge)
	}
	return list
}

func target(o *options.Options) gpu.Arch {
	return o.Arch.Arch
}

// planParts returns the parts of the plan, with the code that the actions before made.
func (b *build) planParts() []Part {
	target, steps := target(b.in.Options), &b.result.Steps
	assembled := b.nativeAssemblies()
	var parts []Part
	for i := range b.in.Plan.Merge {
		m := &b.in.Plan.Merge[i]
		if m.Native != nil {
			parts = append(parts, nativePart(m, assembled[m.Native], target))
			continue
		}
		refs, shards, id := m.Refs, steps.Shards, "_lto"
		if m.LLVM {
			shards, id = steps.Optimized, "_llvm"
		}
		for _, shard := range shards {
			parts = append(parts, Part{Assembly: shard, Merge: merge.Part{Origin: m.Origin().String(),
				Form: merge.Carried, ID: id, Refs: refs, Code: stored(shard.Cubin, target), Cubin: shard.Cubin.Read}})
			if refs != nil {
				refs = &hostelf.HostRefs{} // the first shard has those of all
			}
		}
	}
	return parts
}

// nativeAssemblies returns the assemblies of native code that came as PTX.
func (b *build) nativeAssemblies() map[*plan.Piece]*Assembly {
	assembled := map[*plan.Piece]*Assembly{}
	for _, a := range b.result.Steps.Native {
		assembled[a.Piece] = a
	}
	return assembled
}

// nativePart returns the part for native code: in the kind of file that it came in,
// because that decides what nvlink expects of its host references. Code that came
// as PTX has an assembly.
func nativePart(m *plan.MergePart, a *Assembly, target gpu.Arch) Part {
	obj := m.Native.Object
	p := Part{Piece: m.Native, Assembly: a, Merge: merge.Part{
		Origin: m.Origin().String(), Form: merge.Carried, ID: obj.RegisterID, Refs: m.Refs,
		Runtime: plan.IsDeviceRuntime(obj), Code: m.Native.Module.Container, Cubin: m.Native.Module.Data,
	}}
	if a != nil {
		p.Merge.Code, p.Merge.Cubin = stored(a.Cubin, target), a.Cubin.Read
	}
	switch obj.Kind {
	case object.PTXFile:
		p.Merge.Form, p.Merge.Code = merge.Cubin, a.Cubin.Read
	case object.Cubin:
		p.Merge.Form = merge.Cubin
	case object.Fatbin:
		p.Merge.Form = merge.Fatbin
	}
	return p
}

// stored returns a function that puts a cubin of ours into a fat binary.
func stored(cubin action.Content, a gpu.Arch) func() ([]byte, error) {
	return func() ([]byte, error) {
		data, err := cubin.Read()
		if err != nil {
			return nil, err
		}
		return fatbin.Stored(data, a), nil
	}
}
