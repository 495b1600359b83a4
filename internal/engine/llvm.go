package engine

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/pattern"
	"github.com/warpld/warpld/internal/plan"
)

// libdeviceFile is NVIDIA's library of mathematics in the working directory.
const libdeviceFile = "libdevice.bc"

// An LLVMJob is what a worker on libLLVM is asked for beyond its modules.
type LLVMJob struct {
	plan.LLVM
	Library string // libdevice's path, or empty if it is not needed
	// Prepare asks for bitcode of the only module that is ready for ThinLTO, but for
	// its summary, instead of PTX.
	Prepare bool `json:",omitempty"`
	// Merge asks for bitcode of all modules in one, which can be linked again.
	Merge bool `json:",omitempty"`
}

// An LLVMAnswer is what the worker reports beside the PTX.
type LLVMAnswer struct {
	// Version is LLVM's own: "22.1.8".
	Version string
	// Kernels and Variables were removed, because the host can't name them and no
	// device code needs them.
	Kernels, Variables []string
	// Warnings are LLVM's, and so are Remarks, which were asked for.
	Warnings []string
	Remarks  []string `json:",omitempty"`
}

// CompileBitcode returns the action that compiles bitcode to PTX. libdevice is the path of
// NVIDIA's library of mathematics, if the plan asks for it.
func CompileBitcode(t Tools, modules []Module, settings plan.LLVM, libdevice string) (*action.Action, error) {
	job := Job{Engine: plan.Bitcode, LLVM: &LLVMJob{LLVM: settings}}
	var extra []action.File
	if settings.Libdevice {
		job.LLVM.Library = libdeviceFile
		extra = append(extra, action.File{Name: libdeviceFile, Content: action.AtPath(libdevice)})
	}
	a, err := job.action(t, modules, extra, []string{PTXFile, AnswerFile})
	if err != nil {
		return nil, err
	}
	a.Label = "compile-bitcode"
	return a, nil
}

// MergeBitcode returns the action that links all modules into one.
func MergeBitcode(t Tools, modules []Module, settings plan.LLVM) (*action.Action, error) {
	job := Job{Engine: plan.Bitcode, LLVM: &LLVMJob{LLVM: settings, Merge: true}, PostLink: true}
	a, err := job.action(t, modules, nil, []string{PTXFile, AnswerFile, LinkedFile})
	if err != nil {
		return nil, err
	}
	a.Label = "merge-bitcode"
	return a, nil
}

// ParseBitcodeResult returns what an action of CompileBitcode or MergeBitcode made.
func ParseBitcodeResult(modules []Module, r *action.Result) (*Outcome, *LLVMAnswer, error) {
	if !answered(r) {
		return nil, nil, bitcodeDied(modules, r)
	}
	text, err := r.Outputs[AnswerFile].Read()
	if err != nil {
		return nil, nil, err
	}
	var a Answer
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, nil, fmt.Errorf("answer of libLLVM's worker: %w", err)
	}
	if a.Call != "" {
		return nil, nil, bitcodeFailed(modules, &a)
	}
	if a.LLVM == nil {
		return nil, nil, fmt.Errorf("answer of libLLVM's worker is of another engine")
	}
	if unknown := unknownCPU().FindSubmatch(r.Stderr); unknown != nil {
		return nil, nil, &message.Message{Severity: message.Fatal, ID: "llvm-arch",
			Text: fmt.Sprintf("LLVM %s does not know %s", a.LLVM.Version, unknown[1]),
			Hint: "--warpld-llvm=PATH names a newer libLLVM"}
	}
	for i, w := range a.LLVM.Warnings {
		a.LLVM.Warnings[i] = WithOrigins(w, modules)
	}
	return &Outcome{PTX: r.Outputs[PTXFile], Relocatable: a.Relocatable}, a.LLVM, nil
}

// unknownCPU matches LLVM's warning about an architecture that it doesn't know, after which it
// compiles for the oldest one.
var unknownCPU = pattern.Lazy(`('\w+') is not a recognized processor`)

// bitcodeFailed returns the message for a call that failed: LLVM's text and the module that
// the call was about.
func bitcodeFailed(modules []Module, a *Answer) error {
	m := &message.Message{Severity: message.Fatal, ID: "llvm-failed", Text: WithOrigins(a.Error, modules)}
	if a.Call == "load" {
		m.Text, m.Notes = "libLLVM cannot be loaded", []string{a.Error}
		m.Hint = "--warpld-llvm=PATH names another"
		return m
	}
	m.Notes = []string{"in " + a.Call + " of libLLVM"}
	if a.Module >= 0 && a.Module < len(modules) {
		m.Notes = append(m.Notes, "the bitcode is from "+modules[a.Module].Origin)
	}
	return m
}

// bitcodeDied returns the message of died with hints for LLVM.
func bitcodeDied(modules []Module, r *action.Result) error {
	err := died(plan.Bitcode, modules, r)
	for _, m := range message.Of(err) {
		m.Hint = "the bitcode may be damaged; --warpld-keep keeps the working directory, in which 'warpld worker' repeats " +
			"the crash"
		if strings.Contains(m.Text, "LLVMParseCommandLineOptions") {
			m.Hint = "--warpld-llvm-options has an option that this LLVM does not know"
		}
	}
	return err
}
