package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/object/bitcode"
	"github.com/warpld/warpld/internal/options"
)

// LLVM is what is asked of LLVM for the bitcode of a link.
type LLVM struct {
	CPU      string // "sm_90"
	Features string // "+ptx88"; without any LLVM uses those of the CPU
	Level    int    // of optimization, 0 to 3
	// Closed: no other code defines functions for the bitcode or calls its
	// functions, so that only what the host can name must stay visible.
	Closed bool
	// Keep is what the host can name. Without it all kernels and variables stay.
	Keep *Keep
	// Libdevice: the bitcode may need NVIDIA's library of mathematics.
	Libdevice bool
	// FTZ, PrecDiv, PrecSqrt and FMA override the bitcode's own choice where they are not nil.
	FTZ, PrecDiv, PrecSqrt, FMA *bool
	// Remarks asks for LLVM's remarks on inlining and devirtualization, and for what
	// registers are spilled.
	Remarks bool `json:",omitempty"`
	// Options are for LLVM itself, in the form of its tools.
	Options []string
}

// RemarksOn are the passes whose work LLVM remarks on, and RemarksMissed those that say what
// they did not do.
const (
	RemarksOn     = "inline|wholeprogramdevirt"
	RemarksMissed = "inline"
)

// OptionList is what LLVM's own options say about the precision of code.
func (l *LLVM) OptionList() []string {
	var list []string
	add := func(is *bool, yes, no string) {
		switch {
		case is == nil:
		case *is && yes != "":
			list = append(list, yes)
		case !*is:
			list = append(list, no)
		}
	}
	add(l.PrecDiv, "-nvptx-prec-divf32=2", "-nvptx-prec-divf32=1")
	add(l.PrecSqrt, "-nvptx-prec-sqrtf32=1", "-nvptx-prec-sqrtf32=0")
	add(l.FMA, "", "-nvptx-fma-level=0")
	return list
}

// planBitcode decides what LLVM is asked for.
func (p *Plan) planBitcode(in Input, chosen *choice) error {
	o := in.Options
	if o.EmitPTX && len(p.IR) > 0 {
		return &message.Message{Severity: message.Fatal, ID: "two-ptx-texts", Origin: p.Bitcode[0].Object.Origin,
			Text: "-emit-ptx cannot write one text for LTO-IR of nvcc and LLVM bitcode",
			Hint: "link them apart from each other to see their PTX"}
	}
	if err := p.checkBitcode(in); err != nil {
		return err
	}
	ftz, err := p.agreeOnFlushing()
	if err != nil {
		return err
	}
	p.LLVM = LLVM{CPU: in.target().Arch.String(), Features: p.ptxFeature(), Level: level(o),
		Closed: !chosen.forcePartial, Libdevice: p.needsLibdevice(), FTZ: ftz,
		Remarks: o.Own.Remarks != "", Options: p.llvmOptions(o)}
	if lists := hostReferences(o, chosen); p.LLVM.Closed && hostInfo(o, chosen) && lists != nil {
		p.LLVM.Keep = keepOf(lists)
		p.warnOfLostKernels(p.Bitcode, chosen)
	}
	p.takeNVVMOptions(o)
	if err := p.decideThin(o); err != nil {
		return err
	}
	if o.Relocatable && strings.HasSuffix(o.Output, ".bc") {
		if others := slices.Concat(p.IR, p.Native); len(others) > 0 {
			first := others[0].Object.Origin
			return &message.Message{Severity: message.Fatal, ID: "not-all-bitcode", Origin: first,
				Text:  fmt.Sprintf("'%s' cannot hold code that is no LLVM bitcode", o.Output),
				Notes: []string{first.String() + " has such code"},
				Hint:  "call the output .cubin to have all code in it compiled"}
		}
		p.KeepBitcode, p.Thin = true, false
	}
	if len(p.IR) == 0 {
		p.Engine, p.EngineReason = Bitcode, "the code is LLVM bitcode"
	}
	return nil
}

// checkBitcode refuses what LLVM would take without a word, or with words that name
// neither the file nor the reason.
func (p *Plan) checkBitcode(in Input) error {
	o := in.Options
	target := in.target()
	for i := range p.Bitcode {
		piece := &p.Bitcode[i]
		for j := range piece.Module.Bitcode {
			m := &piece.Module.Bitcode[j]
			if err := checkProducer(piece, m, in.LLVM); err != nil {
				return err
			}
			for _, cpu := range m.CPUs {
				if a, ok := gpu.Parse(cpu); !ok || !target.Accepts(object.LLVM, a) {
					return wrongCPU(o, piece, cpu)
				}
			}
		}
	}
	return nil
}

// checkProducer refuses bitcode that the libLLVM at hand cannot read: formats are
// read by later versions only.
func checkProducer(piece *Piece, m *bitcode.Module, llvm int) error {
	fatal := &message.Message{Severity: message.Fatal, ID: "bitcode-newer", Origin: piece.Object.Origin,
		Hint: "--warpld-llvm=PATH names another libLLVM; or compile with the version that is there"}
	switch {
	case m.Epoch != 0:
		fatal.Text = fmt.Sprintf("the bitcode in '%s' is of epoch %d, which LLVM %d does not read",
			piece.Object.Origin, m.Epoch, llvm)
	case m.Major() > llvm:
		fatal.Text = fmt.Sprintf("the bitcode in '%s' was made by '%s', which LLVM %d does not read",
			piece.Object.Origin, m.Producer, llvm)
	default:
		return nil
	}
	return fatal
}

// wrongCPU is for functions that LLVM would link, and inline, whatever they are for.
func wrongCPU(o *options.Options, piece *Piece, cpu string) error {
	return &message.Message{Severity: message.Fatal, ID: "bitcode-arch", Origin: piece.Object.Origin,
		Text: fmt.Sprintf("the bitcode in '%s' is for '%s' and cannot be linked for '%s'", piece.Object.Origin, cpu, o.Arch),
		Hint: "compile it for " + o.Arch.String()}
}

// flushes reports whether the code was compiled to flush denormal numbers to zero, and
// whether it records that.
func (piece *Piece) flushes() (value uint64, given bool) {
	for i := range piece.Module.Bitcode {
		if value, given = piece.Module.Bitcode[i].Flags["nvvm-reflect-ftz"]; given {
			return value, given
		}
	}
	return 0, false
}

// agreeOnFlushing reports whether denormal numbers are flushed. It returns nil if no
// module records a choice. Modules must not disagree, as with nvlink.
func (p *Plan) agreeOnFlushing() (*bool, error) {
	var first *Piece
	for i := range p.Bitcode {
		piece := &p.Bitcode[i]
		value, given := piece.flushes()
		if !given {
			continue
		}
		if first == nil {
			first = piece
		}
		if was, _ := first.flushes(); was != value {
			return nil, &message.Message{Severity: message.Fatal, ID: "option-conflict",
				Text: "Cicc option values for '-ftz' do not match",
				Notes: []string{fmt.Sprintf("with -ftz=%d: %s", was, first.Object.Origin),
					fmt.Sprintf("with -ftz=%d: %s", value, piece.Object.Origin)},
				Hint: "compile all objects with or without clang's -fcuda-flush-denormals-to-zero"}
		}
	}
	if first == nil {
		return nil, nil
	}
	value, _ := first.flushes()
	on := value == 1
	if !on {
		return nil, nil
	}
	return &on, nil
}

// llvmOptions are those of the command line, and one more: compilers unroll loops whose
// length isn't known, unless they leave it to ThinLTO, and LLVM would unroll the result
// once more.
func (p *Plan) llvmOptions(o *options.Options) []string {
	const unroll = "-unroll-runtime"
	unrolled := !slices.ContainsFunc(p.Bitcode, func(piece Piece) bool {
		m := &piece.Module.Bitcode[0]
		full, given := m.Flags["ThinLTO"]
		return m.Thin && !(given && full == 0)
	})
	given := slices.ContainsFunc(o.Own.LLVMOptions, func(option string) bool {
		return strings.HasPrefix(option, unroll) || strings.HasPrefix(option, "-"+unroll)
	})
	if !unrolled || given {
		return o.Own.LLVMOptions
	}
	return append([]string{unroll + "=false"}, o.Own.LLVMOptions...)
}

// ptxFeature is the latest version of PTX that a module was compiled for.
func (p *Plan) ptxFeature() string {
	best, feature := 0, ""
	for _, piece := range p.Bitcode {
		for i := range piece.Module.Bitcode {
			for _, word := range piece.Module.Bitcode[i].Features {
				digits, ok := strings.CutPrefix(word, "+ptx")
				if n, err := strconv.Atoi(digits); ok && err == nil && n > best {
					best, feature = n, word
				}
			}
		}
	}
	return feature
}

// needsLibdevice reports whether a module refers to a function that has a name like those
// of libdevice.
func (p *Plan) needsLibdevice() bool {
	return slices.ContainsFunc(p.Bitcode, func(piece Piece) bool {
		return slices.ContainsFunc(piece.Module.Bitcode, func(m bitcode.Module) bool {
			return slices.ContainsFunc(m.Symbols, func(y bitcode.Symbol) bool {
				return !y.Defined && y.Kind == bitcode.Function && strings.HasPrefix(y.Name, "__nv_")
			})
		})
	})
}

// level is LLVM's for the trade that -Ofast-compile asks for.
func level(o *options.Options) int {
	switch {
	case o.Debug:
		return 0
	case o.FastCompile == "min":
		return 2
	case o.FastCompile == "mid" || o.FastCompile == "max":
		return 1
	}
	return 3
}

// takeNVVMOptions takes the options of -Xnvvm that have a meaning for LLVM too. What
// remains is reported, unless there is LTO-IR that it may be for.
func (p *Plan) takeNVVMOptions(o *options.Options) {
	switches := map[string]**bool{"-ftz": &p.LLVM.FTZ, "-prec-div": &p.LLVM.PrecDiv,
		"-prec-sqrt": &p.LLVM.PrecSqrt, "-fma": &p.LLVM.FMA}
	for _, token := range o.Xnvvm {
		name, value, _ := strings.Cut(token, "=")
		on := value == "1"
		switch place := switches[name]; {
		case place != nil && (on || value == "0"):
			*place = &on
		case name == "-opt" && len(value) == 1 && value >= "0" && value <= "3":
			p.LLVM.Level = int(value[0] - '0')
		case len(p.IR) == 0:
			p.report(&message.Message{Severity: message.Warning, Extra: true, ID: "nvvm-option-unused",
				Text: fmt.Sprintf("-Xnvvm '%s' has no meaning for LLVM bitcode", token),
				Hint: "--warpld-llvm-options gives options to LLVM"})
		}
	}
}
