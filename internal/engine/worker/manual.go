package worker

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/internal/object/fatbin"
	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/internal/plan"
)

// stages are what a worker does by hand, with their usage.
var stages = map[string]struct {
	usage string
	run   func(args []string) error
}{
	engine.AddModule:   {"-arch=CODE [-member=NAME] [-place=N] [-fatbin] -o FILE INPUT", addModule},
	engine.PostLink:    {"-library=PATH -m64 OPTIONS -o FILE MODULE...", postLink},
	engine.NVVMCompile: {"[-engine=nvvm|jitlink] -library=PATH -m64 OPTIONS -o FILE MODULE...", nvvmCompile},
	engine.Carry:       {"-arch=sm_NN [-id=ID] [-host-refs] [-host-ref-XX=PATTERN]... -o FILE CODE", carry},
	engine.Rename:      {"-o FILE PTX", rename},
}

var errUsage = errors.New("usage")

func runStage(args []string) error {
	s, known := stages[args[0]]
	if !known {
		return fmt.Errorf("%s is no stage of a link", args[0])
	}
	given, err := expand(args[1:])
	if err == nil {
		err = s.run(given)
	}
	if errors.Is(err, errUsage) {
		return fmt.Errorf("%w; write it as: warpld %s %s %s", err, engine.WorkerArgument, args[0], s.usage)
	}
	return err
}

// expand reads the arguments from a file if the only one names it.
func expand(args []string) ([]string, error) {
	if len(args) != 1 || !strings.HasPrefix(args[0], engine.ArgumentsFrom) {
		return args, nil
	}
	text, err := os.ReadFile(strings.TrimPrefix(args[0], engine.ArgumentsFrom))
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00"), err
}

// newFlags is for the options of a stage, and parse reads them when they are
// followed by one input.
func newFlags() *flag.FlagSet {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.Usage = func() {}
	fs.SetOutput(new(strings.Builder)) // the returned error has the text
	return fs
}

func parse(fs *flag.FlagSet, args []string) (output, input string, err error) {
	fs.StringVar(&output, "o", "", "")
	switch err := fs.Parse(args); {
	case err != nil:
		return "", "", fmt.Errorf("%w: %w", errUsage, err)
	case output == "" || fs.NArg() != 1:
		return "", "", fmt.Errorf("%w: one input and one output are wanted", errUsage)
	}
	return output, fs.Arg(0), nil
}

// addModule extracts one module from an input, as the link adds it: by itself, or in a fat
// binary that holds nothing else.
func addModule(args []string) error {
	fs := newFlags()
	code := fs.String("arch", "", "")
	member := fs.String("member", "", "")
	place := fs.Int("place", 0, "")
	container := fs.Bool("fatbin", false, "")
	output, input, err := parse(fs, args)
	if err != nil {
		return err
	}
	objects, err := object.Read(input, true, func(*message.Message) {}) // the link has reported these messages
	if err != nil {
		return err
	}
	origin := message.Origin{File: input, Member: *member}
	namesakes := object.Namesakes(objects, origin)
	if *place < 0 || *place >= len(namesakes) {
		return fmt.Errorf("%s: there are %d objects of this name, none at place %d", origin, len(namesakes), *place)
	}
	for i := range namesakes[*place].Modules {
		m := &namesakes[*place].Modules[i]
		if m.CodeName() == *code {
			return writeModule(output, m, *container)
		}
	}
	return fmt.Errorf("%s has no code for %s", origin, *code)
}

func writeModule(output string, m *object.Module, container bool) error {
	load := m.Data
	switch {
	case container:
		load = m.Container
	case m.Kind == object.PTX:
		load = m.Text
	}
	data, err := load()
	if err != nil {
		return err
	}
	return write(output, data)
}

// rename replaces ThinLTO's symbol names, which PTX does not allow.
func rename(args []string) error {
	output, input, err := parse(newFlags(), args)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(input)
	if err != nil {
		return err
	}
	return write(output, engine.RepairNames(text))
}

// carry writes a part of a merge: a fat binary with the code and, if there is an id, a host
// object around it.
func carry(args []string) error {
	fs := newFlags()
	target := fs.String("arch", "", "")
	id, carried := "", false
	fs.Func("id", "", func(value string) error { id, carried = value, true; return nil })
	known := fs.Bool("host-refs", false, "")
	refs := &hostelf.HostRefs{}
	for _, l := range refs.ListsByOption() {
		fs.Func(strings.TrimPrefix(l.Flag(), "-"), "",
			func(pattern string) error { *l.Patterns = append(*l.Patterns, pattern); return nil })
	}
	output, input, err := parse(fs, args)
	if err != nil {
		return err
	}
	code, err := os.ReadFile(input)
	if err != nil {
		return err
	}
	if elf64.IsELF(code) {
		a, ok := gpu.Parse(*target)
		if !ok {
			return fmt.Errorf("%w: -arch=%s is no architecture", errUsage, *target)
		}
		code = fatbin.Stored(code, a)
	}
	if !*known {
		refs = nil
	}
	if carried {
		code = hostelf.Carry(code, id, refs)
	}
	return write(output, code)
}

// nvvmCompile compiles modules to PTX; shards go to directories beside the output.
func nvvmCompile(args []string) error {
	job, output, err := parseJob(args)
	if err != nil {
		return err
	}
	answer, text, err := compile(job)
	if err != nil {
		return err
	}
	if err := logAndCheck(answer); err != nil {
		return err
	}
	shards, err := engine.Shards(text, answer.Shards)
	if err != nil {
		return err
	}
	for i, shard := range shards {
		if err := write(engine.ShardFile(output, i, len(shards)), shard); err != nil {
			return err
		}
	}
	return nil
}

// postLink compiles too, but only to see the linked bitcode on the way; there is
// one even if what follows fails.
func postLink(args []string) error {
	job, output, err := parseJob(args)
	if err != nil {
		return err
	}
	if job.PostLink = job.Engine == plan.NVVM; !job.PostLink {
		return fmt.Errorf("the %s engine does not show linked bitcode", job.Engine)
	}
	answer, _, err := compile(job)
	switch {
	case err != nil:
		return err
	case len(answer.Linked) > 0:
		return write(output, answer.Linked)
	}
	if err := logAndCheck(answer); err != nil {
		return err
	}
	return errors.New("libnvvm gave no linked bitcode")
}

// parseJob reads the arguments of the stages of a compilation. The options between
// -m64 and the last -o are the library's.
func parseJob(args []string) (job *engine.Job, output string, err error) {
	begin, end := slices.Index(args, "-m64"), len(args)-1
	for end >= 0 && args[end] != "-o" {
		end--
	}
	if begin < 0 || end < begin || end+2 >= len(args) {
		return nil, "", fmt.Errorf("%w: no -m64, no output or no modules", errUsage)
	}
	fs := newFlags()
	kind := fs.String("engine", string(plan.NVVM), "")
	library := fs.String("library", "", "")
	if err := fs.Parse(args[:begin]); err != nil || fs.NArg() > 0 || *library == "" {
		return nil, "", fmt.Errorf("%w: only an engine and a library go before -m64", errUsage)
	}
	return &engine.Job{Engine: plan.Engine(*kind), Library: *library,
		Options: args[begin+1 : end], Modules: args[end+2:]}, args[end+1], nil
}

// logAndCheck prints the library's log and returns its failure as an error.
func logAndCheck(a *engine.Answer) error {
	if a.Log != "" {
		fmt.Fprintln(os.Stderr, strings.TrimSpace(a.Log))
	}
	if a.Call != "" {
		return fmt.Errorf("%s failed with error %d %s", a.Call, a.Code, a.Error)
	}
	return nil
}

func write(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o666)
}
