package link

import (
	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/merge"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/object/fatbin"
	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/internal/plan"
)

// merge adds the last step of a link that is not a whole program for ptxas.
func (b *build) merge() {
	assemblies := append(append([]*assembly(nil), b.native...), b.shards...)
	var parts []merge.Part
	var after []*action.Step
	for _, a := range assemblies {
		after = append(after, a.step)
	}
	b.graph.Add(&action.Step{
		After: after,
		Make: func() (*action.Action, error) {
			b.reportAll(assemblies...)
			nvlink, err := b.toolkit.NeedNVLink()
			parts = b.mergeParts()
			tool := merge.Tool{NVLink: nvlink, Env: b.tools.Env, Limit: b.tools.Limit}
			return merge.Action(tool, parts, b.plan.MergeArguments), err
		},
		Done: func(r *action.Result) error {
			outcome, err := merge.Judge(parts, r)
			if err != nil {
				return err
			}
			for _, m := range outcome.Said {
				b.log.Report(m)
			}
			b.output, b.registered = outcome.Cubin, outcome.Registered
			return nil
		},
	})
}

// mergeParts are the plan's, with the code that the actions before made.
func (b *build) mergeParts() []merge.Part {
	target := object.Arch{Number: b.options.Arch.Number, Suffix: b.options.Arch.Suffix}
	var parts []merge.Part
	for i := range b.plan.Merge {
		m := &b.plan.Merge[i]
		if m.Native != nil {
			parts = append(parts, b.nativePart(m, target))
			continue
		}
		refs := m.Refs
		for _, shard := range b.shards {
			parts = append(parts, merge.Part{Origin: plan.LTOName, Form: merge.Carried, ID: "_lto", Refs: refs,
				Code: stored(shard.cubin, target)})
			if refs != nil {
				refs = &hostelf.HostRefs{} // the first shard speaks for all
			}
		}
	}
	return parts
}

// nativePart is the part for native code: in the kind of file that it came in,
// because that decides what nvlink expects of its host references.
func (b *build) nativePart(m *plan.MergePart, target object.Arch) merge.Part {
	obj := m.Native.Object
	p := merge.Part{Origin: m.Origin().String(), Form: merge.Carried, ID: obj.RegisterID,
		Runtime: plan.IsDeviceRuntime(obj), Code: m.Native.Module.Container}
	if m.Refs != nil && m.Refs.Known() {
		p.Refs = m.Refs
	}
	for _, a := range b.native {
		if a.piece == m.Native {
			p.Code = stored(a.cubin, target)
		}
	}
	switch obj.Kind {
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
