package llvm

import (
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/engine"
)

// Linkages, as llvm-c/Core.h numbers them.
const (
	linkageExternal  = 0
	linkageWeakAny   = 5
	linkageAppending = 7
	linkageInternal  = 8
	linkagePrivate   = 9
)

const (
	kernelConvention = 71
	sharedMemory     = 3
)

// values lists what a pair of functions walks over, so that it may be changed on
// the way.
func values(first value, next func(value) value) []value {
	var list []value
	for v := first; v != 0; v = next(v) {
		list = append(list, v)
	}
	return list
}

func (p *program) functions() []value { return values(p.api.firstFunction(p.all), p.api.nextFunction) }
func (p *program) variables() []value { return values(p.api.firstGlobal(p.all), p.api.nextGlobal) }
func (p *program) aliases() []value   { return values(p.api.firstAlias(p.all), p.api.nextAlias) }

// edit adds to the module what a device linker knows.
func (p *program) edit() {
	engine.Stage("LLVMSetLinkage")
	p.resolveReflection()
	p.setFloatingPoint()
	if !p.job.Closed {
		return
	}
	p.definePureVirtual()
	p.closeClasses()
	used := p.named("llvm.used")
	if p.job.Keep != nil {
		p.filterCompilerUsed()
	}
	for _, v := range slices.Concat(p.functions(), p.variables(), p.aliases()) {
		if p.api.isDeclaration(v) == 0 && p.visible(v) && !used[v] && !p.keeps(v) {
			p.noteHidden(v)
			p.hide(v)
		}
	}
}

// visible reports whether other modules could refer to a symbol.
func (p *program) visible(v value) bool {
	linkage := p.api.getLinkage(v)
	return linkage != linkageInternal && linkage != linkagePrivate && linkage != linkageAppending
}

// hide makes a symbol nobody else's. It is found by its value: after a link several
// may have had the same name.
func (p *program) hide(v value) {
	const defaultVisibility = 0
	p.api.setVisibility(v, defaultVisibility)
	p.api.setLinkage(v, linkageInternal)
	if p.api.isAlias(v) == 0 {
		p.api.setComdat(v, 0)
	}
}

// keeps reports whether the host may name a symbol. It never names shared memory, nor
// functions that are not kernels.
func (p *program) keeps(v value) bool {
	name := p.api.name(v)
	switch {
	case strings.HasPrefix(name, "llvm."):
		return true
	case p.api.isGlobalVariable(v) != 0:
		space := p.api.addressSpace(p.api.typeOf(v))
		return space != sharedMemory && p.job.Keep.Variable(name)
	case p.isKernel(v):
		return p.job.Keep.Kernel(name)
	}
	return false
}

func (p *program) isKernel(v value) bool {
	return p.api.isGlobalVariable(v) == 0 && p.kernels[v]
}

// findKernels finds them by their calling convention, and by the metadata with which
// LLVM marked them up to version 20.
func (p *program) findKernels() {
	p.kernels = map[value]bool{}
	for _, f := range p.functions() {
		if p.api.convention(f) == kernelConvention {
			p.kernels[f] = true
		}
	}
	const annotations = "nvvm.annotations"
	nodes := make([]value, p.api.namedOperandCount(p.all, annotations))
	if len(nodes) == 0 {
		return
	}
	p.api.namedOperands(p.all, annotations, &nodes[0])
	for _, node := range nodes {
		parts := make([]value, p.api.nodeOperandCount(node))
		if len(parts) < 3 {
			continue
		}
		p.api.nodeOperands(node, &parts[0])
		for i := 1; i < len(parts) && parts[0] != 0; i += 2 {
			var length uint32
			if parts[i] != 0 && p.api.isMetadataString(parts[i]) != 0 &&
				text(p.api.metadataString(parts[i], &length), uintptr(length)) == "kernel" {
				p.kernels[parts[0]] = true
			}
		}
	}
}

// named returns the symbols in one of LLVM's lists.
func (p *program) named(list string) map[value]bool {
	set := map[value]bool{}
	if g := p.api.globalNamed(p.all, list); g != 0 {
		for _, entry := range p.entries(g) {
			set[p.strip(entry)] = true
		}
	}
	return set
}

// entries are the elements of a variable that is an array.
func (p *program) entries(g value) []value {
	initial := p.api.initializer(g)
	if initial == 0 {
		return nil
	}
	var list []value
	for i := range p.api.operandCount(initial) {
		list = append(list, p.api.operand(initial, uint32(i)))
	}
	return list
}

// strip looks through casts for the symbol.
func (p *program) strip(v value) value {
	for p.api.isGlobalValue(v) == 0 && p.api.isConstantExpr(v) != 0 && p.api.operandCount(v) > 0 {
		v = p.api.operand(v, 0)
	}
	return v
}

// filterCompilerUsed removes what the host can't name from the list of symbols that
// optimizations must keep. clang adds every variable that its source uses.
func (p *program) filterCompilerUsed() {
	const list = "llvm.compiler.used"
	g := p.api.globalNamed(p.all, list)
	if g == 0 || p.api.initializer(g) == 0 {
		return
	}
	var kept []value
	for _, entry := range p.entries(g) {
		if p.keeps(p.strip(entry)) {
			kept = append(kept, entry)
		}
	}
	element := p.api.elementType(p.api.valueType(g))
	p.api.deleteGlobal(g)
	if len(kept) == 0 {
		return
	}
	count := uint64(len(kept))
	g = p.api.addGlobal(p.all, p.api.arrayType(element, count), list)
	p.api.setInitializer(g, p.api.constantArray(element, &kept[0], count))
	p.api.setLinkage(g, linkageAppending)
	p.api.setSection(g, "llvm.metadata")
}

// definePureVirtual defines the function that vtables hold for a pure virtual one, which is
// never called.
func (p *program) definePureVirtual() {
	for _, name := range []string{"__cxa_pure_virtual", "__cxa_deleted_virtual"} {
		f := p.api.functionNamed(p.all, name)
		if f == 0 || p.api.isDeclaration(f) == 0 || p.api.firstUse(f) == 0 {
			continue
		}
		trap := p.api.functionNamed(p.all, "llvm.trap")
		t := p.api.functionType(p.api.voidType(p.context), nil, 0, 0)
		if trap == 0 {
			trap = p.api.addFunction(p.all, "llvm.trap", t)
		}
		b := p.api.newBuilder(p.context)
		p.api.atEnd(b, p.api.appendBlock(p.context, f, "entry"))
		p.api.buildCall(b, t, trap, nil, 0, "")
		p.api.buildUnreachable(b)
		p.api.disposeBuilder(b)
	}
}

// closeClasses marks all classes as having no members or derived classes elsewhere, so that
// calls of virtual functions can be resolved.
func (p *program) closeClasses() {
	if test := p.api.functionNamed(p.all, "llvm.public.type.test"); test != 0 {
		closed := p.api.functionNamed(p.all, "llvm.type.test")
		if closed == 0 {
			closed = p.api.addFunction(p.all, "llvm.type.test", p.api.valueType(test))
		}
		p.api.replaceUses(test, closed)
	}
	const linkageUnit = 1
	kind := func(name string) uint32 { return p.api.metadataKind(p.context, name, uint32(len(name))) }
	part := p.api.asMetadata(p.api.constantInt(p.api.int64Type(p.context), linkageUnit, 0))
	node := p.api.newNode(p.context, &part, 1)
	typeKind, visibilityKind := kind("type"), kind("vcall_visibility")
	for _, g := range p.variables() {
		if p.hasMetadata(g, typeKind) {
			p.api.setMetadata(g, visibilityKind, node)
		}
	}
}

func (p *program) hasMetadata(g value, kind uint32) bool {
	var count uintptr
	entries := p.api.copyMetadata(g, &count)
	defer p.api.disposeEntries(entries)
	for i := range count {
		if p.api.entryKind(entries, uint32(i)) == kind {
			return true
		}
	}
	return false
}

// noteHidden records a kernel or variable that only device code may need now. Tables that the
// compiler makes for classes are not reported to users.
func (p *program) noteHidden(v value) {
	name := p.api.name(v)
	variable := p.api.isGlobalVariable(v) != 0 && p.api.addressSpace(p.api.typeOf(v)) != sharedMemory &&
		!strings.HasPrefix(name, "_ZT")
	if variable || p.isKernel(v) {
		p.hidden[v] = name
	}
}

// noteRemoved notes which of those are gone.
func (p *program) noteRemoved() {
	left := map[value]bool{}
	for _, v := range slices.Concat(p.functions(), p.variables()) {
		left[v] = true
	}
	for v, name := range p.hidden {
		switch {
		case left[v]:
		case p.kernels[v]:
			p.answer.Kernels = append(p.answer.Kernels, name)
		default:
			p.answer.Variables = append(p.answer.Variables, name)
		}
	}
	slices.Sort(p.answer.Kernels)
	slices.Sort(p.answer.Variables)
}
