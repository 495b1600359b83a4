package llvm

import (
	"strings"

	"github.com/warpld/warpld/internal/gpu"
)

// reflectors are the functions by which libraries ask for the options of the link.
var reflectors = []string{"__nvvm_reflect", "__nvvm_reflect_ocl", "llvm.nvvm.reflect"}

// resolveReflection answers them. LLVM's own pass has no answer for the precision of
// square roots, which then are the imprecise ones.
func (p *program) resolveReflection() {
	for _, name := range reflectors {
		f := p.functionNamed(p.all, name)
		if f == 0 {
			continue
		}
		for _, call := range p.callsOf(f) {
			question, ok := p.constantString(p.operand(call, 0))
			if !ok {
				continue // left to LLVM's pass
			}
			p.replaceUses(call, p.constantInt(p.typeOf(call), p.reflect(question), 0))
			p.eraseInstruction(call)
		}
	}
}

// reflect is the answer to one question.
func (p *program) reflect(question string) uint64 {
	is := func(option *bool, otherwise bool) uint64 {
		if option != nil {
			otherwise = *option
		}
		if otherwise {
			return 1
		}
		return 0
	}
	switch question {
	case "__CUDA_FTZ":
		return is(p.job.FTZ, false)
	case "__CUDA_PREC_SQRT":
		return is(p.job.PrecSqrt, true)
	case "__CUDA_PREC_DIV":
		return is(p.job.PrecDiv, true)
	case "__CUDA_ARCH":
		target, _ := gpu.Parse(p.job.CPU)
		return uint64(target.Number) * 10
	}
	return 0
}

// callsOf lists the calls of a function.
func (p *program) callsOf(f value) []value {
	var calls []value
	for u := p.firstUse(f); u != 0; u = p.nextUse(u) {
		if call := p.user(u); p.isCall(call) != 0 && p.calledValue(call) == f {
			calls = append(calls, call)
		}
	}
	return calls
}

// constantString gives the text of a constant that is one, without its NUL.
func (p *program) constantString(v value) (string, bool) {
	g := p.strip(v)
	if p.isGlobalVariable(g) == 0 || p.isDeclaration(g) != 0 {
		return "", false
	}
	initial := p.initializer(g)
	if initial == 0 || p.isString(initial) == 0 {
		return "", false
	}
	var length uintptr
	address := p.asString(initial, &length)
	return strings.TrimRight(text(address, length), "\x00"), true
}

// setFloatingPoint makes options of the link hold in all code, whatever it was
// compiled with.
func (p *program) setFloatingPoint() {
	if ftz := p.job.FTZ; ftz != nil {
		const key = "denormal-fp-math-f32"
		mode := pick(*ftz, "preserve-sign,preserve-sign", "ieee,ieee")
		attribute := p.stringAttribute(p.context, key, uint32(len(key)), mode, uint32(len(mode)))
		const function = 0xffffffff
		for _, f := range p.functions() {
			if p.isDeclaration(f) == 0 {
				p.addAttribute(f, function, attribute)
			}
		}
	}
	if fma := p.job.FMA; fma != nil && !*fma {
		p.splitFMA()
		p.forbidContraction()
	}
}

// Numbers of instructions in llvm-c/Core.h.
const (
	opcodeAdd      = 9
	opcodeSubtract = 11
	opcodeMultiply = 13
)

// forbidContraction makes anew the sums that may become one instruction with the
// product in them, because permissions can't be taken back.
func (p *program) forbidContraction() {
	const contract = 1 << 5
	var sums []value
	for _, f := range p.functions() {
		if p.isDeclaration(f) != 0 {
			continue // it has no blocks
		}
		for block := p.firstBlock(f); block != 0; block = p.nextBlock(block) {
			for v := p.firstInstruction(block); v != 0; v = p.nextInstruction(v) {
				if code := p.opcode(v); (code == opcodeAdd || code == opcodeSubtract) && p.fastFlags(v)&contract != 0 {
					sums = append(sums, v)
				}
			}
		}
	}
	b := p.newBuilder(p.context)
	defer p.disposeBuilder(b)
	for _, sum := range sums {
		p.before(b, sum)
		again := p.buildBinary(b, p.opcode(sum), p.operand(sum, 0), p.operand(sum, 1), "")
		if p.canBeFast(again) != 0 { // else it was folded into a constant
			p.setFastFlags(again, p.fastFlags(sum)&^contract)
		}
		p.replaceUses(sum, again)
		p.eraseInstruction(sum)
	}
}

// splitFMA takes products and sums apart that clang had left to LLVM to join.
func (p *program) splitFMA() {
	for _, f := range p.functions() {
		if !strings.HasPrefix(p.name(f), "llvm.fmuladd.") {
			continue
		}
		b := p.newBuilder(p.context)
		for _, call := range p.callsOf(f) {
			p.before(b, call)
			product := p.buildBinary(b, opcodeMultiply, p.operand(call, 0), p.operand(call, 1), "")
			p.replaceUses(call, p.buildBinary(b, opcodeAdd, product, p.operand(call, 2), ""))
			p.eraseInstruction(call)
		}
		p.disposeBuilder(b)
	}
}
