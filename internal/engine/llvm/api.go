// Package llvm is the worker's side of the engine on libLLVM, by its C interface.
//
// Modules are linked into one, edited so that LLVM knows what a device linker knows (which
// symbols the host may name, that nothing is loaded later), optimized and compiled to PTX.
package llvm

import (
	"unsafe"

	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/engine/clib"
)

// Handles of LLVM's objects. All of them are pointers into its own memory.
type (
	context  uintptr
	module   uintptr
	value    uintptr
	metadata uintptr
	typ      uintptr
	use      uintptr
	buffer   uintptr
	machine  uintptr
)

// An api is LLVM's functions, as the headers in llvm-c declare them.
type api struct {
	initializers []func()

	getVersion  func(major, minor, patch *uint32)
	parseOption func(count int32, options **byte, overview uintptr)
	dispose     func(message uintptr)

	contextCreate func() context
	setHandler    func(c context, handler, data uintptr)
	description   func(diagnostic uintptr) uintptr
	severity      func(diagnostic uintptr) int32

	readFile     func(path string, out *buffer, message *uintptr) int32
	bufferStart  func(buffer) uintptr
	bufferSize   func(buffer) uintptr
	parse        func(c context, b buffer, out *module) int32
	newModule    func(name string, c context) module
	link         func(into, from module) int32
	write        func(m module) buffer
	verify       func(m module, action int32, message *uintptr) int32
	setLayout    func(m module, layout uintptr)
	setTarget    func(m module, triple string)
	runPasses    func(m module, passes string, t machine, options uintptr) uintptr
	passOptions  func() uintptr
	errorMessage func(err uintptr) uintptr
	findTarget   func(triple string, out *uintptr, message *uintptr) int32
	newMachine   func(target uintptr, triple, cpu, features string, level, reloc, model int32) machine
	machineData  func(machine) uintptr
	emit         func(t machine, m module, fileType int32, message *uintptr, out *buffer) int32

	firstFunction, firstGlobal, firstAlias func(module) value
	nextFunction, nextGlobal, nextAlias    func(value) value
	functionNamed, globalNamed             func(m module, name string) value
	getName                                func(v value, length *uintptr) uintptr
	setName                                func(v value, name string, length uintptr)
	isDeclaration                          func(value) int32
	getLinkage                             func(value) int32
	setLinkage                             func(value, int32)
	setVisibility                          func(value, int32)
	setComdat                              func(v value, comdat uintptr)
	setSection                             func(v value, name string)
	convention                             func(value) uint32
	valueType                              func(value) typ
	typeOf                                 func(value) typ
	addressSpace                           func(typ) uint32
	elementType                            func(typ) typ
	addFunction                            func(m module, name string, t typ) value
	addGlobal                              func(m module, t typ, name string) value
	deleteGlobal                           func(value)
	initializer                            func(value) value
	setInitializer                         func(v, initial value)
	operandCount                           func(value) int32
	operand                                func(v value, i uint32) value
	constantArray                          func(t typ, values *value, count uint64) value
	arrayType                              func(t typ, count uint64) typ
	replaceUses                            func(old, with value)
	firstUse                               func(value) use
	nextUse                                func(use) use
	user                                   func(use) value
	isGlobalValue, isGlobalVariable        func(value) value
	isAlias                                func(value) value
	isCall, isConstantExpr                 func(value) value
	isString                               func(value) int32
	asString                               func(v value, length *uintptr) uintptr
	constantInt                            func(t typ, n uint64, signed int32) value
	int64Type, int32Type                   func(context) typ
	calledValue                            func(call value) value

	firstBlock       func(function value) uintptr
	nextBlock        func(block uintptr) uintptr
	firstInstruction func(block uintptr) value
	nextInstruction  func(value) value
	eraseInstruction func(value)
	canBeFast        func(value) int32
	fastFlags        func(value) uint32
	setFastFlags     func(v value, flags uint32)
	appendBlock      func(c context, function value, name string) uintptr
	newBuilder       func(context) uintptr
	disposeBuilder   func(builder uintptr)
	atEnd            func(builder, block uintptr)
	before           func(builder uintptr, instruction value)
	buildUnreachable func(builder uintptr) value
	buildCall        func(builder uintptr, t typ, f value, args *value, count uint32, name string) value
	buildBinary      func(builder uintptr, opcode int32, a, b value, name string) value
	opcode           func(instruction value) int32
	functionType     func(result typ, parameters *typ, count uint32, variadic int32) typ
	voidType         func(context) typ

	addAttribute    func(f value, index uint32, attribute uintptr)
	stringAttribute func(c context, key string, keySize uint32, value string, valueSize uint32) uintptr

	metadataKind      func(c context, name string, size uint32) uint32
	copyMetadata      func(v value, count *uintptr) uintptr
	entryKind         func(entries uintptr, i uint32) uint32
	disposeEntries    func(entries uintptr)
	setMetadata       func(v value, kind uint32, m metadata)
	newNode           func(c context, parts *metadata, count uintptr) metadata
	asMetadata        func(value) metadata
	namedOperandCount func(m module, name string) uint32
	namedOperands     func(m module, name string, out *value)
	nodeOperandCount  func(value) uint32
	nodeOperands      func(v value, out *value)
	metadataString    func(v value, length *uint32) uintptr
	isMetadataString  func(value) value
}

// table names the functions.
func (a *api) table() map[string]any {
	return map[string]any{
		"GetVersion": &a.getVersion, "ParseCommandLineOptions": &a.parseOption, "DisposeMessage": &a.dispose,
		"ContextCreate": &a.contextCreate, "ContextSetDiagnosticHandler": &a.setHandler,
		"GetDiagInfoDescription": &a.description, "GetDiagInfoSeverity": &a.severity,
		"CreateMemoryBufferWithContentsOfFile": &a.readFile, "GetBufferStart": &a.bufferStart, "GetBufferSize": &a.bufferSize,
		"ParseBitcodeInContext2": &a.parse, "ModuleCreateWithNameInContext": &a.newModule, "LinkModules2": &a.link,
		"WriteBitcodeToMemoryBuffer": &a.write, "VerifyModule": &a.verify, "SetModuleDataLayout": &a.setLayout,
		"SetTarget": &a.setTarget,
		"RunPasses": &a.runPasses, "CreatePassBuilderOptions": &a.passOptions, "GetErrorMessage": &a.errorMessage,
		"GetTargetFromTriple": &a.findTarget, "CreateTargetMachine": &a.newMachine, "CreateTargetDataLayout": &a.machineData,
		"TargetMachineEmitToMemoryBuffer": &a.emit,

		"GetFirstFunction": &a.firstFunction, "GetNextFunction": &a.nextFunction, "GetFirstGlobal": &a.firstGlobal,
		"GetNextGlobal":       &a.nextGlobal,
		"GetFirstGlobalAlias": &a.firstAlias, "GetNextGlobalAlias": &a.nextAlias, "GetNamedFunction": &a.functionNamed,
		"GetNamedGlobal": &a.globalNamed,
		"GetValueName2":  &a.getName, "SetValueName2": &a.setName, "IsDeclaration": &a.isDeclaration,
		"GetLinkage": &a.getLinkage,
		"SetLinkage": &a.setLinkage, "SetVisibility": &a.setVisibility, "SetComdat": &a.setComdat,
		"SetSection":          &a.setSection,
		"GetFunctionCallConv": &a.convention, "GlobalGetValueType": &a.valueType, "TypeOf": &a.typeOf,
		"GetPointerAddressSpace": &a.addressSpace,
		"GetElementType":         &a.elementType, "AddFunction": &a.addFunction, "AddGlobal": &a.addGlobal,
		"DeleteGlobal":   &a.deleteGlobal,
		"GetInitializer": &a.initializer, "SetInitializer": &a.setInitializer, "GetNumOperands": &a.operandCount,
		"GetOperand":  &a.operand,
		"ConstArray2": &a.constantArray, "ArrayType2": &a.arrayType, "ReplaceAllUsesWith": &a.replaceUses,
		"GetFirstUse": &a.firstUse,
		"GetNextUse":  &a.nextUse, "GetUser": &a.user, "IsAGlobalValue": &a.isGlobalValue,
		"IsAGlobalVariable": &a.isGlobalVariable, "IsAGlobalAlias": &a.isAlias,
		"IsACallInst": &a.isCall, "IsAConstantExpr": &a.isConstantExpr, "IsConstantString": &a.isString,
		"GetAsString": &a.asString,
		"ConstInt":    &a.constantInt, "Int64TypeInContext": &a.int64Type, "Int32TypeInContext": &a.int32Type,
		"GetCalledValue": &a.calledValue,

		"GetFirstBasicBlock": &a.firstBlock, "GetNextBasicBlock": &a.nextBlock, "GetFirstInstruction": &a.firstInstruction,
		"GetNextInstruction": &a.nextInstruction, "InstructionEraseFromParent": &a.eraseInstruction,
		"CanValueUseFastMathFlags": &a.canBeFast,
		"GetFastMathFlags":         &a.fastFlags, "SetFastMathFlags": &a.setFastFlags,
		"AppendBasicBlockInContext": &a.appendBlock,
		"CreateBuilderInContext":    &a.newBuilder, "DisposeBuilder": &a.disposeBuilder, "PositionBuilderAtEnd": &a.atEnd,
		"PositionBuilderBefore": &a.before,
		"BuildUnreachable":      &a.buildUnreachable, "BuildCall2": &a.buildCall, "BuildBinOp": &a.buildBinary,
		"GetInstructionOpcode": &a.opcode,
		"FunctionType":         &a.functionType, "VoidTypeInContext": &a.voidType,
		"AddAttributeAtIndex": &a.addAttribute, "CreateStringAttribute": &a.stringAttribute,

		"GetMDKindIDInContext": &a.metadataKind, "GlobalCopyAllMetadata": &a.copyMetadata,
		"ValueMetadataEntriesGetKind": &a.entryKind,
		"DisposeValueMetadataEntries": &a.disposeEntries, "GlobalSetMetadata": &a.setMetadata, "MDNodeInContext2": &a.newNode,
		"ValueAsMetadata": &a.asMetadata, "GetNamedMetadataNumOperands": &a.namedOperandCount,
		"GetNamedMetadataOperands": &a.namedOperands,
		"GetMDNodeNumOperands":     &a.nodeOperandCount, "GetMDNodeOperands": &a.nodeOperands,
		"GetMDString": &a.metadataString, "IsAMDString": &a.isMetadataString,
	}
}

// load opens the library and readies it for NVPTX.
func load(path string) (*api, error) {
	engine.Stage("load")
	a := &api{initializers: make([]func(), 4)}
	functions := map[string]any{}
	for name, f := range a.table() {
		functions["LLVM"+name] = f
	}
	for i, part := range []string{"TargetInfo", "Target", "TargetMC", "AsmPrinter"} {
		functions["LLVMInitializeNVPTX"+part] = &a.initializers[i]
	}
	if err := clib.Load(path, functions); err != nil {
		return nil, err
	}
	for _, initialize := range a.initializers {
		initialize()
	}
	return a, nil
}

// text copies length bytes of LLVM's memory.
func text(address, length uintptr) string {
	if address == 0 {
		return ""
	}
	return string(unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&address))), length))
}

// cString copies a string that ends in a NUL.
func cString(address uintptr) string {
	length := uintptr(0)
	for address != 0 && text(address+length, 1) != "\x00" {
		length++
	}
	return text(address, length)
}

func (a *api) name(v value) string {
	var length uintptr
	address := a.getName(v, &length)
	return text(address, length)
}

// take returns a message of LLVM and frees it.
func (a *api) take(message uintptr) string {
	defer a.dispose(message)
	return cString(message)
}

// contents copies a buffer.
func (a *api) contents(b buffer) []byte {
	return []byte(text(a.bufferStart(b), a.bufferSize(b)))
}

// The C interface ignores options that LLVM doesn't know. The function behind it, whose name
// differs between versions with other parameters, reports them and exits.
const (
	parse19 = "_ZN4llvm2cl23ParseCommandLineOptionsEiPKPKcNS_9StringRefEPNS_11raw_ostreamES2_b"
	parse22 = "_ZN4llvm2cl23ParseCommandLineOptionsEiPKPKcNS_9StringRefEPNS_11raw_ostreamEPNS_3vfs10FileSystemES2_b"
)

// options hands options to LLVM.
func (a *api) options(path string, list []string) {
	engine.Stage("LLVMParseCommandLineOptions")
	count, words := int32(len(list)+1), clib.Strings(append([]string{"libLLVM"}, list...))
	var with19 func(count int32, words **byte, overview, size, errors, variable uintptr, dashes bool) bool
	var with22 func(count int32, words **byte, overview, size, errors, files, variable uintptr, dashes bool) bool
	switch {
	case clib.Load(path, map[string]any{parse22: &with22}) == nil:
		with22(count, words, 0, 0, 0, 0, 0, false)
	case clib.Load(path, map[string]any{parse19: &with19}) == nil:
		with19(count, words, 0, 0, 0, 0, false)
	default:
		a.parseOption(count, words, 0)
	}
}
