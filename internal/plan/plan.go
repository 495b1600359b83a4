// Package plan decides what a link will do, and why, before anything is done. It
// is a pure function of the options and of what the inputs hold: it opens no
// file and starts no process, so every rule can be tested as a table.
package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/internal/options"
)

// An Input is all that a plan depends on.
type Input struct {
	Options *options.Options
	Objects []*object.Object // in link order
	Release gpu.Release
	// LLVM is the version of the libLLVM at hand, for links with bitcode.
	LLVM int
}

// A Mode is how device code becomes one cubin.
type Mode string

const (
	// Whole: all code is optimized as one closed program, and ptxas's output is
	// the result. The engine may still answer that the program is not closed; then
	// the link goes on as in Partial.
	Whole Mode = "whole"
	// Partial: the LTO part is optimized on its own and linked with native code.
	Partial Mode = "partial"
	// Relocatable: as Partial, but the result is to be linked again (-r).
	Relocatable Mode = "relocatable"
	// Plain: there is nothing to optimize, only native code to link.
	Plain Mode = "plain"
)

// A Reason is one rule that applied, and the input that made it apply.
type Reason struct {
	Rule   string
	Origin message.Origin
}

// A Piece is the module of an object that takes part in the link.
type Piece struct {
	Object *object.Object
	Module *object.Module
}

// An Event is a message, or the place among messages where nvlink runs ptxas on native
// code that exists as PTX only: it does so while it reads its inputs.
type Event struct {
	Message *message.Message
	// Assembled is the index in Native of that code, if there is no message.
	Assembled int
}

// A Plan is what will be done.
type Plan struct {
	Mode    Mode
	Reasons []Reason
	// IR is the code to optimize and Native the code that is ready, in link order.
	IR     []Piece
	Native []Piece
	// Bitcode is the code that LLVM optimizes, and LLVM what is asked of it.
	Bitcode []Piece
	LLVM    LLVM
	// Thin: each module of it is compiled by itself.
	Thin bool
	// KeepBitcode: the result is bitcode that can be linked again.
	KeepBitcode bool
	// Agreed is the consensus of the compile options that the IR carries.
	Agreed Agreed
	// Roots is what stays because host code or the command line names it.
	Roots  Roots
	Engine Engine
	// EngineReason is why that engine was chosen.
	EngineReason string
	// Compile is the option vector for libnvvm.
	Compile []string
	// Assemble is ptxas's command line, without -c and file names.
	Assemble []string
	// Merge is what is merged, if the link comes to that, and MergeArguments the
	// merger's command line without files.
	Merge          []MergePart
	MergeArguments []string
	// Assembles: ptxas runs before the merge, so that options about messages have no effect
	// on nvlink's messages there.
	Assembles bool
	// Register is for the registration file.
	Register []Registered
	// EmitPTX: the result is PTX. Without code to optimize -emit-ptx has no effect.
	EmitPTX bool
	// Events are what was found on the way, in nvlink's order.
	Events []Event
}

// Messages returns the messages among the events.
func Messages(events []Event) (list []*message.Message) {
	for _, e := range events {
		if e.Message != nil {
			list = append(list, e.Message)
		}
	}
	return list
}

// SplitEvents returns the messages that come before any run of ptxas, and the events
// after them. In a whole link, and in one for PTX, all messages come first.
func (p *Plan) SplitEvents() (first []*message.Message, rest []Event) {
	at := slices.IndexFunc(p.Events, func(e Event) bool { return e.Message == nil })
	if at < 0 || p.Mode == Whole || p.EmitPTX {
		return Messages(p.Events), nil
	}
	return Messages(p.Events[:at]), p.Events[at:]
}

// report adds a message to the events.
func (p *Plan) report(m *message.Message) { p.Events = append(p.Events, Event{Message: m}) }

// Make plans a link. The error, if any, is the one that nvlink reports.
func Make(in Input) (*Plan, error) {
	p := &Plan{}
	chosen, err := p.choose(in)
	if err != nil {
		return p, err
	}
	o := in.Options
	if !o.LTO || len(p.IR)+len(p.Bitcode) == 0 {
		err = p.plain(o, chosen)
	} else {
		p.decideMode(o, chosen)
		err = p.optimize(in, chosen)
	}
	if err != nil {
		return p, err
	}
	p.Roots = roots(o, chosen)
	p.Assemble = assembleArguments(in, p)
	p.planMerge(in, chosen)
	if len(p.Merge) == 0 && len(chosen.notFound) > 0 {
		p.report(&message.Message{Severity: message.Warning, Extra: true, ID: "empty-result",
			Text: fmt.Sprintf("no input has device code for '%s', so the result is empty", o.Arch)})
	}
	p.Register = registration(o, p, chosen)
	if len(p.IR)+len(p.Bitcode) > 0 {
		p.EmitPTX = o.EmitPTX
		err = o.CheckCompile(p.report)
	}
	return p, err
}

// optimize plans what the engines do.
func (p *Plan) optimize(in Input, chosen *choice) (err error) {
	if len(p.Bitcode) > 0 {
		if err := p.planBitcode(in, chosen); err != nil {
			return err
		}
	}
	if len(p.IR) == 0 {
		return nil
	}
	if p.Agreed, err = p.agree(in); err != nil {
		return err
	}
	p.chooseEngine(in.Options)
	p.Compile = compileOptions(in, p, chosen)
	isReference := func(option string) bool { return strings.HasPrefix(option, hostelf.RefOptionPrefix) }
	if slices.ContainsFunc(p.Compile, isReference) {
		p.warnOfLostKernels(p.IR, chosen)
	}
	if plain, extended := split(in.Options, &p.Agreed); plain != 1 && extended != 1 && in.Options.SplitCompile == 1 {
		p.report(options.TwoSplits()) // -split-compile comes from the objects
	}
	return nil
}

// plain is the plan of a link without anything to optimize.
func (p *Plan) plain(o *options.Options, chosen *choice) error {
	p.Mode = Plain
	if !o.LTO {
		p.because("link-time optimization was not asked for", message.Origin{})
		if len(p.IR) > 0 {
			return &message.Message{Severity: message.Fatal, ID: "lto-without-option", Text: "LTO objects found, use -dlto",
				Origin: p.IR[0].Object.Origin,
				Notes:  []string{fmt.Sprintf("'%s' has LTO-IR and nothing else that fits", p.IR[0].Object.Origin)},
				Hint:   "link with -dlto, or compile the object without it"}
		}
		return nil
	}
	p.because("no input has LTO-IR for the target", message.Origin{})
	p.warn(o, chosen, &message.Message{Severity: message.Warning, ID: "no-lto-objects",
		Text:  "Ignoring -dlto option because no LTO objects found",
		Notes: chosen.notFound,
		Hint:  "compile with -dlto, or with -gencode arch=compute_NN,code=lto_NN for an NN not above the target"})
	if chosen.failed < 0 {
		return nil
	}
	failed := p.stop(chosen)
	if len(p.Native) > 0 {
		failed = append(failed, &message.Message{Severity: message.Fatal, ID: "after-error", Text: "merge_elf failed"})
	}
	return failed
}

func (p *Plan) because(rule string, origin message.Origin) {
	p.Reasons = append(p.Reasons, Reason{rule, origin})
}
