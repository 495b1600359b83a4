package device

import (
	"slices"

	"github.com/warpld/warpld/internal/glob"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// A kernelFilter says which kernels are live.
type kernelFilter struct {
	fromHost bool // by host references, else by -kernels-used
	// early: it is known before the first input comes in.
	early bool
	// external and internal are patterns for kernels of that linkage.
	external, internal []string
}

// chooseKernels finds out what decides which kernels are live: the options,
// or the host references if every input says something about them, or nothing.
func chooseKernels(o *Options, inputs []Input) *kernelFilter {
	//rule: With -r nothing is removed.
	//mutate: false o.Relocatable
	if o.Relocatable || o.Debug {
		return nil
	}
	//rule: With -variables-used alone no kernel is used.
	//mutate: len(o.KernelsUsed)+len(o.VariablesUsed) -> len(o.KernelsUsed)
	if len(o.KernelsUsed)+len(o.VariablesUsed) > 0 {
		return &kernelFilter{early: true, external: o.KernelsUsed, internal: o.KernelsUsed}
	}
	//rule: -ignore-host-info keeps all kernels.
	//mutate: false
	if o.IgnoreHostInfo {
		return nil
	}
	keep, launches := &kernelFilter{fromHost: true, early: o.KnowsReferences}, false
	for i := range inputs {
		in := &inputs[i]
		//rule: An input whose host code says nothing keeps all kernels.
		//mutate: false
		if in.Host == HostUnknown && !in.Runtime {
			return nil
		}
		keep.external = append(keep.external, in.LaunchedExternal...)
		keep.internal = append(keep.internal, in.LaunchedInternal...)
		//rule: Patterns of libcudadevrt's host code don't make a program one that launches.
		//mutate: true !in.Runtime
		launches = launches || (!in.Runtime && len(in.LaunchedExternal)+len(in.LaunchedInternal) > 0)
	}
	//rule: A program that launches nothing keeps everything.
	//mutate: true
	if launches { // a program that launches nothing keeps everything
		return keep
	}
	return nil
}

// matches reports whether a kernel is live. A pattern of host code is about the whole
// name, one of -kernels-used about a part of it.
func (k *kernelFilter) matches(name string, binding elf64.Binding) bool {
	patterns := k.external
	//rule: Kernels are live by the patterns of their linkage.
	//mutate: false
	if binding == elf64.Local {
		patterns = k.internal
	}
	return slices.ContainsFunc(patterns, func(p string) bool {
		//rule: A name in -kernels-used may be a part of the kernel's.
		//mutate: false
		//rule: A pattern of host code is a whole name.
		//mutate: true
		if !k.fromHost {
			p = "*" + p + "*"
		}
		return glob.Match(p, name)
	})
}

// PatternsOfLaunched returns patterns of kernels for nvlink's -kernels-used, with which it
// makes the same of the inputs as if it knew their host references before. There are none
// if all kernels are launched, or if -kernels-used would match more: its patterns may be
// parts of names. There are none for damaged inputs, which nvlink may refuse in its words.
func PatternsOfLaunched(options *Options, inputs []Input) []string {
	byHost := chooseKernels(options, inputs)
	if byHost == nil || !byHost.fromHost || !byHost.early {
		return nil
	}
	patterns := slices.Concat(byHost.external, byHost.internal)
	slices.Sort(patterns)
	patterns = slices.Compact(patterns)
	byOption, all := &kernelFilter{external: patterns, internal: patterns}, true
	for i := range inputs {
		kernels, err := inputs[i].kernels()
		if err != nil {
			return nil
		}
		for _, k := range kernels {
			launched := byHost.matches(k.Name, k.Binding)
			if launched != byOption.matches(k.Name, k.Binding) {
				return nil
			}
			all = all && launched
		}
	}
	if all {
		return nil
	}
	return patterns
}

// kernels returns the kernels of an input.
func (in *Input) kernels() (kernels []elf64.Symbol, err error) {
	data, err := in.load()
	if err != nil {
		return nil, err
	}
	f, err := cubin.Parse(data)
	if err != nil {
		return nil, err
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	for _, y := range symbols.All() {
		if cubin.IsKernel(y) {
			kernels = append(kernels, y)
		}
	}
	return kernels, nil
}

// markLive finds the functions that kernels reach, or whose address is taken,
// and removes the others with all that belongs to them. Variables stay, and
// debuggers want to see everything.
func markLive(out *output) error {
	//rule: With -g nothing is removed.
	if out.rules.options.Debug {
		return nil
	}
	var kernels, taken []int32
	for id := range out.symbols.list {
		y := &out.symbols.list[id]
		if y.function == nil {
			continue
		}
		if out.filter.launches(y) {
			kernels = append(kernels, int32(id))
		}
		if len(y.function.takenAs) > 0 {
			taken = append(taken, int32(id))
		}
	}
	kernels, err := addStarted(out.rules, out.symbols, out.filter, kernels, taken)
	if err != nil {
		return err
	}
	live := make([]bool, len(out.calls.graph.edges))
	//rule: What only they call goes.
	//mutate: kernels -> append(kernels, taken...)
	out.calls.graph.spread(live, kernels)
	// A function whose address is taken, but that no kernel reaches, stays; the
	// functions that only it calls go, and its calls of them.
	for _, id := range taken {
		//rule: Functions whose address is taken stay.
		live[id] = true
		for _, to := range out.calls.graph.edges[id] {
			//rule: Undefined functions that a taken function calls stay.
			//mutate: false
			if to < out.calls.graph.symbols && !out.symbols.list[to].defined() {
				live[to] = true
			}
		}
	}
	for id := range out.symbols.list {
		if y := &out.symbols.list[id]; y.function != nil && !live[id] {
			removeFunction(out.symbols, out.sections, out.filter, out.report, y)
		}
	}
	removeOwned(out.symbols, out.sections)
	return nil
}

// expects reports whether a kernel gets its sections with its code, because nothing says
// yet that host code does not launch it. Another kernel has those that its input has.
func (filter *kernelFilter) expects(y *symbol) bool {
	return filter == nil || !filter.early || filter.matches(y.name, y.binding)
}

// launches reports whether a function is a kernel that host code may launch.
func (filter *kernelFilter) launches(y *symbol) bool {
	return y.isKernel() && (filter == nil || filter.matches(y.name, y.binding))
}

// addStarted adds the kernels that device code starts, though host code may launch none
// of them.
func addStarted(rules *ruleSet, symbols *symbolTable, filter *kernelFilter, kernels, taken []int32) ([]int32, error) {
	launched := len(kernels)
	for _, id := range taken {
		switch {
		case !symbols.list[id].isKernel() || filter.launches(&symbols.list[id]):
		case launched == 1:
			// Without libcudadevrt nvlink says how much stack the only kernel needs that is
			// launched, and not of those that others start; with it, of all.
			return nil, unsupported("", "kernels that device code starts beside the only one that host code launches")
		case symbols.list[id].function.info == noSection:
			return nil, unsupported("", "the kernel '%s' without attributes", symbols.list[id].name)
		default:
			//rule: A kernel that device code starts stays although no host code launches it.
			kernels = append(kernels, id)
		}
	}
	return kernels, nil
}

func removeFunction(symbols *symbolTable, sections *sectionTable, filter *kernelFilter, report *linkReport,
	y *symbol) {
	if y.defined() {
		report.removed = append(report.removed, Removal{Symbol: y.name, From: y.origin, Kernel: y.isKernel(),
			Reason: filter.removalReason(y)})
		text := &sections.list[y.section]
		text.removed = true
		symbols.list[text.symbol].dead = true
	}
	y.dead = true
}

func (filter *kernelFilter) removalReason(y *symbol) string {
	switch {
	case !y.isKernel():
		return "no live kernel calls it and its address is not taken"
	case filter.fromHost:
		return "no host code refers to it"
	}
	return "-kernels-used does not name it"
}

// removeOwned removes the sections of removed functions. Owners come before
// what they own, and relocations after what they are about.
func removeOwned(symbols *symbolTable, sections *sectionTable) {
	for i := range sections.list {
		s := &sections.list[i]
		if s.owner == noSection || !sections.list[s.owner].removed {
			continue
		}
		s.removed = true
		if s.symbol != noSymbol {
			symbols.list[s.symbol].dead = true
		}
	}
}

// reportUndefined refuses variables without a definition, and functions that
// are live without one.
func reportUndefined(out *output) {
	symbols := out.symbols
	for id := range symbols.list {
		//rule: An undefined function counts only if it is called.
		//mutate: true !y.dead
		if y := &symbols.list[id]; y.unresolved(out.rules) && !y.dead {
			undefined(symbols, out.sections, out.calls, out.report, symbolID(id))
		}
	}
}
