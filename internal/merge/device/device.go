// Package device merges relocatable cubins into one: a linker for device code.
//
// It is pure: bytes in, bytes out. What it makes equals the output of the
// toolkit's nvlink in every byte, so orders that look arbitrary (reversed
// lists, an unstable sort, names that nothing uses) are those of nvlink.
//
// A link is a list of passes over one growing output:
//
//	every input: functions, variables, other sections, relocations, attributes, call graph
//	the program: liveness, shared memory, constants, relocations, attributes
//	the file:    order of sections, symbols, names, layout, bytes
//
// What the rules don't cover ends the link with an Unsupported error.
package device

import (
	"slices"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/cubin"
)

// A HostSide is what is known of the host code that came with an input.
type HostSide uint8

const (
	// HostUnknown: host code that does not say what it refers to, or a cubin by
	// itself. One such input makes every kernel of the link live.
	HostUnknown HostSide = iota
	// HostKnown: the lists are all that the host code refers to.
	HostKnown
)

// An Input is one relocatable cubin.
type Input struct {
	// Name is what messages call it.
	Name  string
	Cubin []byte
	// Load gives the cubin if it is not here yet.
	Load func() ([]byte, error)
	Host HostSide
	// Launched are the patterns of the kernels that the host code refers to, of
	// mangled names with "*" for any text, by the linkage of the kernels.
	LaunchedExternal, LaunchedInternal []string
	// Runtime marks libcudadevrt, which takes part only if another input needs it.
	Runtime bool
}

// Options are what the command line says about a merge.
type Options struct {
	Arch gpu.Arch
	// Release is the version of CUDA that the output is for.
	Release gpu.Release
	// Record is what .note.nv.tkinfo says of this link.
	Record cubin.Tool
	// Mend asks for a program that is right where nvlink breaks it, see packing.
	Mend bool
	// Relocatable makes an output that can be linked again: -r.
	Relocatable bool
	// KernelsUsed and VariablesUsed are -kernels-used and -variables-used; parts
	// of names, or patterns with "*". They take the place of host references.
	KernelsUsed, VariablesUsed []string
	// IgnoreHostInfo is -ignore-host-info.
	IgnoreHostInfo bool
	// KeepSystemLibraries is -keep-system-libraries: libcudadevrt always takes part.
	KeepSystemLibraries bool
	// Debug is -g: nothing is removed, and shared variables have symbols.
	Debug bool
	// Verbose is -v.
	Verbose bool
	// SuppressStackSizeWarning is -suppress-stack-size-warning.
	SuppressStackSizeWarning bool
	// WeakDataOnce leaves out the bytes of weak variables that another definition has
	// won over, where nvlink keeps them.
	WeakDataOnce bool
	// LeaveApart is the size from which pieces of inputs are not copied into the
	// output, but listed beside it; 0: all are copied.
	LeaveApart int
}

// An Output is a link that went well.
type Output struct {
	Cubin []byte
	// Apart are the pieces that Cubin lacks, which is zero there, in their order.
	Apart []Span
	// Messages are the warnings.
	Messages message.List
	// Taken says of every input whether it is part of the output.
	Taken   []bool
	Removed []Removal
	// LeftOut is how many bytes WeakDataOnce has saved.
	LeftOut uint64
}

// A Span is a piece of the output that lies elsewhere.
type Span struct {
	Offset int64
	Data   []byte
}

// A Removal is a function that the output lacks.
type Removal struct {
	Symbol string
	From   string // the input that defined it
	Kernel bool
	Reason string
}

// Merge links the inputs in their order. The error is an *Unsupported, or
// messages as nvlink has them.
func Merge(inputs []Input, options Options) (*Output, error) {
	rules, err := newRules(options)
	if err != nil {
		return nil, err
	}
	l := newLinker(rules)
	l.chooseKernels(inputs)
	taken, err := l.mergeInputs(inputs)
	if err != nil {
		return nil, err
	}
	finish := l.finish
	if options.Relocatable {
		finish = l.finishRelocatable
	}
	file, err := finish()
	if err != nil {
		return nil, err
	}
	return &Output{Cubin: file, Apart: l.apart, Messages: l.messages, Taken: taken, Removed: l.removed, LeftOut: l.saved}, nil
}

// mergeInputs brings the inputs in, in their order.
func (l *linker) mergeInputs(inputs []Input) ([]bool, error) {
	taken := make([]bool, len(inputs))
	any, over := false, false
	reading := readAhead(inputs, l.rules)
	defer reading.stop()
	for i := range inputs {
		in, read := &inputs[i], reading.next()
		if in.Runtime && !l.wantsRuntime(any) {
			// nvlink takes no input after a device runtime that it passed over, unless
			// it came first of all.
			//rule: No input comes after a libcudadevrt that was passed over.
			//mutate: false
			over = over || any
			continue
		}
		if over {
			return nil, &message.Message{Severity: message.Fatal, ID: "after-runtime", Origin: message.Origin{File: in.Name},
				Text: "unexpected object after cudadevrt", Hint: "put libcudadevrt after " + in.Name}
		}
		o, err := read()
		if err != nil {
			return nil, err
		}
		if o == nil {
			continue
		}
		if err := l.add(o); err != nil {
			return nil, err
		}
		taken[i], any = true, true
		if i == sample {
			l.reserve(len(inputs) / sample)
		}
	}
	return taken, nil
}

// sample is how many inputs tell how much all of them will bring.
const sample = 32

// reserve makes room for that many times what there is now, within reason.
func (l *linker) reserve(times int) {
	const most = 1 << 18
	l.sections = slices.Grow(l.sections, min(most, len(l.sections)*times))
	l.symbols = slices.Grow(l.symbols, min(most, len(l.symbols)*times))
	l.shstrtab = slices.Grow(l.shstrtab, min(most, len(l.shstrtab)*times))
	l.strtab = slices.Grow(l.strtab, min(most, len(l.strtab)*times))
}

// add brings one input in, in the order of passes that decides the order of
// everything in the output.
func (l *linker) add(o *object) error {
	//rule: Records of the tools that made the inputs follow that of the link.
	l.records = append(l.records, o.records)
	if o.file.Virtual > 0 {
		//rule: The output is for the lowest architecture that an input was written for.
		//mutate: min -> max
		l.virtual = min(l.virtual, o.file.Virtual)
	}
	for _, pass := range []func(*object) error{
		l.mergeFunctions,
		l.cutDuplicates,
		l.mergeVariables,
		//rule: Sections of attributes come after all other ones of their input.
		//mutate: swap
		l.mergeSections,
		l.mergeInfoSections,
		l.mergeLateBanks,
		l.mergeRelocations,
		l.mergeAttributes,
		l.mergeCallGraph,
	} {
		if err := pass(o); err != nil {
			return err
		}
	}
	o.release()
	return l.mergeFailed()
}

// finish turns what was brought in into an executable.
func (l *linker) finish() ([]byte, error) {
	if err := l.placeCommons(); err != nil {
		return nil, err
	}
	l.newGeneratedSections()
	l.buildGraph()
	for _, pass := range []func() error{l.markLive, l.findReached, l.findStacks, l.layOutShared} {
		if err := pass(); err != nil {
			return nil, err
		}
	}
	l.moveConstants()
	for _, pass := range []func() error{l.checkConstants, l.packConstants} {
		if err := pass(); err != nil {
			return nil, err
		}
	}
	l.reportUndefined()
	if l.failed() {
		return nil, l.describeFailed()
	}
	l.newRelAction()
	for _, pass := range []func() error{l.checkStacks, l.newLateBanks, l.decideRelocations, l.showShared, l.computeAttributes, l.describe} {
		if err := pass(); err != nil {
			return nil, err
		}
	}
	return l.write()
}
