package link

import (
	"os"
	"path/filepath"

	"github.com/warpld/warpld/internal/action/local"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/plan"
)

// handedOver says why a link is left to the toolkit's own nvlink, unchanged; empty:
// it is not. The command line alone decides.
func handedOver(o *options.Options) string {
	switch {
	case o.Version:
		return "the version asked for is nvlink's"
	case o.GenHostLinkerScript != "":
		return "scripts for the host linker are made by nvlink"
	case o.Own.Engine == string(plan.Vendor):
		return "--warpld-engine=vendor"
	case o.DotFile != "" || o.UIDXFile != "":
		return "-dot-file and -uidx name files that only nvlink understands"
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
