package llvm

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/ebitengine/purego"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/plan"
)

const triple = "nvptx64-nvidia-cuda"

// A failure is a call that did not go well, in LLVM's words.
type failure struct {
	call   string
	module int // its index, or -1
	text   string
}

func (f *failure) Error() string { return f.call + ": " + f.text }

// A program is the modules of a job on their way to PTX.
type program struct {
	api     *api
	job     *engine.LLVMJob
	answer  *engine.LLVMAnswer
	context context
	machine machine
	layout  uintptr
	all     module // all modules in one
	// kernels are those that only metadata calls so, as LLVM did up to version 20.
	kernels map[value]bool
	// hidden are kernels and variables that the host can't name, with their names.
	hidden  map[value]string
	bitcode []byte // the result, where it is not PTX
	// errors are what LLVM complained of since the last call was announced.
	errors []string
}

// Compile compiles the job's modules to PTX.
func Compile(job *engine.Job) (*engine.Answer, []byte, error) {
	if job.LLVM == nil {
		return nil, nil, fmt.Errorf("%s is for another engine", engine.JobFile)
	}
	runtime.LockOSThread()
	lib, err := load(job.Library)
	if err != nil {
		return &engine.Answer{Call: "load", Module: -1, Error: err.Error()}, nil, nil
	}
	p := &program{api: lib, job: job.LLVM, answer: &engine.LLVMAnswer{}, hidden: map[value]string{}}
	if len(job.Modules) == 0 {
		return nil, nil, fmt.Errorf("%s names no modules", engine.JobFile)
	}
	ptx, err := p.compile(job)
	if f, ok := err.(*failure); ok {
		return &engine.Answer{Call: f.call, Module: f.module, Error: f.text, LLVM: p.answer}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var unknown gpu.Release // libLLVM is no part of the toolkit
	open := engine.IsOpen(ptx, unknown)
	return &engine.Answer{Module: -1, Relocatable: open, Linked: p.bitcode, LLVM: p.answer}, ptx, nil
}

func (p *program) compile(job *engine.Job) ([]byte, error) {
	if err := p.start(job.Library); err != nil {
		return nil, err
	}
	if p.job.Prepare {
		return nil, p.prepareAlone(job.Modules[0])
	}
	for i, file := range job.Modules {
		m, err := p.read(file, i)
		if err != nil {
			return nil, err
		}
		if err := p.add(m, i); err != nil {
			return nil, err
		}
	}
	if p.job.Merge {
		err := p.check("after its modules were linked")
		p.bitcode = p.api.contents(p.api.write(p.all))
		return nil, err
	}
	if err := p.addLibdevice(); err != nil {
		return nil, err
	}
	p.findKernels()
	p.edit()
	if err := p.check("after it was prepared"); err != nil {
		return nil, err
	}
	if err := p.optimize(); err != nil {
		return nil, err
	}
	if err := p.repairNames(); err != nil {
		return nil, err
	}
	if err := p.check("after it was optimized"); err != nil {
		return nil, err
	}
	return p.emitPTX()
}

// prepareAlone edits one module for ThinLTO: what hides symbols is left to the thin
// link.
func (p *program) prepareAlone(file string) (err error) {
	if p.all, err = p.read(file, 0); err != nil {
		return err
	}
	if err := p.addLibdevice(); err != nil {
		return err
	}
	p.findKernels()
	p.resolveReflection()
	p.setFloatingPoint()
	if p.job.Keep != nil {
		p.filterCompilerUsed()
	}
	if err := p.run("globaldce"); err != nil { // above all, what is not needed of libdevice
		return err
	}
	if err := p.check("after it was prepared"); err != nil {
		return err
	}
	p.bitcode = p.api.contents(p.api.write(p.all))
	return nil
}

// start readies LLVM: options, the context with its handler, the target.
func (p *program) start(library string) error {
	var major, minor, patch uint32
	p.api.getVersion(&major, &minor, &patch)
	p.answer.Version = fmt.Sprintf("%d.%d.%d", major, minor, patch)
	p.api.options(library, p.optionList())
	p.context = p.api.contextCreate()
	p.api.setHandler(p.context, purego.NewCallback(p.onDiagnostic), 0)
	engine.Stage("LLVMCreateTargetMachine")
	var target, message uintptr
	if p.api.findTarget(triple, &target, &message) != 0 {
		return &failure{"LLVMGetTargetFromTriple", -1, p.api.take(message)}
	}
	const defaultReloc, defaultModel = 0, 0
	p.machine = p.api.newMachine(target, triple, p.job.CPU, p.job.Features, int32(p.job.Level), defaultReloc, defaultModel)
	p.layout = p.api.machineData(p.machine)
	p.all = p.api.newModule("lto", p.context)
	p.prepare(p.all)
	return nil
}

// optionList is LLVM's own options, those of the command line last.
func (p *program) optionList() []string {
	var list []string
	if p.job.Closed {
		list = append(list, "-whole-program-visibility")
	}
	if p.job.Remarks {
		list = append(list, "-pass-remarks="+plan.RemarksOn, "-pass-remarks-missed="+plan.RemarksMissed)
	}
	return append(append(list, p.job.OptionList()...), p.job.Options...)
}

func pick(on bool, yes, no string) string {
	if on {
		return yes
	}
	return no
}

// onDiagnostic is called by LLVM with each of its diagnostics.
func (p *program) onDiagnostic(diagnostic, _ uintptr) uintptr {
	const isError, isWarning, isRemark = 0, 1, 2
	words := p.api.take(p.api.description(diagnostic))
	switch p.api.severity(diagnostic) {
	case isError:
		p.errors = append(p.errors, words)
	case isWarning:
		p.answer.Warnings = append(p.answer.Warnings, words)
	case isRemark:
		p.answer.Remarks = append(p.answer.Remarks, strings.TrimPrefix(words, "<unknown>:0:0: "))
	}
	return 0
}

// complaint returns LLVM's message, or otherwise if it printed none.
func (p *program) complaint(otherwise string) string {
	if len(p.errors) == 0 {
		return otherwise
	}
	return strings.Join(p.errors, "; ")
}

// prepare sets a module's triple and data layout to the target's. Those of compilers differ in
// details between versions.
func (p *program) prepare(m module) {
	p.api.setTarget(m, triple)
	p.api.setLayout(m, p.layout)
}

// read parses and validates one file.
func (p *program) read(file string, place int) (module, error) {
	var b buffer
	var message uintptr
	var m module
	engine.Stage("LLVMParseBitcode", file)
	p.errors = nil
	if p.api.readFile(file, &b, &message) != 0 {
		return 0, &failure{"LLVMCreateMemoryBuffer", place, p.api.take(message)}
	}
	if p.api.parse(p.context, b, &m) != 0 {
		return 0, &failure{"LLVMParseBitcode", place, p.complaint("the bitcode cannot be read")}
	}
	p.prepare(m)
	engine.Stage("LLVMVerifyModule", file)
	const returnStatus = 2
	if p.api.verify(m, returnStatus, &message) != 0 {
		return 0, &failure{"LLVMVerifyModule", place, "the bitcode is not valid: " + firstLine(p.api.take(message))}
	}
	return m, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// add links a module into the others.
func (p *program) add(m module, place int) error {
	engine.Stage("LLVMLinkModules", engine.ModuleName(place))
	p.errors = nil
	if p.api.link(p.all, m) != 0 {
		return &failure{"LLVMLinkModules", place, p.complaint("the bitcode cannot be linked with that before it")}
	}
	return nil
}

// addLibdevice links NVIDIA's functions. They are nobody's but this program's, so
// that what it doesn't use goes with the next pass.
func (p *program) addLibdevice() error {
	if p.job.Library == "" {
		return nil
	}
	m, err := p.read(p.job.Library, -1)
	if err != nil {
		return err
	}
	var ours []string
	for f := p.api.firstFunction(m); f != 0; f = p.api.nextFunction(f) {
		name := p.api.name(f)
		if own := p.api.functionNamed(p.all, name); p.api.isDeclaration(f) == 0 &&
			(own == 0 || p.api.isDeclaration(own) != 0) {
			ours = append(ours, name)
		}
	}
	if err := p.add(m, -1); err != nil {
		return err
	}
	for _, name := range ours {
		if f := p.api.functionNamed(p.all, name); f != 0 {
			p.hide(f)
		}
	}
	return nil
}

// check validates all modules together.
func (p *program) check(when string) error {
	engine.Stage("LLVMVerifyModule")
	var message uintptr
	const returnStatus = 2
	if p.api.verify(p.all, returnStatus, &message) != 0 {
		return &failure{"LLVMVerifyModule", -1, "the program is not valid " + when + ": " + firstLine(p.api.take(message))}
	}
	p.api.dispose(message)
	return nil
}

// optimize runs LLVM's passes: first those that remove what is not needed, so that this can be
// reported apart from what optimization removes.
func (p *program) optimize() error {
	for _, pass := range []string{"nvvm-reflect", "globaldce"} { // apart: one was a pass for functions once
		if err := p.run(pass); err != nil {
			return err
		}
	}
	p.noteRemoved()
	return p.run(fmt.Sprintf("lto<O%d>,globaldce", p.job.Level))
}

func (p *program) run(passes string) error {
	engine.Stage("LLVMRunPasses")
	p.errors = nil
	if err := p.api.runPasses(p.all, passes, p.machine, p.api.passOptions()); err != 0 {
		return &failure{"LLVMRunPasses", -1, cString(p.api.errorMessage(err))}
	}
	if len(p.errors) > 0 {
		return &failure{"LLVMRunPasses", -1, p.complaint("")}
	}
	return nil
}

// emitPTX makes the text.
func (p *program) emitPTX() ([]byte, error) {
	engine.Stage("LLVMTargetMachineEmit")
	var out buffer
	var message uintptr
	p.errors = nil
	const assembly = 0
	if p.api.emit(p.machine, p.all, assembly, &message, &out) != 0 {
		return nil, &failure{"LLVMTargetMachineEmit", -1, p.api.take(message)}
	}
	if len(p.errors) > 0 {
		return nil, &failure{"LLVMTargetMachineEmit", -1, p.complaint("")}
	}
	return p.api.contents(out), nil
}
