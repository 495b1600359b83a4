package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/warpld/warpld/internal/options"
)

// split returns the numbers of threads for -split-compile and its extended form. The
// objects override the command line's value of the former.
func split(o *options.Options, agreed *Agreed) (plain, extended int) {
	plain, extended = o.SplitCompile, o.SplitCompileExtended
	if o.EmitPTX && extended != 1 {
		if plain == 1 {
			plain = extended
		}
		extended = 1
	}
	return agreed.SplitCompile.or(plain), extended
}

// maxRegisters returns the limit for all kernels, or zero.
func maxRegisters(o *options.Options, agreed *Agreed) int {
	if o.MaxRegCount != nil && *o.MaxRegCount > 0 {
		return *o.MaxRegCount
	}
	return max(agreed.MaxReg.or(0), 0)
}

// compileOptions returns the vector that nvlink passes to nvvmCompileProgram: absent
// options leave no gap, and the order is fixed.
func compileOptions(in Input, p *Plan, chosen *choice) []string {
	o, agreed := in.Options, &p.Agreed
	target := o.Arch
	target.Arch = in.Release.Rules().Compiled(target.Arch)
	vector := []string{"-arch=" + target.As(options.Compute), "-link-lto"}
	add := func(when bool, option string) {
		if when {
			vector = append(vector, option)
		}
	}
	plain, extended := split(o, agreed)
	add(extended != 1, fmt.Sprintf("-split-compile-extended=%d", extended))
	add(extended == 1 && plain != 1, fmt.Sprintf("-split-compile=%d", plain))
	add(o.FastCompile != "" && o.FastCompile != "0", "-Ofast-compile="+o.FastCompile)
	registers := maxRegisters(o, agreed)
	add(registers > 0, fmt.Sprintf("-maxreg=%d", registers))
	add(agreed.LineInfo.known(), "-generate-line-info")
	add(agreed.InlineInfo.known(), "-inline-info")
	add(chosen.deviceC, "--device-c")
	add(chosen.forcePartial, "--force-device-c")
	add(o.Debug, "-g")
	add(hostInfo(o, chosen), "-has-global-host-info")
	vector = append(vector, passedOn(o, agreed, vector)...)
	if hostInfo(o, chosen) {
		vector = append(vector, hostReferenceOptions(o, chosen)...)
	}
	return vector
}

// hostInfo reports whether libnvvm may remove what the host can't name.
func hostInfo(o *options.Options, chosen *choice) bool {
	return !chosen.forcePartial && (chosen.named || !o.IgnoreHostInfo)
}

// passedOn is what remains of -Xnvvm, and the floating-point options, which nvlink
// sends only if there was an -Xnvvm at all.
func passedOn(o *options.Options, agreed *Agreed, vector []string) []string {
	if len(o.Xnvvm) == 0 {
		return nil
	}
	own := []string{"-generate-line-info", "-inline-info", "--device-c", "--force-device-c", "-g",
		"-has-global-host-info"}
	var tokens []string
	seen := map[string]bool{}
	for _, token := range o.Xnvvm {
		name, _, _ := strings.Cut(token, "=")
		seen[name] = true
		switch {
		case token == "-link-lto", token == "-compile-time",
			name == "-Ofast-compile" && o.FastCompile != "",
			slices.Contains(own, token) && slices.Contains(vector, token):
		default:
			tokens = append(tokens, token)
		}
	}
	if !seen["-ftz"] {
		tokens = append(tokens, fmt.Sprintf("-ftz=%d", agreed.FTZ.or(0)))
	}
	if !seen["-prec-div"] {
		tokens = append(tokens, fmt.Sprintf("-prec-div=%d", agreed.PrecDiv.or(1)))
	}
	// nvlink sends this one even if -Xnvvm has it, and libnvvm then refuses both.
	if !seen["-prec-sqrt"] {
		tokens = append(tokens, fmt.Sprintf("-prec-sqrt=%d", agreed.PrecSqrt.or(1)))
	}
	if !seen["-fma"] {
		tokens = append(tokens, fmt.Sprintf("-fma=%d", agreed.FMAD.or(1)))
	}
	return tokens
}

// assembleArguments returns ptxas's command line. ptxas records it in the cubin in an
// order of its own, so only -Xptxas must keep its place: last, to win.
func assembleArguments(in Input, p *Plan) []string {
	o := in.Options
	target := o.Arch
	target.Arch = in.Release.Rules().Assembled(target.Arch)
	args := []string{"-arch", target.As(options.SM), "-m", "64"}
	if n := maxRegisters(o, &p.Agreed); n > 0 {
		args = append(args, "-maxrregcount", strconv.Itoa(n))
	}
	if o.FastCompile != "" && o.FastCompile != "0" {
		args = append(args, "-Ofc", o.FastCompile)
	}
	if o.Debug {
		args = append(args, "-g")
	}
	if o.DeviceStackProtector != nil {
		args = append(args, "-device-stack-protector", strconv.FormatBool(*o.DeviceStackProtector))
	}
	if o.CUDAAPIVersion != "" {
		args = append(args, "-cuda-api-version", o.CUDAAPIVersion)
	}
	if plain, extended := split(o, &p.Agreed); plain != 1 && extended == 1 {
		args = append(args, "-split-compile", strconv.Itoa(plain))
	}
	return append(args, o.Xptxas...)
}
