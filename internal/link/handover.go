package link

import (
	"os"
	"path/filepath"

	"github.com/warpld/warpld/internal/action/local"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/plan"
)

// What warpld doesn't do itself, the toolkit's own nvlink does, unchanged. The
// functions here say what that is; each gives the reason, or nothing.

// handedOverUnread is decided by the command line alone.
func handedOverUnread(o *options.Options) string {
	switch {
	case o.Version:
		return "the version asked for is nvlink's"
	case o.GenHostLinkerScript != "":
		return "scripts for the host linker are made by nvlink"
	case o.Own.Engine == string(plan.Vendor):
		return "--warpld-engine=vendor"
	case !o.LTO:
		return "a link without -dlto is a merge of native code"
	}
	return ""
}

// handedOver is decided by what the inputs hold.
func handedOver(o *options.Options, p *plan.Plan) string {
	if p.Mode == plan.Whole {
		return ""
	}
	last := p.Reasons[len(p.Reasons)-1]
	reason := "the link is " + string(p.Mode) + ": " + last.Rule
	if last.Origin.File != "" {
		reason += " (" + last.Origin.String() + ")"
	}
	return reason
}

// afterCompile is decided by the engine's answer.
func (l *linker) afterCompile(o *engine.Outcome) string {
	switch {
	case l.options.EmitPTX:
		return ""
	case len(o.Shards) > 1:
		return "the split program must be merged"
	case o.Relocatable && !l.options.ForceWhole:
		return "the program is not closed, its missing functions must come from native code"
	}
	return ""
}

// handOver becomes the vendor's nvlink. It returns only if that can't be started.
func (l *linker) handOver(reason string) error {
	nvlink, err := l.toolkit.NeedNVLink()
	if err != nil {
		return err
	}
	l.say("handing over to %s: %s", nvlink, reason)
	args := append([]string{"nvlink"}, l.options.Raw...)
	if l.options.LTO && l.options.NVVMPath == "" && l.toolkit.NVVM.Found() {
		// nvlink wants the directory above lib64, and finds nothing by itself.
		args = append(args, "-nvvmpath="+filepath.Dir(filepath.Dir(l.toolkit.NVVM.Path)))
	}
	return local.Replace(nvlink, args, os.Environ())
}
