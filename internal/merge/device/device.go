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
	// FixNvlinkBugs makes a correct program where nvlink's is known to be wrong, see packing.
	FixNvlinkBugs bool
	// Relocatable makes an output that can be linked again: -r.
	Relocatable bool
	// KernelsUsed and VariablesUsed are -kernels-used and -variables-used; parts
	// of names, or patterns with "*". They take the place of host references.
	KernelsUsed, VariablesUsed []string
	// KnowsReferences: the host references of all inputs are known before the first one
	// comes in. nvlink has read all inputs if it has optimized the program before.
	KnowsReferences bool
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
	// DedupWeakData leaves out the bytes of weak variables that another definition has
	// won over, where nvlink keeps them.
	DedupWeakData bool
	// PassThroughSize is the size from which pieces of inputs are not copied into the
	// output, but listed beside it. With 0 all are copied.
	PassThroughSize int
}

// An Output is a link that went well.
type Output struct {
	Cubin []byte
	// PassThrough are the pieces that Cubin lacks, in their order. Cubin is zero there.
	PassThrough []PassThrough
	// Messages are the warnings.
	Messages message.List
	// Taken says of every input whether it is part of the output.
	Taken   []bool
	Removed []Removal
	// DedupedBytes is how many bytes DedupWeakData has saved.
	DedupedBytes uint64
}

// A PassThrough is a large piece of an input that no relocation changes. It is written
// without a copy.
type PassThrough struct {
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
	out := newOutput(rules, chooseKernels(&options, inputs))
	taken, err := mergeInputs(out, inputs)
	if err != nil {
		return nil, err
	}
	finish := finishExecutable
	if options.Relocatable {
		finish = finishRelocatable
	}
	if err := finish(out); err != nil {
		return nil, err
	}
	file, err := write(out)
	if err != nil {
		return nil, err
	}
	return &Output{Cubin: file, PassThrough: out.passThrough, Messages: out.report.messages, Taken: taken,
		Removed: out.report.removed, DedupedBytes: out.sections.dedupedBytes}, nil
}

// mergeInputs brings the inputs in, in their order.
func mergeInputs(out *output, inputs []Input) ([]bool, error) {
	taken := make([]bool, len(inputs))
	started, over := false, false
	reading := readAhead(inputs, out.rules)
	defer reading.stop()
	for i := range inputs {
		in, read := &inputs[i], reading.next()
		if in.Runtime && !wantsRuntime(out.rules, out.symbols, started) {
			// nvlink takes no input after a device runtime that it passed over, unless
			// it came first of all.
			//rule: No input comes after a libcudadevrt that was passed over.
			//mutate: false
			over = over || started
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
		if err := addInput(out, o); err != nil {
			return nil, err
		}
		taken[i], started = true, true
		if i == sample {
			reserve(out.symbols, out.sections, out.names, len(inputs)/sample)
		}
	}
	return taken, nil
}

// sample is how many inputs tell how much all of them will bring.
const sample = 32

// reserve makes room for that many times what there is now, within reason.
func reserve(symbols *symbolTable, sections *sectionTable, names *nameTables, times int) {
	const most = 1 << 18
	sections.list = slices.Grow(sections.list, min(most, len(sections.list)*times))
	symbols.list = slices.Grow(symbols.list, min(most, len(symbols.list)*times))
	names.sections = slices.Grow(names.sections, min(most, len(names.sections)*times))
	names.symbols = slices.Grow(names.symbols, min(most, len(names.symbols)*times))
}

// addInput brings one input in, in the order of passes that decides the order of
// everything in the output.
func addInput(out *output, o *object) error {
	//rule: Records of the tools that made the inputs follow that of the link.
	out.notes.records = append(out.notes.records, o.records)
	if o.file.Virtual > 0 {
		//rule: The output is for the lowest architecture that an input was written for.
		//mutate: min -> max
		out.notes.virtual = min(out.notes.virtual, o.file.Virtual)
	}
	rules, symbols, sections, calls := out.rules, out.symbols, out.sections, out.calls
	err := inOrder(
		func() error { return mergeFunctions(out, o) },
		func() error { return dedupSections(rules, symbols, o) },
		func() error { return mergeVariables(out, o) },
		//rule: Sections of attributes come after all other ones of their input.
		//mutate: swap
		func() error { return mergeSections(out, o) },
		func() error { return mergeInfoSections(symbols, sections, o) },
		func() error { return mergeLateBanks(rules, out.mercury, o) },
		func() error { return mergeRelocations(out, o) },
		func() error { return mergeAttributes(rules, symbols, sections, out.attributes, o) },
		func() error { return mergeCallGraph(rules, symbols, calls, out.report, o) },
	)
	if err != nil {
		return err
	}
	o.release()
	return out.report.mergeFailed()
}

// inOrder runs passes until one fails.
func inOrder(passes ...func() error) error {
	for _, pass := range passes {
		if err := pass(); err != nil {
			return err
		}
	}
	return nil
}

// finishExecutable turns what was brought in into an executable.
func finishExecutable(out *output) error {
	rules, symbols, sections, calls := out.rules, out.symbols, out.sections, out.calls
	if err := placeCommons(symbols, sections); err != nil {
		return err
	}
	sections.newGeneratedSections()
	buildGraph(symbols, calls)
	err := inOrder(
		func() error { return markLive(out) },
		func() error { return findReached(symbols, calls) },
		func() error { return findStacks(rules, symbols, calls, out.report) },
		func() error { return layOutShared(out) },
	)
	if err != nil {
		return err
	}
	moveConstants(symbols, sections, calls, out.banks)
	if err := inOrder(sections.checkConstants, func() error { return packConstants(out) }); err != nil {
		return err
	}
	reportUndefined(out)
	if out.report.failed() {
		return describeFailed(out)
	}
	newRelAction(rules, sections)
	return inOrder(
		func() error { return checkStacks(rules, symbols, sections) },
		func() error { return newLateBanks(rules, symbols, sections, out.mercury) },
		func() error { return decideRelocations(rules, symbols, sections, calls) },
		func() error { return showShared(rules, symbols, sections) },
		func() error { return computeAttributes(out) },
		func() error { return describe(out) },
	)
}
