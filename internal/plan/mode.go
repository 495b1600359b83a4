package plan

import (
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/options"
)

// decideMode says how the link goes. Only native code and the command line force a
// partial link; whether a whole one succeeds, the engine knows.
func (p *Plan) decideMode(o *options.Options, c *choice) {
	switch {
	case o.Relocatable:
		p.Mode = Relocatable
		p.because("-r asks for a result that can be linked again", message.Origin{})
	case o.ForcePartial:
		p.Mode = Partial
		p.because("-force-partial-lto was given", message.Origin{})
	case c.forcePartial:
		p.Mode = Partial
	case len(p.IR) == 0:
		p.Mode = Whole
		p.because("all code that takes part is LLVM bitcode", message.Origin{})
	default:
		p.Mode = Whole
		p.because("all code that takes part is LTO-IR", message.Origin{})
	}
}

// An Engine is one way from LTO-IR to PTX.
type Engine string

const (
	NVVM    Engine = "nvvm"    // libnvvm
	JITLink Engine = "jitlink" // nvJitLink
	Bitcode Engine = "llvm"    // libLLVM, for bitcode and nothing else
	Vendor  Engine = "vendor"  // the toolkit's nvlink, for the whole link
)

// chooseEngine takes libnvvm for IR that can be read, and nvJitLink for IR in the
// compressed form that only NVIDIA's tools can open.
func (p *Plan) chooseEngine(o *options.Options) {
	unreadable := slices.IndexFunc(p.IR, func(piece Piece) bool { return piece.Module.Obfuscated })
	switch {
	case o.Own.Engine != "" && o.Own.Engine != "auto":
		p.Engine, p.EngineReason = Engine(o.Own.Engine), "--warpld-engine"
	case unreadable >= 0:
		p.Engine = JITLink
		p.EngineReason = "the LTO-IR of " + p.IR[unreadable].Object.Origin.String() +
			" is compressed, which libnvvm cannot read"
	default:
		p.Engine, p.EngineReason = NVVM, "all LTO-IR can be read"
	}
}

// EngineOptions returns a vector of libnvvm's options, such as Compile, in the form of
// the plan's engine. nvJitLink sets the architecture and -link-lto itself and passes
// the rest on to its libnvvm.
func (p *Plan) EngineOptions(compile []string) []string {
	if p.Engine != JITLink {
		return compile
	}
	target := p.Assemble[slices.Index(p.Assemble, "-arch")+1]
	vector := []string{"-arch=" + target, "-lto", "-ptx", "-no-cache"}
	for _, option := range compile {
		if !strings.HasPrefix(option, "-arch=") && option != "-link-lto" {
			vector = append(vector, "-Xnvvm="+option)
		}
	}
	return vector
}

// A Registered is an object that the host program registers, if its device code is
// in the result; of the device runtime only the merger knows.
type Registered struct {
	ID      string
	Runtime bool
}

// registration lists the objects in link order. What an earlier device link has
// registered already is left out, unless it is optimized here anew; so is bare IR. A whole link
// takes nothing of the device runtime, which -keep-system-libraries lists all the
// same, and nvlink lists it from last to first.
func registration(o *options.Options, p *Plan, c *choice) []Registered {
	isIR := map[*object.Object]bool{}
	for _, piece := range p.IR {
		isIR[piece.Object] = true
	}
	var list []Registered
	for _, obj := range c.registered {
		if (isIR[obj] && obj.Kind != object.HostObject) || (c.linkedBefore[obj.RegisterID] && !isIR[obj]) {
			continue
		}
		list = append(list, Registered{obj.RegisterID, IsDeviceRuntime(obj) && !o.KeepSystemLibraries})
	}
	return list
}

// RegisterIDs returns the ids for the registration file of a whole link, or of one whose
// merger linked the given ones.
func (p *Plan) RegisterIDs(whole bool, merged []string) []string {
	var ids []string
	for _, r := range p.Register {
		if !r.Runtime || (!whole && slices.Contains(merged, r.ID)) {
			ids = append(ids, r.ID)
		}
	}
	if whole {
		slices.Reverse(ids)
	}
	return ids
}
