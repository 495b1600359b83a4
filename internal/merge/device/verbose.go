package device

import (
	"fmt"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/message"
)

// describe says what -v asks for: the memory of the program, and what each kernel
// needs, the newest first.
func (l *linker) describe() error {
	if !l.rules.options.Verbose {
		return nil
	}
	var global uint64
	for i := range l.sections {
		//rule: -v counts the memory of variables with and without values.
		//mutate: (s.kind == typeGlobal || s.kind == typeInit) -> s.kind == typeGlobal
		if s := &l.sections[i]; s.live() && (s.kind == typeGlobal || s.kind == typeInit) {
			global += s.size
		}
	}
	l.inform("%d bytes gmem%s", global, l.describeBanks(noSection))
	registers := map[symbolID]uint32{}
	for _, x := range l.sections[l.info].attributes.rows {
		if x.id == attrRegisters && x.form == formBytes {
			registers[x.symbols[0]] = x.word
		}
	}
	//rule: -v shows the newest kernel first.
	//mutate: forward
	for _, k := range slices.Backward(slices.Sorted(slices.Values(l.reached.kernels))) {
		if err := l.describeKernel(k, registers[k]); err != nil {
			return err
		}
	}
	return nil
}

// describeFailed is the error of a program that cannot be linked. nvlink describes
// that, too.
func (l *linker) describeFailed() error {
	if l.rules.options.Verbose {
		for _, pass := range []func() error{l.computeAttributes, l.describe} {
			if err := pass(); err != nil {
				return err
			}
		}
	}
	return l.messages
}

func (l *linker) describeKernel(k symbolID, registers uint32) error {
	y, barriers, found := &l.symbols[k], uint16(0), false
	l.sections[y.function.info].attributes.inFileOrder(func(x *attribute) {
		if x.id == attrBarriers {
			barriers, found = x.value&0xff, true
		}
	})
	if !found && l.rules.merge.CountsBarriers {
		return unsupported("", "what -v says of '%s', a kernel without barriers", y.name)
	}
	stack := l.stacks[k].bytes
	if l.stacks[k].recursive {
		//rule: -v shows no stack where recursion makes it unknown.
		stack = 0 // it is not known
	}
	shared := l.sections[y.function.shared].size
	if l.rules.mercury {
		shared -= min(shared, l.rules.reservedShared)
	}
	l.inform("Function properties for '%s':", y.name)
	l.inform("used %d registers, used %d barriers, %d stack, %d bytes smem%s, 0 bytes lmem", registers, barriers,
		stack, shared, l.describeBanks(y.section))
	return nil
}

// describeBanks lists the banks of constants of a function, or of the program.
// They are not counted in a program of Mercury code.
func (l *linker) describeBanks(owner sectionID) string {
	var sizes [constantBanks]uint64
	for i := range l.sections {
		if s := &l.sections[i]; s.live() && isConstant(s.kind) && s.owner == owner && !l.rules.mercury {
			sizes[s.kind-typeConstant0] += s.size
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

func (l *linker) inform(format string, args ...any) {
	l.messages = append(l.messages, &message.Message{Severity: message.Info, ID: "function-properties", Text: fmt.Sprintf(format, args...)})
}
