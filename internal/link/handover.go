package link

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/warpld/warpld/internal/action/local"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/plan"
)

// handedOver returns why a link is left to the toolkit's own nvlink, or "" if it is not.
// The command line alone decides.
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

// showsSteps reports whether a link is left to nvlink because -v2 asks for lines about each
// step of LTO, for which nvlink has an interface of libnvvm of its own. nvlink can't link
// bitcode, and where there is no nvlink the lines are not worth a failure.
func (l *linker) showsSteps() bool {
	if !l.options.Verbose2 || !l.options.LTO {
		return false
	}
	if _, err := l.toolkit.NeedNVLink(); err != nil {
		return false
	}
	objects, err := object.ReadAll(l.inputs(), func(*message.Message) {})
	return err == nil && !slices.ContainsFunc(objects, (*object.Object).HasBitcode)
}

// handOver becomes the vendor's nvlink. It returns only if that can't be started.
func (l *linker) handOver(reason string) error {
	nvlink, err := l.toolkit.NeedNVLink()
	if err != nil {
		return err
	}
	l.journal.Verbosef("handing over to %s: %s", nvlink, reason)
	if l.options.Own.VerboseKeep {
		l.journal.Infof("nothing is kept of a link that nvlink does: %s", reason)
	}
	if l.journal.Recorded() {
		l.journal.Infof("there is no record of a link that nvlink does: %s", reason)
	}
	args := append([]string{"nvlink"}, l.options.Raw...)
	if l.options.LTO && l.options.NVVMPath == "" {
		args = append(args, "-nvvmpath="+l.nvvmDirectory())
	}
	return local.Exec(nvlink, args, os.Environ())
}

// nvvmDirectory returns the value of -nvvmpath for nvlink: the directory above the lib64
// that has libnvvm.so under that name. It finds nothing by itself.
func (l *linker) nvvmDirectory() string {
	dir := filepath.Join(l.toolkit.Root, "nvvm")
	if _, err := os.Stat(filepath.Join(dir, "lib64", "libnvvm.so")); err != nil && l.toolkit.NVVM.Found() {
		dir = filepath.Dir(filepath.Dir(l.toolkit.NVVM.Path))
	}
	return dir
}
