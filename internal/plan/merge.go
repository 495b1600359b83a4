package plan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/internal/options"
)

// LTOName is what nvlink calls the optimized part of a link in its messages, and
// LLVMName the part that LLVM has optimized.
const (
	LTOName  = "lto.cubin"
	LLVMName = "llvm.cubin"
)

// A MergePart is one part of a merge: native code, or an optimized part.
type MergePart struct {
	// Native is nil for an optimized part. LLVM: that is the one of LLVM.
	Native *Piece
	LLVM   bool
	// Refs are the host references that the part brings, or nil if they are unknown.
	Refs *object.HostRefs
}

// planMerge lists what is merged if the link comes to that, in link order.
func (p *Plan) planMerge(in Input, chosen *choice) {
	native := map[*object.Object]*Piece{}
	for i := range p.Native {
		native[p.Native[i].Object] = &p.Native[i]
	}
	slot, lastBitcode, beside := p.placeOfIR(chosen), lastObject(p.Bitcode), referencesBeside(chosen, native)
	for _, obj := range in.Objects {
		part := MergePart{Native: native[obj], Refs: obj.HostRefs}
		switch {
		case obj == slot:
			part = MergePart{Refs: beside}
		case obj == lastBitcode:
			part = MergePart{Refs: beside, LLVM: true}
		case part.Native == nil:
			continue
		case slot == nil && lastBitcode == nil && part.Refs != nil && beside != nil:
			// The first part brings the references of those that are not merged.
			part.Refs, beside = join(part.Refs, beside), &object.HostRefs{}
		}
		if chosen.silent {
			part.Refs = nil
		}
		p.Merge = append(p.Merge, part)
	}
	p.runtimeAfterIR()
	p.Assembles = chosen.assembled || len(p.IR) > 0
	p.MergeArguments = mergeArguments(in.Options, p.Assembles)
}

func lastObject(pieces []Piece) *object.Object {
	if len(pieces) == 0 {
		return nil
	}
	return pieces[len(pieces)-1].Object
}

// placeOfIR is the object in whose place the optimized part stands: the last host
// object that has IR or no code for the target. Where nvlink has none of these
// it loses bare IR; here that stands in its own place.
func (p *Plan) placeOfIR(chosen *choice) *object.Object {
	if len(p.IR) == 0 {
		return nil
	}
	others := map[*object.Object]bool{}
	for _, piece := range slices.Concat(p.Native, p.Bitcode) {
		others[piece.Object] = true
	}
	for _, obj := range slices.Backward(chosen.host) {
		if !others[obj] {
			return obj
		}
	}
	return lastObject(p.IR)
}

// runtimeAfterIR puts the device runtime behind the optimized part, without which
// nvlink refuses the merge.
func (p *Plan) runtimeAfterIR() {
	isRuntime := func(m MergePart) bool { return m.Native != nil && IsDeviceRuntime(m.Native.Object) }
	runtime := slices.IndexFunc(p.Merge, isRuntime)
	optimized := slices.IndexFunc(p.Merge, func(m MergePart) bool { return m.Native == nil })
	if runtime >= 0 && optimized > runtime {
		part := p.Merge[runtime]
		p.Merge = append(slices.Delete(p.Merge, runtime, runtime+1), part)
	}
}

// referencesBeside joins the host references of all host objects that bring no
// native code: those with IR or bitcode, and those without code for the target, whose host
// code may launch kernels of others. Bare IR has no host code and adds none.
func referencesBeside(chosen *choice, native map[*object.Object]*Piece) *object.HostRefs {
	joined := &object.HostRefs{}
	for _, obj := range chosen.host {
		if native[obj] != nil {
			continue
		}
		if obj.HostRefs == nil {
			return nil
		}
		joined = join(joined, obj.HostRefs)
	}
	return joined
}

// join is all that either refers to.
func join(a, b *object.HostRefs) *object.HostRefs {
	both := func(a, b hostelf.Refs) hostelf.Refs {
		return hostelf.Refs{External: slices.Concat(a.External, b.External), Internal: slices.Concat(a.Internal, b.Internal)}
	}
	return &object.HostRefs{Kernels: both(a.Kernels, b.Kernels), Devices: both(a.Devices, b.Devices),
		Constants: both(a.Constants, b.Constants)}
}

// mergeArguments are the options of the link that matter to the merger.
func mergeArguments(o *options.Options, assembled bool) []string {
	args := []string{"-arch=" + o.Arch.As(options.SM), "-m64"}
	for _, flag := range []struct {
		given bool
		name  string
	}{
		{o.Relocatable, "-r"}, {o.Debug, "-g"}, {o.SuppressDebugInfo, "-suppress-debug-info"},
		{o.Verbose, "-v"}, {o.DumpCallgraph, "-dump-callgraph"}, {o.DumpCallgraphNoDemangle, "-dump-callgraph-no-demangle"},
		{o.IgnoreHostInfo, "-ignore-host-info"}, {o.KeepSystemLibraries, "-keep-system-libraries"},
		{o.PreserveRelocs, "-preserve-relocs"}, {o.ExtraWarnings, "-extrawarn"},
		{o.SuppressStackSizeWarning, "-suppress-stack-size-warning"},
		{o.Messages.WarningsAsErrors && !assembled, "-Werror"}, {o.Messages.NoInfos && !assembled, "-disable-infos"},
		{o.ForceRela, "--force-rela"}, {o.ReserveNullPointer, "--reserve-null-pointer"},
		{o.AllowUndefinedGlobals, "--allow-undefined-globals"}, {o.Shared, "--shared"},
		{o.UUMN, "--uumn"}, {o.ToolsPatch, "--link-as-tools-patch"},
	} {
		if flag.given {
			args = append(args, flag.name)
		}
	}
	for _, list := range []struct {
		name   string
		values []string
	}{{"-kernels-used", o.KernelsUsed}, {"-variables-used", o.VariablesUsed}} {
		if len(list.values) > 0 {
			args = append(args, list.name+"="+strings.Join(list.values, ","))
		}
	}
	for _, value := range []struct {
		name string
		is   *bool
	}{{"--verbose-tkinfo", o.VerboseTkinfo}, {"--enable-extended-smem", o.EnableExtendedSmem},
		{"--disable-smem-reservation", o.DisableSmemReservation}} {
		if value.is != nil {
			args = append(args, value.name+"="+strconv.FormatBool(*value.is))
		}
	}
	if o.SyscallConstOffset != nil {
		args = append(args, "--syscall-const-offset="+strconv.Itoa(*o.SyscallConstOffset))
	}
	if o.CUDAAPIVersion != "" {
		args = append(args, "--cuda-api-version="+o.CUDAAPIVersion)
	}
	return args
}

// Origin is what messages call the part.
func (m *MergePart) Origin() message.Origin {
	if m.LLVM {
		return message.Origin{File: LLVMName}
	}
	if m.Native == nil {
		return message.Origin{File: LTOName}
	}
	return m.Native.Object.Origin
}
