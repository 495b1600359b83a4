package device

import (
	"fmt"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/cubin"
)

// describe says what -v asks for: the memory of the program, and what each kernel
// needs, the newest first.
func describe(out *output) error {
	if !out.rules.options.Verbose {
		return nil
	}
	var global uint64
	for i := range out.sections.list {
		//rule: -v counts the memory of variables with and without values.
		//mutate: false s.kind == cubin.SHT_CUDA_GLOBAL_INIT
		if s := &out.sections.list[i]; s.live() && (s.kind == cubin.SHT_CUDA_GLOBAL ||
			s.kind == cubin.SHT_CUDA_GLOBAL_INIT) {
			global += s.size
		}
	}
	out.report.inform("%d bytes gmem%s", global, describeBanks(out.rules, out.sections, noSection))
	registers := map[symbolID]uint32{}
	for _, x := range out.sections.list[out.sections.info].attributes.rows {
		if x.id == cubin.EIATTR_REGCOUNT && x.form == cubin.EIFMT_SVAL {
			registers[x.symbols[0]] = x.word
		}
	}
	//rule: -v shows the newest kernel first.
	//mutate: forward
	for _, k := range slices.Backward(slices.Sorted(slices.Values(out.calls.reached.kernels))) {
		if err := describeKernel(out, k, registers[k]); err != nil {
			return err
		}
	}
	return nil
}

// describeFailed is the error of a program that cannot be linked. nvlink describes
// that, too.
func describeFailed(out *output) error {
	if out.rules.options.Verbose {
		err := inOrder(func() error { return computeAttributes(out) }, func() error { return describe(out) })
		if err != nil {
			return err
		}
	}
	return out.report.messages
}

func describeKernel(out *output, k symbolID, registers uint32) error {
	y, barriers, found := &out.symbols.list[k], uint16(0), false
	out.sections.list[y.function.info].attributes.inFileOrder(func(x *attribute) {
		if x.id == cubin.EIATTR_NUM_BARRIERS {
			barriers, found = x.value&0xff, true
		}
	})
	if !found && out.rules.merge.CountsBarriers {
		return unsupported("", "what -v says of '%s', a kernel without barriers", y.name)
	}
	stack := out.calls.stacks[k].bytes
	if out.calls.stacks[k].recursive {
		//rule: -v shows no stack where recursion makes it unknown.
		stack = 0 // it is not known
	}
	shared := out.sections.sharedOf(y.function).size
	if out.rules.mercury {
		shared -= min(shared, out.rules.reservedShared)
	}
	out.report.inform("Function properties for '%s':", y.name)
	out.report.inform("used %d registers, used %d barriers, %d stack, %d bytes smem%s, 0 bytes lmem", registers, barriers,
		stack, shared, describeBanks(out.rules, out.sections, y.section))
	return nil
}

// describeBanks lists the banks of constants of a function, or of the program.
// They are not counted in a program of Mercury code.
func describeBanks(rules *ruleSet, sections *sectionTable, owner sectionID) string {
	var sizes [cubin.ConstantBanks]uint64
	for i := range sections.list {
		if s := &sections.list[i]; s.live() && cubin.IsConstantBank(s.kind) && s.owner == owner && !rules.mercury {
			sizes[s.kind-cubin.SHT_CUDA_CONSTANT_B0] += s.size
		}
	}
	var b strings.Builder
	for bank, size := range sizes {
		if size > 0 {
			fmt.Fprintf(&b, ", %d bytes cmem[%d]", size, bank)
		}
	}
	return b.String()
}

func (report *linkReport) inform(format string, args ...any) {
	report.messages = append(report.messages, &message.Message{Severity: message.Info, ID: "function-properties",
		Text: fmt.Sprintf(format, args...)})
}
