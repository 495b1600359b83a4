package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/pattern"
	"github.com/warpld/warpld/internal/plan"
)

// An Outcome is a compile action that went well.
type Outcome struct {
	PTX         action.Content
	Relocatable bool
	Shards      []int64
	// Log is the engine's log, and Wrote what its library wrote to standard error. Each is nil
	// if there was nothing.
	Log, Wrote *message.Message
}

// answered reports whether a worker left an answer, which may be that a call failed.
func answered(r *action.Result) bool {
	return r.OK() || (r.ExitCode == CallFailed && r.Ending() == "" && len(r.Missing) == 0)
}

// ParseResult returns what a compile action made. The error is nvlink's message for
// the failure, with the stage and the modules added.
func ParseResult(kind plan.Engine, modules []Module, r *action.Result) (*Outcome, error) {
	if !answered(r) {
		return nil, died(kind, modules, r)
	}
	text, err := r.Outputs[AnswerFile].Read()
	if err != nil {
		return nil, err
	}
	var a Answer
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, fmt.Errorf("answer of the %s engine: %w", kind, err)
	}
	a.Log = WithOrigins(a.Log, modules)
	out := &Outcome{PTX: r.Outputs[PTXFile], Relocatable: a.Relocatable, Shards: a.Shards}
	if text := strings.TrimSuffix(WithOrigins(string(r.Stderr), modules), "\n"); text != "" {
		out.Wrote = &message.Message{Severity: message.Info, ID: "engine-wrote", Verbatim: true, Text: text}
	}
	if a.Call != "" {
		err := failed(kind, modules, &a)
		if out.Wrote != nil {
			err = append(message.List{out.Wrote}, message.Of(err)...)
		}
		return nil, err
	}
	if a.Log != "" {
		out.Log = &message.Message{Severity: message.Info, ID: "engine-log", Text: a.Log}
	}
	return out, nil
}

// texts are nvlink's words for a call that failed; all others are an internal
// error to it.
var texts = map[string]string{
	"load":               "elfLink linker library load error",
	"nvvmAddModule":      "elfLink nvvm error",
	"nvJitLinkAddData":   "elfLink nvvm error",
	"nvvmCompileProgram": "elfLink JIT compile failed",
	"nvJitLinkComplete":  "elfLink JIT compile failed",
}

// failed is the message for a call that answered with an error.
func failed(kind plan.Engine, modules []Module, a *Answer) error {
	m := &message.Message{Severity: message.Fatal, ID: "engine-failed", Text: texts[a.Call]}
	if m.Text == "" {
		m.Text = "elfLink internal error"
	}
	switch {
	case a.Call == "load":
		m.Notes = []string{fmt.Sprintf("%s cannot be loaded: %s", library(kind), a.Error)}
		m.Hint = "'warpld toolkit' shows which toolkit was found and what is in it"
		return m
	case m.Text == texts["nvvmCompileProgram"]:
		m.Notes = []string{fmt.Sprintf("in %s of %s, error %d, over %s", a.Call, library(kind), a.Code, nameList(modules))}
		return message.List{{Severity: message.Info, ID: "engine-log", Text: compileLog(kind, a)}, m}
	}
	m.Notes = []string{fmt.Sprintf("%s of %s answered with error %d", a.Call, library(kind), a.Code)}
	if kind == plan.JITLink && a.Log != "" {
		m.Notes = append(m.Notes, strings.TrimSpace(a.Log))
	}
	if a.Module >= 0 && a.Module < len(modules) {
		m.Notes = append(m.Notes, "the module is from "+modules[a.Module].Origin)
		m.Hint = "code made by a newer CUDA than the linker's toolkit is refused like this: compile and link with one version"
	} else {
		m.Notes = append(m.Notes, "the modules are from "+nameList(modules))
	}
	return m
}

// compileLog is nvlink's text for a failed compilation: the log and the name of
// the error, with nothing between them. nvJitLink wraps the same two in words of
// its own.
func compileLog(kind plan.Engine, a *Answer) string {
	if kind != plan.JITLink {
		return a.Log + a.Error
	}
	log := a.Log
	// In 13.0 the error stands before the log, in 13.4 behind it.
	part := jitLinkError().FindStringSubmatch(log)
	if part == nil {
		return log
	}
	return jitLinkError().ReplaceAllString(log, "") + part[1] + part[2]
}

var jitLinkError = pattern.Lazy(
	`(?:ERROR in nvvmCompileProgram: (\w+)|ERROR (\w+) \(\d+\) in nvvmCompileProgram[^\n]*)\n*`)

// Ending returns how the library ended its worker, or "" if the worker exited by itself.
func Ending(r *action.Result) string {
	if r.ExitCode == InvalidShards {
		return "gave parts of PTX that don't fit together"
	}
	return r.Ending()
}

// died is the message for a worker that did not come back with an answer. nvlink
// has none: it dies itself.
func died(kind plan.Engine, modules []Module, r *action.Result) error {
	call, module := lastStage(r.Stdout)
	how := cmp.Or(Ending(r), fmt.Sprintf("ended the process with exit code %d", r.ExitCode))
	m := &message.Message{Severity: message.Fatal, ID: "engine-died",
		Text: fmt.Sprintf("%s %s in %s", library(kind), how, call)}
	if module >= 0 && module < len(modules) {
		m.Notes = append(m.Notes, "while it read the module from "+modules[module].Origin)
	}
	m.Notes = append(m.Notes, "the link is of "+nameList(modules))
	if text := strings.TrimSpace(string(r.Stderr)); text != "" {
		m.Notes = append(m.Notes, "it wrote: "+text)
	}
	m.Hint = "--warpld-keep keeps the working directory, in which 'warpld worker' repeats the crash; --warpld-engine " +
		"chooses another engine"
	if r.OutOfMemory > 0 {
		m.Hint = "if the inputs are not damaged, allow more with --warpld-memory-limit=MEGABYTES"
	}
	return m
}

// nameList names the origins, the first few of many.
func nameList(modules []Module) string {
	var names []string
	for _, m := range modules {
		names = append(names, m.Origin)
	}
	return message.FirstFew(names)
}

var moduleName = pattern.Lazy(`module-\d{5,}\.ir`)

// WithOrigins replaces names of modules in the working directory by the user's names.
func WithOrigins(text string, modules []Module) string {
	return moduleName().ReplaceAllStringFunc(text, func(name string) string {
		place, err := strconv.Atoi(name[len("module-") : len(name)-len(".ir")])
		if err != nil || place >= len(modules) {
			return name
		}
		return modules[place].Origin
	})
}
