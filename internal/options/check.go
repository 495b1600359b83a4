package options

import (
	"fmt"
	"strconv"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/pattern"
)

// Check makes the checks that nvlink makes on options alone, in nvlink's
// order, except that -nvvmpath may be missing: warpld finds libnvvm itself.
func (o *Options) Check(report func(*message.Message)) error {
	if o.GenHostLinkerScript != "" {
		if len(o.Inputs) > 0 {
			return fatal("inputs-with-script", "Input files are not allowed with -ghls option; use --help for more information")
		}
		return nil // nvlink looks at nothing else then
	}
	if err := o.checkFiles(); err != nil {
		return err
	}
	if o.SuppressDebugInfo && !o.Debug {
		return conflict("-suppress-debug-info", "no -g")
	}
	if o.UseHostInfo && o.IgnoreHostInfo {
		return conflict("-use-host-info", "-ignore-host-info")
	}
	if o.UseHostInfo && len(o.KernelsUsed)+len(o.VariablesUsed) > 0 {
		report(incompatible("ignore -use-host-info because -kernels-used or -variables-used is specified"))
	}
	if o.Arch.Kind == LTO {
		m := fatal("virtual-arch", "Link target of '%s' is virtual target that is not JIT-able; use 'sm_' target instead",
			o.Arch)
		m.Hint = fmt.Sprintf("write -arch=%s", o.Arch.As(SM))
		return m
	}
	if err := o.checkLTO(report); err != nil {
		return err
	}
	return o.checkAPIVersion()
}

// checkFiles looks for what every link must be given. A virtual target is
// allowed to have no output file where nvlink writes none.
func (o *Options) checkFiles() error {
	needsOutput := o.Arch.Kind == SM || (o.Arch.Kind == Compute && o.LTO)
	switch {
	case o.Arch == Target{}:
		m := fatal("no-arch", "Unknown arch name '(null)'")
		m.Hint = "name the target, such as -arch=sm_90"
		return m
	case needsOutput && !o.given["output-file"]:
		return fatal("no-output", "Must specify output file with -o option")
	case len(o.Inputs) == 0:
		return fatal("no-inputs", "No input files specified; use option --help for more information")
	}
	return nil
}

// checkLTO checks the options that need link-time optimization.
func (o *Options) checkLTO(report func(*message.Message)) error {
	if !o.LTO {
		switch without := "no -dlto"; {
		case o.ForcePartial:
			return conflict("-force-partial-lto", without)
		case o.ForceWhole:
			return conflict("-force-whole-lto", without)
		case o.EmitPTX:
			return conflict("-emit-ptx", without)
		case o.given["Ofast-compile"]:
			return conflict("--Ofast-compile", without)
		}
		return nil
	}
	if (o.ForcePartial || o.Relocatable) && o.ForceWhole {
		return conflict("-force-partial-lto", "-force-whole-lto")
	}
	if o.EmitPTX && o.SplitCompileExtended != 1 {
		report(incompatible("Incompatible options '-emit-ptx' and '-split-compile-extended', using '-split-compile'"))
	}
	switch o.FastCompile {
	case "0", "min", "mid", "max":
		return nil
	}
	if o.given["Ofast-compile"] {
		return fatal("option-value", "Invalid argument for option '--Ofast-compile'")
	}
	return nil
}

// apiVersion matches what scanf accepts as two numbers with a dot between them.
var apiVersion = pattern.Lazy(`^\s*\+?0*(-?\d+)\.\s*[-+]?\d+\s*$`)

func (o *Options) checkAPIVersion() error {
	if !o.given["cuda-api-version"] {
		return nil
	}
	version := apiVersion().FindStringSubmatch(o.CUDAAPIVersion)
	if version == nil {
		return fatal("option-value", "--cuda-api-version value cannot be parsed")
	}
	if version[1] != strconv.Itoa(gpu.ToolkitMajor) {
		return fatal("option-value", "--cuda-api-version major number must be == toolkit version")
	}
	return nil
}

// CheckCompile makes the checks on options that nvlink makes when it is about
// to compile LTO-IR, which is after the inputs were read.
func (o *Options) CheckCompile(report func(*message.Message)) error {
	if o.SplitCompile != 1 && o.SplitCompileExtended != 1 && !o.EmitPTX {
		report(TwoSplits())
	}
	if o.strayXnvvm != nil {
		m := fatal("stray-character", "%v", o.strayXnvvm)
		m.Notes = []string{"in the value of option 'Xnvvm'"}
		return m
	}
	return nil
}

// TwoSplits is for a link that is to be split in both ways.
func TwoSplits() *message.Message {
	return incompatible(
		"Incompatible options '-split-compile' and '-split-compile-extended', using '-split-compile-extended'")
}

func conflict(a, b string) error {
	return fatal("option-conflict", "Conflicting options '%s' and '%s'", a, b)
}

func incompatible(text string) *message.Message {
	return &message.Message{Severity: message.Info, ID: "option-conflict", Text: text}
}
