package plan

import (
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/message"
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
		p.Engine, p.EngineReason = JITLink, "the LTO-IR of "+p.IR[unreadable].Object.Origin.String()+" is compressed, which libnvvm cannot read"
	default:
		p.Engine, p.EngineReason = NVVM, "all LTO-IR can be read"
	}
}

// EngineOptions is the option vector in the engine's own form. nvJitLink sets the
// architecture and -link-lto itself and passes the rest on to its libnvvm.
func (p *Plan) EngineOptions() []string {
	if p.Engine != JITLink {
		return p.Compile
	}
	target := p.Assemble[slices.Index(p.Assemble, "-arch")+1]
	vector := []string{"-arch=" + target, "-lto", "-ptx", "-no-cache"}
	for _, option := range p.Compile {
		if !strings.HasPrefix(option, "-arch=") && option != "-link-lto" {
			vector = append(vector, "-Xnvvm="+option)
		}
	}
	return vector
}

// registerIDs lists the objects whose device code is in the result. A whole link
// leaves the device runtime out, and nvlink lists the rest from last to first.
func registerIDs(p *Plan, c *choice) []string {
	var ids []string
	for _, obj := range c.registered {
		if p.Mode != Whole || !isDeviceRuntime(obj) {
			ids = append(ids, obj.RegisterID)
		}
	}
	if p.Mode == Whole {
		slices.Reverse(ids)
	}
	return ids
}
