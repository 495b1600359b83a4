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
		f := p.api.functionNamed(p.all, name)
		if f == 0 {
			continue
		}
		for _, call := range p.callsOf(f) {
			question, ok := p.constantString(p.api.operand(call, 0))
			if !ok {
				continue // left to LLVM's pass
			}
			p.api.replaceUses(call, p.api.constantInt(p.api.typeOf(call), p.reflect(question), 0))
			p.api.eraseInstruction(call)
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
	for u := p.api.firstUse(f); u != 0; u = p.api.nextUse(u) {
		if call := p.api.user(u); p.api.isCall(call) != 0 && p.api.calledValue(call) == f {
			calls = append(calls, call)
		}
	}
	return calls
}

// constantString returns the text of a constant that is a string, without its NUL.
func (p *program) constantString(v value) (string, bool) {
	g := p.strip(v)
	if p.api.isGlobalVariable(g) == 0 || p.api.isDeclaration(g) != 0 {
		return "", false
	}
	initial := p.api.initializer(g)
	if initial == 0 || p.api.isString(initial) == 0 {
		return "", false
	}
	var length uintptr
	address := p.api.asString(initial, &length)
	return strings.TrimRight(text(address, length), "\x00"), true
}

// setFloatingPoint applies the options of the link to all code, whatever it was compiled with.
func (p *program) setFloatingPoint() {
	if ftz := p.job.FTZ; ftz != nil {
		const key = "denormal-fp-math-f32"
		mode := pick(*ftz, "preserve-sign,preserve-sign", "ieee,ieee")
		attribute := p.api.stringAttribute(p.context, key, uint32(len(key)), mode, uint32(len(mode)))
		const function = 0xffffffff
		for _, f := range p.functions() {
			if p.api.isDeclaration(f) == 0 {
				p.api.addAttribute(f, function, attribute)
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
		if p.api.isDeclaration(f) != 0 {
			continue // it has no blocks
		}
		for block := p.api.firstBlock(f); block != 0; block = p.api.nextBlock(block) {
			for v := p.api.firstInstruction(block); v != 0; v = p.api.nextInstruction(v) {
				if code := p.api.opcode(v); (code == opcodeAdd || code == opcodeSubtract) && p.api.fastFlags(v)&contract != 0 {
					sums = append(sums, v)
				}
			}
		}
	}
	b := p.api.newBuilder(p.context)
	defer p.api.disposeBuilder(b)
	for _, sum := range sums {
		p.api.before(b, sum)
		again := p.api.buildBinary(b, p.api.opcode(sum), p.api.operand(sum, 0), p.api.operand(sum, 1), "")
		if p.api.canBeFast(again) != 0 { // else it was folded into a constant
			p.api.setFastFlags(again, p.api.fastFlags(sum)&^contract)
		}
		p.api.replaceUses(sum, again)
		p.api.eraseInstruction(sum)
	}
}

// splitFMA separates products and sums that clang left to LLVM to contract.
func (p *program) splitFMA() {
	for _, f := range p.functions() {
		if !strings.HasPrefix(p.api.name(f), "llvm.fmuladd.") {
			continue
		}
		b := p.api.newBuilder(p.context)
		for _, call := range p.callsOf(f) {
			p.api.before(b, call)
			product := p.api.buildBinary(b, opcodeMultiply, p.api.operand(call, 0), p.api.operand(call, 1), "")
			p.api.replaceUses(call, p.api.buildBinary(b, opcodeAdd, product, p.api.operand(call, 2), ""))
			p.api.eraseInstruction(call)
		}
		p.api.disposeBuilder(b)
	}
}
