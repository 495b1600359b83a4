// Package engine turns intermediate code into PTX, and PTX into cubins, by
// making actions for the engines that the user's toolkit holds.
//
// libnvvm and nvJitLink are libraries, and they crash. They are loaded by a
// worker: warpld started again as a child process, with the library as one of
// the action's inputs. This package is the linker's side of it; the worker's
// side is in the packages below.
package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/plan"
)

// library is the name of the engine's library in the working directory.
func library(e plan.Engine) string {
	switch e {
	case plan.JITLink:
		return "libnvJitLink.so"
	case plan.Bitcode:
		return "libLLVM.so"
	}
	return "libnvvm.so"
}

// Names of files in the working directory of a worker.
const (
	WorkerArgument = "worker" // warpld's first argument when it is the worker
	JobFile        = "job.json"
	AnswerFile     = "answer.json"
	PTXFile        = "lto.ptx"
	LinkedFile     = "linked_lto.bc"
)

// CallFailed is the worker's exit code when its answer is that a call failed: such
// an answer is no result to keep, here or on a server.
const CallFailed = 3

// InvalidShards is the worker's exit code when the lengths of the shards don't fit
// their text: threads of the library got in each other's way.
const InvalidShards = 4

// A Module is one piece of intermediate code and its name in messages.
type Module struct {
	Origin  string
	Content action.Content
}

// Tools are the programs and libraries that actions are made of.
type Tools struct {
	Self    string // warpld's own executable
	Library string // the engine's
	PTXAS   string
	// PostLink asks for the linked bitcode too, which only libnvvm returns.
	PostLink bool
	// Env reaches the tools; it is empty but for tests.
	Env   []string
	Limit time.Duration
	// MemoryLimit is for the engine's library. Zero is no limit.
	MemoryLimit int64
}

// stall is how long a tool may wait without computing. Libraries that compile in
// several threads sometimes wait for themselves.
const stall = 30 * time.Second

// A Job is what a worker reads. Modules are named by their place in the link, not
// by their paths, so that the same program in another directory is the same job.
type Job struct {
	Engine  plan.Engine
	Library string // a path with a slash in it, so that it is not searched for
	Modules []string
	Options []string
	// PostLink asks for the bitcode of all modules after they were linked.
	PostLink bool `json:",omitempty"`
	// Apart asks for a result of each module by itself, in files named by
	// SeparateFile.
	Apart bool `json:",omitempty"`
	// LLVM is for the engine on libLLVM alone.
	LLVM *LLVMJob `json:",omitempty"`
}

// An Answer is what a worker writes.
type Answer struct {
	// Call is the library call that failed, or empty.
	Call string
	Code int
	// Module is the index of the module that the failed call was about, or -1.
	Module int
	// Error is the library's own name for Code.
	Error string
	// Log is what the library wrote, on success too.
	Log string
	// Relocatable means that the PTX has unresolved functions and must be linked further; the
	// engine decides that, not the options.
	Relocatable bool
	// Shards are the lengths of the PTX texts that lie back to back in PTXFile.
	Shards []int64
	// Linked is the bitcode that Job.PostLink asks for; it goes to LinkedFile.
	Linked []byte `json:"-"`
	// LLVM is of the engine on libLLVM alone.
	LLVM *LLVMAnswer `json:",omitempty"`
}

// Compile returns the action that compiles the modules to PTX.
func Compile(kind plan.Engine, t Tools, modules []Module, options []string) (*action.Action, error) {
	job := Job{Engine: kind, Options: options, PostLink: t.PostLink && kind == plan.NVVM}
	outputs := []string{PTXFile, AnswerFile}
	if job.PostLink {
		outputs = append(outputs, LinkedFile)
	}
	return job.action(t, modules, nil, outputs)
}

// CompileSeparately returns the action that compiles each module to PTX by itself. One process
// for many small modules saves most of the time, because loading the library takes longer than
// compiling.
func CompileSeparately(kind plan.Engine, t Tools, modules []Module, options []string) (*action.Action, error) {
	var outputs []string
	for i := range modules {
		outputs = append(outputs, SeparateFile(i, PTXFile), SeparateFile(i, AnswerFile))
	}
	return (&Job{Engine: kind, Options: options, Apart: true}).action(t, modules, nil, outputs)
}

// SeparateFile returns the name of a module's own output file.
func SeparateFile(place int, file string) string { return fmt.Sprintf("%05d-%s", place, file) }

// SeparateResult returns one module's part of a CompileSeparately result, in the form of
// a Compile result.
func SeparateResult(r *action.Result, place int) *action.Result {
	one := *r
	one.Outputs = map[string]action.Content{PTXFile: r.Outputs[SeparateFile(place, PTXFile)],
		AnswerFile: r.Outputs[SeparateFile(place, AnswerFile)]}
	return &one
}

// action is that of a worker that does the job on the modules; extra are inputs
// beside them.
func (job *Job) action(t Tools, modules []Module, extra []action.File, outputs []string) (*action.Action, error) {
	job.Library = "./" + library(job.Engine)
	inputs := extra
	for i, m := range modules {
		name := ModuleName(i)
		job.Modules = append(job.Modules, name)
		inputs = append(inputs, action.File{Name: name, Origin: m.Origin, Content: m.Content})
	}
	text, err := json.Marshal(job)
	if err != nil {
		return nil, fmt.Errorf("job of the %s engine: %w", job.Engine, err)
	}
	inputs = append(inputs,
		action.File{Name: JobFile, Content: action.Bytes(text)},
		action.File{Name: library(job.Engine), Toolchain: true, Content: action.AtPath(t.Library)})
	return &action.Action{
		Label:   "compile",
		Tool:    action.File{Name: "warpld", Content: action.AtPath(t.Self)},
		Args:    []string{WorkerArgument},
		Env:     t.Env,
		Inputs:  inputs,
		Outputs: outputs,
		Limit:   t.Limit, Stall: stall, MemoryLimit: t.MemoryLimit,
		Cost: compileCost(modules),
	}, nil
}

// What tools need, by and large: libnvvm 40 MB and 50 times the size of the IR, ptxas
// 25 MB and 60 times the size of the PTX.
func compileCost(modules []Module) action.Estimate {
	var size int64
	for _, m := range modules {
		size += m.Content.Size()
	}
	return action.Estimate{Memory: 40<<20 + 50*size}
}

// AssembleCost returns what ptxas needs for so many bytes of PTX.
func AssembleCost(size int64) action.Estimate { return action.Estimate{Memory: 25<<20 + 60*size} }

// ModuleName is what the engine knows a module by.
func ModuleName(place int) string { return fmt.Sprintf("module-%05d.ir", place) }

// AssembleLabel is the label of actions of ptxas.
const AssembleLabel = "assemble"

// Assemble returns the action that assembles one PTX text to a cubin.
func Assemble(t Tools, ptx action.Content, arguments []string) *action.Action {
	return &action.Action{
		Label:   AssembleLabel,
		Tool:    action.File{Name: "ptxas", Content: action.AtPath(t.PTXAS)},
		Args:    append(slices.Clone(arguments), PTXFile, "-o", CubinFile),
		Env:     t.Env,
		Inputs:  []action.File{{Name: PTXFile, Content: ptx}},
		Outputs: []string{CubinFile},
		Limit:   t.Limit, Stall: stall,
		Cost: AssembleCost(ptx.Size()),
	}
}

// CubinFile is ptxas's output in its working directory.
const CubinFile = "lto.cubin"
