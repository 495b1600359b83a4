package engine

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/pattern"
	"github.com/warpld/warpld/internal/plan"
	"github.com/warpld/warpld/internal/ptx"
)

// ThinLTO is a thin link, which looks at summaries alone and decides what each module
// imports, and then one compilation for each module. LLVM's C interface has neither, so
// that they are runs of its programs.

// ThinTools are those programs.
type ThinTools struct{ Opt, LTO2, Clang Program }

// Prepare returns the action that adds to a module what only the link knows.
func Prepare(t Tools, m Module, settings plan.LLVM, libdevice string) (*action.Action, error) {
	job := Job{Engine: plan.Bitcode, LLVM: &LLVMJob{LLVM: settings, Prepare: true}, PostLink: true}
	var extra []action.File
	if settings.Libdevice {
		job.LLVM.Library = libdeviceFile
		extra = append(extra, action.File{Name: libdeviceFile, Content: action.AtPath(libdevice)})
	}
	a, err := job.action(t, []Module{m}, extra, []string{PTXFile, AnswerFile, LinkedFile})
	if err != nil {
		return nil, err
	}
	a.Label = "prepare"
	return a, nil
}

// Names of files of the programs.
const (
	summarizedFile  = "summarized.bc"
	ResolutionsFile = "resolutions"
	indexSuffix     = ".thinlto.bc"
	importsSuffix   = ".imports"
)

// A Program is one of LLVM's and the shared libraries that it loads. They are inputs of
// its actions, so that another version is another action, and any machine can run it.
type Program struct {
	Name      string // as it is called
	File      action.Content
	Libraries []action.File
}

// libraryDir is where an action has the libraries of its program.
const libraryDir = "libraries"

// Action returns an action of the program without arguments and outputs. Its inputs are
// the libraries.
func (p Program) Action(label string, env []string) *action.Action {
	a := &action.Action{Label: label, Tool: action.File{Name: p.Name, Content: p.File},
		Env: append([]string{"LD_LIBRARY_PATH=" + libraryDir}, env...)}
	for _, l := range p.Libraries {
		l.Name, l.Toolchain = libraryDir+"/"+l.Name, true
		a.Inputs = append(a.Inputs, l)
	}
	slices.Sort(a.Env)
	return a
}

// thinAction is the action of one of the programs.
func thinAction(label string, p Program, t Tools, args []string, inputs []action.File,
	outputs ...string) *action.Action {
	a := p.Action(label, t.Env)
	a.Args, a.Inputs, a.Outputs, a.Limit = args, append(a.Inputs, inputs...), outputs, t.Limit
	return a
}

// Summarize returns the action that adds the summary to a module, and the hash that keeps its
// local symbols apart from those of others.
func Summarize(tt ThinTools, t Tools, m Module) *action.Action {
	return thinAction("summarize", tt.Opt, t,
		[]string{"-module-summary", "-module-hash", ModuleName(0), "-o", summarizedFile},
		[]action.File{{Name: ModuleName(0), Origin: m.Origin, Content: m.Content}}, summarizedFile)
}

// ThinLink is the action that decides what each module imports.
func ThinLink(tt ThinTools, t Tools, modules []Module, settings plan.LLVM,
	resolutions [][]plan.Resolution) *action.Action {
	args := []string{"run", "-thinlto-distributed-indexes", "-thinlto-emit-imports", "-mcpu=" + settings.CPU,
		fmt.Sprintf("-O%d", settings.Level), "-o", "out"}
	if settings.Closed {
		args = append(args, "-whole-program-visibility")
	}
	args = append(append(args, settings.Options...), "@"+ResolutionsFile)
	var lines strings.Builder
	var inputs []action.File
	var outputs []string
	for i, m := range modules {
		name := ModuleName(i)
		inputs = append(inputs, action.File{Name: name, Origin: m.Origin, Content: m.Content})
		outputs = append(outputs, name+indexSuffix, name+importsSuffix)
		fmt.Fprintln(&lines, name)
		for _, r := range resolutions[i] {
			fmt.Fprintf(&lines, "-r=%s,%s,%s\n", name, r.Symbol, flags(r))
		}
	}
	inputs = append(inputs, action.File{Name: ResolutionsFile, Content: action.Bytes([]byte(lines.String()))})
	return thinAction("thin-link", tt.LTO2, t, args, inputs, outputs...)
}

// flags are a resolution as llvm-lto2 writes it: p prevailing, l final in the program,
// x visible to others.
func flags(r plan.Resolution) string {
	var b strings.Builder
	for _, flag := range []struct {
		is   bool
		name byte
	}{{r.Prevailing, 'p'}, {r.Defined, 'l'}, {r.Visible, 'x'}} {
		if flag.is {
			b.WriteByte(flag.name)
		}
	}
	return b.String()
}

// Backend is the action that compiles one module with what it imports.
func Backend(tt ThinTools, t Tools, modules []Module, place int, settings plan.LLVM,
	linked *action.Result) (*action.Action, error) {
	name := ModuleName(place)
	args := []string{"-x", "ir", "--target=nvptx64-nvidia-cuda", "-march=" + settings.CPU, "-nogpulib",
		"-Wno-unknown-cuda-version",
		fmt.Sprintf("-O%d", settings.Level), "-fthinlto-index=" + name + indexSuffix, name, "-S", "-o", PTXFile}
	if settings.Features != "" {
		args = append(args, "--cuda-feature="+settings.Features)
	}
	for _, option := range append(settings.OptionList(), settings.Options...) {
		args = append(args, "-mllvm", option)
	}
	if settings.Remarks {
		args = append(args, "-Rpass="+plan.RemarksOn, "-Rpass-missed="+plan.RemarksMissed, "-fno-caret-diagnostics")
	}
	text, err := linked.Outputs[name+importsSuffix].Read()
	if err != nil {
		return nil, err
	}
	inputs := []action.File{{Name: name, Origin: modules[place].Origin, Content: modules[place].Content},
		{Name: name + indexSuffix, Content: linked.Outputs[name+indexSuffix]}}
	imports := strings.Fields(string(text))
	slices.Sort(imports)
	for i, m := range modules {
		if _, imported := slices.BinarySearch(imports, ModuleName(i)); imported && i != place {
			inputs = append(inputs, action.File{Name: ModuleName(i), Origin: m.Origin, Content: m.Content})
		}
	}
	return thinAction("compile-thin", tt.Clang, t, args, inputs, PTXFile), nil
}

// CheckThinResult returns the error for a run of one of LLVM's programs that failed.
func CheckThinResult(what string, modules []Module, r *action.Result) error {
	if r.OK() {
		return nil
	}
	m := &message.Message{Severity: message.Fatal, ID: "thin-failed", Text: what + " failed"}
	if ending := r.Ending(); ending != "" {
		m.Text = what + " " + ending
	}
	m.Notes = []string{"the modules are from " + nameList(modules)}
	for line := range strings.Lines(WithOrigins(string(r.Stdout)+string(r.Stderr), modules)) {
		const most = 20
		if len(m.Notes) < most && strings.TrimSpace(line) != "" {
			m.Notes = append(m.Notes, strings.TrimSpace(line))
		}
	}
	m.Hint = "--warpld-lto=full does without ThinLTO"
	return m
}

var thinRemark = pattern.Lazy(`(?m)^remark: (?:<unknown>:0:0: )?(.*) \[-Rpass.*\]$`)

// ThinRemarks are those that a backend wrote.
func ThinRemarks(r *action.Result) (remarks []string) {
	for _, part := range thinRemark().FindAllSubmatch(r.Stderr, -1) {
		remarks = append(remarks, string(part[1]))
	}
	return remarks
}

// SummarizedModule returns the module that an action of Summarize wrote.
func SummarizedModule(r *action.Result) action.Content { return r.Outputs[summarizedFile] }

// RepairNames replaces the names of ThinLTO's promoted symbols, NAME.llvm.HASH, by names that
// PTX allows. Strings and comments are copied.
func RepairNames(text []byte) []byte {
	const mark = ".llvm."
	repaired := bytes.Clone(text)
	for name := range ptx.Words(text) {
		rest, at := text[name.End:], name.End
		for len(rest) > len(mark) && string(rest[:len(mark)]) == mark {
			copy(repaired[at:], "$llvm$")
			length := len(mark)
			for length < len(rest) && ptx.IsNameByte(rest[length]) {
				length++
			}
			rest, at = rest[length:], at+length
		}
	}
	return repaired
}
