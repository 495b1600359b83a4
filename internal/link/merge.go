package link

import (
	"cmp"
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
	"github.com/warpld/warpld/internal/plan"
)

// merge adds the last step of a link that is not a whole program for ptxas.
func (b *build) merge() {
	assemblies := slices.Concat(b.native, b.shards, b.optimized)
	var after []*action.Step
	for _, a := range assemblies {
		after = append(after, a.step)
	}
	prepare := func() {
		b.reportSteps()
		b.parts = b.mergeParts()
	}
	if b.options.Own.Merge == "vendor" || b.options.Own.Merge == "auto" && !b.mergesItself() {
		b.mergeByVendor(after, prepare, nil)
		return
	}
	b.merging = b.graph.Add(&action.Step{
		After: after,
		Ready: prepare,
		Make: func() (*action.Action, error) {
			record, err := b.toolRecord()
			return b.runBy(merge.Own(b.Self, b.release().Number(), record, b.mergerOptions()...)), err
		},
		Handle: action.Handle(func(r *action.Result) (m merging, _ error) {
			m.outcome, m.err = merge.ParseOwnResult(mergerView(b.parts), r)
			return m, nil
		}, func(m merging) error {
			err := m.err
			var unknown *merge.NotCovered
			switch {
			case err == nil:
				b.merged(m.outcome)
				return nil
			case b.options.Own.Merge == "own" && errors.As(err, &unknown):
				return &message.Message{Severity: message.Fatal, ID: "merge-not-covered", Text: "warpld's own merger cannot do this link: " + unknown.What,
					Hint: "leave out --warpld-merge=own, and the toolkit's nvlink does it"}
			case b.options.Own.Merge == "own":
				return err
			}
			// What ours refuses the toolkit's must refuse, too.
			b.say("the toolkit's nvlink merges: %v", err)
			b.mergeByVendor(nil, nil, err)
			return nil
		}),
	})
}

// A merging is what a merge by warpld gave: nvlink may do what it did not.
type merging struct {
	outcome *merge.Outcome
	err     error
}

// mergesItself says whether a link that is not told otherwise merges with our merger.
// With -r that gives something else than nvlink, so it has to be asked for.
func (b *build) mergesItself() bool {
	return device.DefaultFor(gpu.Arch(b.target())) && !b.options.Relocatable
}

// mergeByVendor lets the toolkit's nvlink merge, after ours has refused to, if it did.
func (b *build) mergeByVendor(after []*action.Step, prepare func(), refused error) {
	b.merging = b.graph.Add(&action.Step{
		After: after,
		Ready: prepare,
		Make: func() (*action.Action, error) {
			nvlink, err := b.toolkit.NeedNVLink()
			return b.runBy(merge.Vendor(nvlink)), err
		},
		Handle: action.Handle(func(r *action.Result) (*merge.Outcome, error) {
			outcome, err := merge.ParseResult(mergerView(b.parts), r)
			if err != nil {
				merge.Explain(err, refused)
			}
			return outcome, err
		}, func(o *merge.Outcome) error {
			b.merged(o)
			return nil
		}),
	})
}

func (b *build) runBy(m merge.Merger) *action.Action {
	m.Env, m.Limit, m.FileLimit = b.tools.Env, b.tools.Limit, b.mergeLimit()
	return m.Action(mergerView(b.parts), b.mergeArguments())
}

// mergeLimit is for the result of a merge. nvlink believes damaged cubins that claim to
// have gigabytes of code, and writes them.
func (b *build) mergeLimit() int64 {
	const least, perByte = 256 << 20, 4
	return least + perByte*size(b.plan.IR, b.plan.Bitcode, b.plan.Native)
}

// merged ends the link with the result of a merge.
func (b *build) merged(o *merge.Outcome) {
	for _, m := range o.Said {
		m.PolicyExempt = m.PolicyExempt || b.plan.Assembles
	}
	b.reportAll(&o.Said)
	for _, r := range o.Removed {
		b.say("%s of %s is not in the result: %s", message.Demangle(r.Symbol), r.From, r.Reason)
	}
	if b.options.Own.DedupData {
		b.say("%d bytes of variables are left out that were there twice", o.LeftOut)
	}
	b.output, b.registered = o.Cubin, o.Registered
}

// mergerOptions are what our merger is told beside nvlink's options: to make right what
// nvlink breaks, and to leave out what is there twice. That is another result than
// nvlink's, so it has to be asked for.
func (b *build) mergerOptions() (options []string) {
	own := &b.options.Own
	if (own.Merge == "own" || own.DedupData) && !own.ExactBytes {
		options = append(options, merge.MendOption)
	}
	if own.DedupData {
		options = append(options, merge.OnceOption)
	}
	return options
}

// toolRecord is what the result says of the link: that of nvlink, if the result has to
// be the same in every byte.
func (b *build) toolRecord() (cubin.Tool, error) {
	v := b.toolkit.Version
	record := cubin.Tool{Name: "warpld", Version: fmt.Sprintf("for CUDA %s", v), Options: "-arch " + b.options.Arch.String() + " "}
	if !b.options.Own.ExactBytes {
		return record, nil
	}
	record.Output, record.Name, record.Build, record.Options = b.options.RecordedOutput(), "nvlink", b.toolkit.Build(), b.commandLine()
	record.Version = fmt.Sprintf("Cuda compilation tools, release %d.%d, V%s", v.Major, v.Minor, v)
	if record.Build == "" {
		return record, &message.Message{Severity: message.Fatal, ID: "toolkit-build", Text: "the build of the CUDA toolkit is not known, so its record cannot be made",
			Hint: "leave out --warpld-exact-bytes, or give --warpld-merge=vendor"}
	}
	return record, nil
}

// commandLine is the one that nvlink would record.
func (l *linker) commandLine() string { return cmp.Or(l.Recorded, l.options.Record()) }

// A part is one of a merge, and what its code is: a cubin of ours, or the piece
// as it is.
type part struct {
	merge.Part
	assembled *assembly
	piece     *plan.Piece
}

func mergerView(parts []part) []merge.Part {
	var list []merge.Part
	for _, p := range parts {
		list = append(list, p.Part)
	}
	return list
}

func (b *build) target() object.Arch {
	return b.options.Arch.Arch
}

// mergeParts are the plan's, with the code that the actions before made.
func (b *build) mergeParts() []part {
	target := b.target()
	if b.sliced != nil {
		return b.slicedParts(target)
	}
	assembled := b.nativeAssemblies()
	var parts []part
	for i := range b.plan.Merge {
		m := &b.plan.Merge[i]
		if m.Native != nil {
			parts = append(parts, nativePart(m, assembled[m.Native], target))
			continue
		}
		refs, shards, id := m.Refs, b.shards, "_lto"
		if m.LLVM {
			shards, id = b.optimized, "_llvm"
		}
		for _, shard := range shards {
			parts = append(parts, part{assembled: shard, Part: merge.Part{Origin: m.Origin().String(), Form: merge.Carried, ID: id, Refs: refs,
				Code: stored(shard.cubin, target), Cubin: shard.cubin.Read}})
			if refs != nil {
				refs = &hostelf.HostRefs{} // the first shard speaks for all
			}
		}
	}
	return parts
}

// nativeAssemblies finds the assembly of native code that came as PTX.
func (b *build) nativeAssemblies() map[*plan.Piece]*assembly {
	assembled := map[*plan.Piece]*assembly{}
	for _, a := range b.native {
		assembled[a.piece] = a
	}
	return assembled
}

// nativePart is the part for native code: in the kind of file that it came in,
// because that decides what nvlink expects of its host references. Code that came
// as PTX has an assembly.
func nativePart(m *plan.MergePart, a *assembly, target object.Arch) part {
	obj := m.Native.Object
	p := part{piece: m.Native, Part: merge.Part{Origin: m.Origin().String(), Form: merge.Carried, ID: obj.RegisterID,
		Refs: m.Refs, Runtime: plan.IsDeviceRuntime(obj), Code: m.Native.Module.Container, Cubin: m.Native.Module.Data}}
	if a != nil {
		p.assembled, p.Code, p.Cubin = a, stored(a.cubin, target), a.cubin.Read
	}
	switch obj.Kind {
	case object.PTXFile:
		p.Form, p.Code = merge.Cubin, a.cubin.Read
	case object.Cubin:
		p.Form = merge.Cubin
	case object.Fatbin:
		p.Form = merge.Fatbin
	}
	return p
}

// stored puts a cubin of ours into a fat binary.
func stored(cubin action.Content, a object.Arch) func() ([]byte, error) {
	return func() ([]byte, error) {
		data, err := cubin.Read()
		if err != nil {
			return nil, err
		}
		return fatbin.Stored(data, a), nil
	}
}
