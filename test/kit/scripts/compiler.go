package scripts

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/warpld/warpld/internal/engine/worker"
)

// What a link and its worker write for each other. Old caches know the same actions only
// if this stays as it is, so it is written out here.
const (
	jobFile    = "job.json"
	answerFile = "answer.json"
	ptxFile    = "lto.ptx"
	linkedFile = "linked_lto.bc"
	callFailed = 3 // exit code
)

type job struct {
	Engine   string
	Modules  []string
	Options  []string
	PostLink bool
	Apart    bool // compile each module by itself
	LLVM     struct{ Remarks bool }
}

type answer struct {
	Call        string // that failed
	Code        int
	Module      int
	Error       string
	Log         string
	Relocatable bool
	Shards      []int64
	LLVM        *llvmAnswer `json:",omitempty"`
}

// work is a step of a link in a process of its own. Only libnvvm and libLLVM are not the
// real ones.
func work(args []string) int {
	text, err := os.ReadFile(jobFile)
	if len(args) > 0 || err != nil {
		return worker.Main(args)
	}
	var j job
	if err := json.Unmarshal(text, &j); err != nil {
		panic(err)
	}
	switch {
	case j.Engine == "llvm":
		return compileBitcode(&j)
	case j.Engine != "nvvm":
		return worker.Main(args)
	case !j.Apart:
		return compile(&j, func(file string) string { return file })
	}
	modules := j.Modules
	for i := range modules {
		j.Modules = modules[i : i+1]
		compile(&j, func(file string) string { return fmt.Sprintf("%05d-%s", i, file) })
	}
	return 0
}

// compile stands for libnvvm. It puts the PTX of all modules together. In a program that
// lacks nothing all calls are inlined, and kernels that no host code launches are removed.
// Lines of a module can ask for more:
//
//	//! log TEXT     the compiler returns a text as its log
//	//! print TEXT   the compiler prints a text on standard output
//	//! fail TEXT    the compilation fails with a text, if all modules are compiled
//	//! crash        the process ends by a signal
//	//! crash-split  so it does, but only with -split-compile-extended
//	//! sleep        the compilation takes a minute
func compile(j *job, name func(string) string) int {
	program := join(read(j.Modules))
	split := slices.ContainsFunc(j.Options, func(option string) bool {
		return strings.HasPrefix(option, "-split-compile-extended=")
	})
	alone := slices.Contains(j.Options, "--device-c")
	asked := func(what string) bool { _, found := directive(program.text, what); return found }
	switch {
	case asked("crash") && !alone, asked("crash-split") && split:
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case asked("sleep"):
		time.Sleep(time.Minute)
	}
	out := answer{Module: -1, Relocatable: program.open && !alone}
	out.Log, _ = directive(program.text, "log")
	if text, found := directive(program.text, "print"); found {
		fmt.Print("warpld-stage 1 nvvmCompileProgram\n", text, "\nwarpld-stage 2 nvvmGetCompiledResult\n")
	}
	text := program.text
	if !program.open && !alone && !split {
		text = optimized(text, j.Options)
	}
	if message, found := directive(text, "fail"); found && !alone {
		out.Call, out.Code, out.Error, out.Log = "nvvmCompileProgram", 9, "NVVM_ERROR_COMPILATION", message+"\n"
		text = ""
	}
	if split && text != "" {
		out.Shards = program.shards()
		text = strings.Join(program.parts, "")
	}
	put(name(ptxFile), []byte(text))
	if j.PostLink {
		put(name(linkedFile), []byte("linked bitcode"))
	}
	encoded, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	put(name(answerFile), encoded)
	if out.Call != "" {
		return callFailed
	}
	return 0
}

func put(name string, data []byte) {
	if err := os.WriteFile(name, data, 0o600); err != nil {
		panic(err)
	}
}

// optimized returns a closed program without functions, calls and kernels that are not
// launched.
func optimized(text string, options []string) string {
	launched := func(string) bool { return true }
	for _, option := range options {
		if list, found := strings.CutPrefix(option, "-host-ref-ek="); found {
			names := strings.Split(list, ",")
			launched = func(name string) bool { return slices.Contains(names, name) }
		}
	}
	heads := ptxFunction.FindAllStringSubmatchIndex(text, -1)
	if len(heads) == 0 {
		return text
	}
	kept := text[:heads[0][0]]
	for i, at := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		if text[at[4]:at[5]] == "entry" && launched(text[at[6]:at[7]]) {
			kept += ptxCall.ReplaceAllString(text[at[0]:end], "\t// inlined")
		}
	}
	return kept
}

// A program is the PTX of some modules.
type program struct {
	text  string
	parts []string // the text of each module
	open  bool     // it refers to functions that it doesn't define
}

// read returns the PTX in modules of LTO-IR.
func read(modules []string) (bodies []string) {
	for _, name := range modules {
		data, err := os.ReadFile(name)
		if err != nil {
			panic(err)
		}
		_, text, found := strings.Cut(string(data), irMark)
		if !found {
			panic(fmt.Sprintf("%s is not LTO-IR of these tests", name))
		}
		bodies = append(bodies, strings.TrimRight(text, "\x00"))
	}
	return bodies
}

// join puts the PTX of modules together. A function that one of them defines is not
// declared for others.
func join(bodies []string) (p program) {
	defined := map[string]bool{}
	for _, f := range functionsOf(strings.Join(bodies, "")) {
		defined[f.Name] = defined[f.Name] || !f.Undefined
	}
	var all strings.Builder
	all.WriteString(ptxHead)
	for _, body := range bodies {
		var kept strings.Builder
		for line := range strings.Lines(body) {
			declared := ptxFunction.FindStringSubmatch(line)
			outside := declared != nil && declared[1] == "extern"
			if outside && defined[declared[3]] {
				continue
			}
			p.open = p.open || outside
			kept.WriteString(line)
		}
		all.WriteString(kept.String())
		p.parts = append(p.parts, ptxHead+kept.String())
	}
	p.text = all.String()
	return p
}

// shards returns the lengths of the parts.
func (p *program) shards() (lengths []int64) {
	for _, part := range p.parts {
		lengths = append(lengths, int64(len(part)))
	}
	return lengths
}

// ptxHead begins every PTX text.
const ptxHead = ".version 9.0\n.target sm_80\n.address_size 64\n"
