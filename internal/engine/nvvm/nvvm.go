// Package nvvm is the worker's side of the engine on libnvvm.
//
// libnvvm's public interface accepts LLVM bitcode, but nvcc's LTO objects hold a container
// that only a function behind __nvvmHandle reads. The calls are made in nvlink's order; a test
// compares recordings of both linkers.
package nvvm

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/engine/clib"
)

// Codes for which __nvvmHandle returns functions.
const (
	handleAdd   = 0x2080 // (program, data, size, name): add an LTO-IR container
	handleSizes = 0xB0BA // (program, count, sizes): lengths of the shards
	handleCount = 0xF00D // (program, *count): number of shards
	handleAfter = 0xBEEF // (program, callback, data, stage): call back after a stage
)

// Answers of nvvmCompileProgram that are no errors.
const (
	codeRelocatable = 0   // functions are missing: the PTX must be linked further
	codeWhole       = 100 // the program is closed
)

// A library is libnvvm's functions, as nvvm.h declares them.
type library struct {
	create      func(program *uintptr) int32
	handle      func(code uint32) uintptr
	compile     func(program uintptr, count int32, options **byte) int32
	resultSize  func(program uintptr, size *uint64) int32
	result      func(program uintptr, buffer *byte) int32
	errorString func(code int32) string
	logSize     func(program uintptr, size *uint64) int32
	log         func(program uintptr, buffer *byte) int32
	destroy     func(program *uintptr) int32

	// These come from handle.
	add   func(program uintptr, data *byte, size uint64, name string) int32
	sizes func(program uintptr, count int32, sizes *uint64) int32
	count func(program uintptr, count *int32) int32
	after func(program, callback, data uintptr, stage int32) int32
}

// A failure is a call that did not answer well.
type failure struct {
	call   string
	code   int32
	module int
	reason string
}

func (f *failure) Error() string { return fmt.Sprintf("%s: %d", f.call, f.code) }

// Compile compiles the job's modules to PTX.
func Compile(job *engine.Job) (*engine.Answer, []byte, error) {
	lib, err := load(job.Library)
	if err != nil {
		return &engine.Answer{Call: "load", Module: -1, Error: err.Error()}, nil, nil
	}
	p := &program{library: lib, answer: &engine.Answer{Module: -1}}
	ptx, err := p.compile(job)
	var f *failure
	switch f, _ = err.(*failure); {
	case f != nil:
		p.answer.Call, p.answer.Code, p.answer.Module = f.call, int(f.code), f.module
		p.answer.Error = f.reason
	case err != nil:
		return nil, nil, err
	}
	return p.answer, ptx, nil
}

func load(path string) (*library, error) {
	engine.Stage("load")
	l := &library{}
	err := clib.Load(path, map[string]any{
		"nvvmCreateProgram": &l.create, "__nvvmHandle": &l.handle, "nvvmCompileProgram": &l.compile,
		"nvvmGetCompiledResultSize": &l.resultSize, "nvvmGetCompiledResult": &l.result,
		"nvvmGetErrorString": &l.errorString, "nvvmGetProgramLogSize": &l.logSize,
		"nvvmGetProgramLog": &l.log, "nvvmDestroyProgram": &l.destroy,
	})
	return l, err
}

// A program is one nvvmProgram and what is known of it so far.
type program struct {
	*library
	handle uintptr
	answer *engine.Answer
}

func (p *program) compile(job *engine.Job) ([]byte, error) {
	if err := check("nvvmCreateProgram", p.library.create(p.stage("nvvmCreateProgram"))); err != nil {
		return nil, err
	}
	modules, err := p.addAll(job.Modules)
	if err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(modules)
	if job.PostLink {
		if err := p.keepLinked(); err != nil {
			return nil, err
		}
	}
	if !p.bind(handleSizes, &p.sizes) || !p.bind(handleCount, &p.count) {
		return nil, &failure{call: "load", module: -1, reason: "__nvvmHandle has no function for split results"}
	}
	engine.Stage("nvvmCompileProgram")
	code := p.library.compile(p.handle, int32(len(job.Options)), clib.Strings(job.Options))
	if code != codeWhole && code != codeRelocatable {
		p.answer.Error = p.errorString(code)
	}
	if p.answer.Log, err = p.readLog(); err != nil {
		return nil, err
	}
	if p.answer.Error != "" {
		return nil, &failure{"nvvmCompileProgram", code, -1, p.answer.Error}
	}
	p.answer.Relocatable = code == codeRelocatable
	return p.readResult()
}

// stage announces a call and returns the address of the program's handle.
func (p *program) stage(call string) *uintptr {
	engine.Stage(call)
	return &p.handle
}

// bind sets function to what __nvvmHandle has for the code.
func (p *program) bind(code uint32, function any) bool {
	address := p.library.handle(code)
	if address == 0 {
		return false
	}
	purego.RegisterFunc(function, address)
	return true
}

// addAll passes the modules to the library, which may keep pointers into them.
func (p *program) addAll(files []string) ([][]byte, error) {
	var modules [][]byte
	for i, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		modules = append(modules, data)
		if !p.bind(handleAdd, &p.add) {
			return nil, &failure{call: "load", module: -1, reason: "__nvvmHandle has no function for LTO-IR"}
		}
		name := engine.ModuleName(i)
		engine.Stage("nvvmAddModule", name)
		if code := p.add(p.handle, unsafe.SliceData(data), uint64(len(data)), name); code != 0 {
			return nil, &failure{"nvvmAddModule", code, i, ""}
		}
	}
	return modules, nil
}

// stageLinked is the stage after which all modules are one.
const stageLinked = 0xF00D

// keepLinked asks for the bitcode of the linked modules: the library calls back
// with it while it compiles.
func (p *program) keepLinked() error {
	if !p.bind(handleAfter, &p.after) {
		return &failure{call: "load", module: -1, reason: "__nvvmHandle has no function for linked bitcode"}
	}
	callback := purego.NewCallback(func(bitcode *byte, size, _ uintptr) uintptr {
		p.answer.Linked = bytes.Clone(unsafe.Slice(bitcode, size))
		return 0
	})
	engine.Stage("nvvmSetCallback")
	return check("nvvmSetCallback", p.after(p.handle, callback, 0, stageLinked))
}

func (p *program) readLog() (string, error) {
	engine.Stage("nvvmGetProgramLog")
	var size uint64
	if err := check("nvvmGetProgramLogSize", p.logSize(p.handle, &size)); err != nil || size <= 1 {
		return "", err
	}
	text := make([]byte, size)
	if err := check("nvvmGetProgramLog", p.log(p.handle, &text[0])); err != nil {
		return "", err
	}
	return string(text[:size-1]), nil
}

func (p *program) readResult() ([]byte, error) {
	engine.Stage("nvvmGetCompiledResult")
	var size uint64
	if err := check("nvvmGetCompiledResultSize", p.resultSize(p.handle, &size)); err != nil {
		return nil, err
	}
	var count int32
	if err := check("nvvmGetResultCount", p.count(p.handle, &count)); err != nil {
		return nil, err
	}
	if count > 1 {
		lengths := make([]uint64, count)
		if err := check("nvvmGetResultSizes", p.sizes(p.handle, count, &lengths[0])); err != nil {
			return nil, err
		}
		for _, n := range lengths {
			p.answer.Shards = append(p.answer.Shards, int64(n))
		}
	}
	text := make([]byte, size+1) // one more, so that an empty result has an address
	if err := check("nvvmGetCompiledResult", p.result(p.handle, &text[0])); err != nil {
		return nil, err
	}
	if err := check("nvvmDestroyProgram", p.destroy(p.stage("nvvmDestroyProgram"))); err != nil {
		return nil, err
	}
	return text[:max(size, 1)-1], nil
}

func check(call string, code int32) error {
	if code != 0 {
		return &failure{call, code, -1, ""}
	}
	return nil
}
