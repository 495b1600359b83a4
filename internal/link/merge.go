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
	var after []*action.Step
	for _, a := range assemblies {
		after = append(after, a.step)
	}
	b.graph.Add(&action.Step{
		After: after,
		Make: func() (*action.Action, error) {
			b.reportAll(assemblies...)
			nvlink, err := b.toolkit.NeedNVLink()
			b.parts = b.mergeParts()
			tool := merge.Tool{NVLink: nvlink, Env: b.tools.Env, Limit: b.tools.Limit}
			b.merging = merge.Action(tool, mergerView(b.parts), b.mergeArguments())
			return b.merging, err
		},
		Done: func(r *action.Result) error {
			outcome, err := merge.Judge(mergerView(b.parts), r)
			if err != nil {
				return err
			}
			for _, m := range outcome.Said {
				b.report(m)
			}
			b.output, b.registered = outcome.Cubin, outcome.Registered
			return nil
		},
	})
}

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

// mergeParts are the plan's, with the code that the actions before made.
func (b *build) mergeParts() []part {
	target := object.Arch{Number: b.options.Arch.Number, Suffix: b.options.Arch.Suffix}
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
		refs := m.Refs
		for _, shard := range b.shards {
			parts = append(parts, part{assembled: shard, Part: merge.Part{Origin: plan.LTOName, Form: merge.Carried, ID: "_lto", Refs: refs,
				Code: stored(shard.cubin, target)}})
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
		Refs: m.Refs, Runtime: plan.IsDeviceRuntime(obj), Code: m.Native.Module.Container}}
	if a != nil {
		p.assembled, p.Code = a, stored(a.cubin, target)
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
