package distribute

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/message"
)

// A jobList is the compilations of a ThinLTO link that LLVM's linkers hand to a program
// to have them done: DTLTO's JSON. The arguments of a job are those that
// are common to all and its own, the first of which is the compiler.
type jobList struct {
	Common struct {
		Output string   `json:"linker_output"`
		Args   []string `json:"args"`
		Inputs []string `json:"inputs"`
	} `json:"common"`
	Jobs []job `json:"jobs"`
}

// A job is one compilation. Its paths are the linker's.
type job struct {
	Args    []string `json:"args"`
	Inputs  []string `json:"inputs"`
	Outputs []string `json:"outputs"`
}

// readJobs parses the linker's file and puts what is common into each job.
func readJobs(name string, text []byte) (*jobList, error) {
	bad := func(format string, args ...any) error {
		return &message.Message{Severity: message.Fatal, ID: "distribution",
			Text:  fmt.Sprintf("'%s' is no list of jobs for a distributor", name),
			Notes: []string{fmt.Sprintf(format, args...)},
			Hint:  "it is written by a linker of LLVM's: ld.lld --thinlto-distributor=..."}
	}
	d := &jobList{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, bad("%v", err)
	}
	if len(d.Common.Args) == 0 || d.Common.Args[0] == "" {
		return nil, bad("it names no compiler")
	}
	taken := map[string]bool{}
	for i := range d.Jobs {
		j := &d.Jobs[i]
		j.Args = append(slices.Clip(d.Common.Args[1:]), j.Args...)
		j.Inputs = append(slices.Clip(d.Common.Inputs), j.Inputs...)
		for _, output := range j.Outputs {
			if taken[output] {
				return nil, bad("two jobs write %s", output)
			}
			names := func(arg string) bool { return arg == output || strings.HasSuffix(arg, "="+output) }
			if !slices.ContainsFunc(j.Args, names) {
				return nil, bad("job %d does not tell the compiler to write %s", i, output)
			}
			taken[output] = true
		}
	}
	return d, nil
}

// action returns the compilation as an action. The index of a job and its outputs have the
// number of the linker's process in their names and get others, so that the same
// compilation is found again. The bitcode keeps its names, which the index refers to;
// if they don't lie below the working directory, the compilation is bound to this
// machine. The outputs are in the order of the job's.
func (j *job) action(compiler engine.Program) (*action.Action, error) {
	a := compiler.Action("compile-thin", nil)
	names := map[string]string{} // of paths in the arguments
	for i, output := range j.Outputs {
		names[output] = fmt.Sprintf("output%d%s", i, path.Ext(output))
		a.Outputs = append(a.Outputs, names[output])
	}
	seen := map[string]bool{}
	for _, input := range j.Inputs {
		name := path.Clean(filepath.ToSlash(input))
		if seen[name] {
			continue
		}
		seen[name] = true
		switch {
		case j.isIndex(input):
			name = "index.thinlto.bc"
			names[input] = name
		case path.IsAbs(name):
			a.Impure = "the linker names " + input + " by a path from the root"
			continue
		case strings.HasPrefix(name, "../"):
			return nil, &message.Message{Severity: message.Fatal, ID: "distribution",
				Text: fmt.Sprintf("'%s' does not lie below the working directory", input),
				Hint: "start the linker in a directory that has all of its inputs below it, or give it their whole paths"}
		}
		a.Inputs = append(a.Inputs, action.File{Name: name, Origin: input, Content: action.AtPath(input)})
	}
	for _, arg := range j.Args {
		a.Args = append(a.Args, renamed(arg, names))
	}
	return a, nil
}

const indexOption = "-fthinlto-index="

func (j *job) isIndex(input string) bool {
	return slices.Contains(j.Args, indexOption+input)
}

// renamed replaces the path of a file in an argument by its name in the action. The argument
// is the path or ends with "=" and the path.
func renamed(arg string, names map[string]string) string {
	if name, ok := names[arg]; ok {
		return name
	}
	if option, value, ok := strings.Cut(arg, "="); ok {
		if name, ok := names[value]; ok {
			return option + "=" + name
		}
	}
	return arg
}

// check returns the error for a job that failed.
func (j *job) check(r *action.Result) error {
	if r.OK() {
		return nil
	}
	m := &message.Message{Severity: message.Fatal, ID: "distribution", Text: "the compiler failed"}
	if ending := r.Ending(); ending != "" {
		m.Text = "the compiler " + ending
	}
	m.Text += " for " + strings.Join(j.Outputs, ", ")
	for line := range strings.Lines(string(r.Stdout) + string(r.Stderr)) {
		const most = 20
		if len(m.Notes) < most && strings.TrimSpace(line) != "" {
			m.Notes = append(m.Notes, strings.TrimSpace(line))
		}
	}
	return m
}
