package link

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/local"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/toolkit"
)

// ErrUsage says that the arguments of Distribute are not options of warpld's own and one
// file.
var ErrUsage = errors.New("wrong arguments")

// Distribute does the compilations of a ThinLTO link for a linker of LLVM's, as the
// steps of our own links are done: from the cache, by a server's machines, or here.
func Distribute(ctx context.Context, c Caller, args []string) (err error) {
	l := newLinker(c)
	if l.options, err = options.Parse(args, c.Env("WARPLD_FLAGS"), os.ReadFile, l.log.Report); err != nil {
		return err
	}
	if len(l.options.Raw) != 1 || len(l.options.Inputs) != 1 {
		return ErrUsage
	}
	jobs, compiler, err := l.readDistribution(l.options.Inputs[0])
	if err != nil {
		return err
	}
	l.options.Output = jobs.Common.Output
	runner, err := local.New(l.options.Own.TempDir, l.options.Own.KeepWorkDirs)
	if err != nil {
		return err
	}
	defer runner.Close()
	w, done, err := l.open(ctx, runner)
	if err != nil {
		return err
	}
	defer done()
	if err := l.distribute(ctx, w, jobs, compiler); err != nil {
		return err
	}
	return l.writeRecord()
}

// readDistribution reads the linker's file and finds its compiler.
func (l *linker) readDistribution(path string) (jobs *engine.Distribution, compiler engine.Program, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		jobs, err = engine.ReadDistribution(path, text)
	}
	if err == nil {
		compiler, err = l.program(jobs.Common.Args[0])
	}
	return jobs, compiler, err
}

// program finds a program of LLVM's, by its name or path, and its libraries.
func (l *linker) program(name string) (p engine.Program, err error) {
	file, err := toolkit.Program(name, l.Env)
	var libraries map[string]string
	if err == nil {
		libraries, err = toolkit.Libraries(file, l.Env)
	}
	if err != nil {
		return p, &message.Message{Severity: message.Fatal, ID: "llvm-tool", Text: fmt.Sprintf("'%s' can't be used", name),
			Notes: []string{err.Error()}, Hint: "name the program itself, not a script around it", Cause: err}
	}
	p = engine.Program{Name: filepath.Base(name), File: digestedOnce(file)}
	for _, name := range slices.Sorted(maps.Keys(libraries)) {
		p.Libraries = append(p.Libraries, action.File{Name: name, Content: digestedOnce(libraries[name])})
	}
	return p, nil
}

// digestedOnce is a file that many actions have.
func digestedOnce(path string) action.Content {
	c := action.AtPath(path)
	c.Sum = sync.OnceValues(action.AtPath(path).Digest)
	return c
}

// distribute does the jobs and puts their outputs where the linker wants them. What the
// compiler said is told in the order of the jobs.
func (l *linker) distribute(ctx context.Context, w *workshop, d *engine.Distribution, compiler engine.Program) error {
	var graph action.Graph
	said := make([][]byte, len(d.Jobs))
	bound := 0
	for i := range d.Jobs {
		job := &d.Jobs[i]
		a, err := job.Action(compiler)
		if err != nil {
			return err
		}
		if a.Limit = l.options.Own.TimeLimit; a.Impure != "" {
			bound++
		}
		graph.Add(&action.Step{
			Make: func() (*action.Action, error) { return a, nil },
			Handle: action.Handle(func(r *action.Result) ([]byte, error) {
				if err := job.CheckResult(r); err != nil {
					return nil, err
				}
				for k, output := range job.Outputs {
					if err := deliver(r.Outputs[a.Outputs[k]], output); err != nil {
						return nil, err
					}
				}
				return r.Stderr, nil
			}, func(text []byte) error {
				said[i] = text
				return nil
			}),
		})
	}
	if bound > 0 {
		l.log.Report(&message.Message{Severity: message.Info, ID: "distribution", Tool: "warpld",
			Text: fmt.Sprintf("%d of %d jobs run here and are not kept: they name files by paths from the root", bound, len(d.Jobs)),
			Hint: "give the linker the paths of its inputs from the directory that it is started in"})
	}
	err := graph.Run(ctx, l.watch(w.runner), w.inFlight)
	for _, text := range said {
		l.Stderr.Write(text)
	}
	return err
}

// deliver copies a result to its place.
func deliver(from action.Content, to string) error {
	r, err := from.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	return replaceFile(to, r)
}
