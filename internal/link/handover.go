package link

import (
	"fmt"
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

// unproven returns why a link with a release of CUDA that warpld was not tested with is left
// to nvlink, or "" if it is not. It reports once that the release is not known. Releases
// differ in how they treat what is named here, and in how they merge cubins, which the merger
// refuses by itself. Where nvlink is missing, or the user chose an engine, the rules of the
// last release are used.
func (l *linker) unproven() string {
	release := l.release()
	if !release.Known() || release.Measured() {
		return ""
	}
	l.journal.Report(&message.Message{Severity: message.Info, Extra: true, ID: "release-unknown",
		Text: fmt.Sprintf("this warpld was not tested with CUDA %s; what releases differ in is left to its nvlink", release),
		Hint: "look for a newer warpld; -disable-infos hides this note"})
	o := l.options
	if _, err := l.toolkit.NeedNVLink(); err != nil || (o.Own.Engine != "" && o.Own.Engine != "auto") {
		return ""
	}
	objects, err := object.ReadAll(l.inputs(), func(*message.Message) {})
	suffixed := func(m object.Module) bool { return m.Arch.SameNumber(o.Arch.Arch) && m.Arch.HasSuffix() }
	switch {
	case slices.ContainsFunc(objects, (*object.Object).HasBitcode): // nvlink can't link it
		return ""
	case o.Arch.HasSuffix():
		return fmt.Sprintf("how CUDA %s treats the suffix of %s is not known", release, o.Arch)
	case o.LTO && o.Given("split-compile"):
		return fmt.Sprintf("how CUDA %s treats -split-compile is not known", release)
	case err != nil:
		return fmt.Sprintf("what CUDA %s makes of inputs that can't be read is not known", release)
	case slices.ContainsFunc(objects, func(o *object.Object) bool { return slices.ContainsFunc(o.Modules, suffixed) }):
		return fmt.Sprintf("whether CUDA %s takes code with a suffix for %s is not known", release, o.Arch)
	}
	return ""
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
