// Package distribute does the compilations of a ThinLTO link for a linker of LLVM's, as
// the steps of warpld's own links are done: from the cache, by a server's machines, or
// on this machine.
package distribute

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/local"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/journal"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/output"
	"github.com/warpld/warpld/internal/runners"
)

// ErrUsage says that the arguments of Run are not options of warpld's own and one file.
var ErrUsage = errors.New("wrong arguments")

// Run does the jobs of the file that the arguments name. self is the path of warpld's
// executable.
func Run(ctx context.Context, streams journal.Streams, self string, args []string) error {
	j := journal.New(streams)
	o, err := options.Parse(args, streams.Env("WARPLD_FLAGS"), os.ReadFile, j.Report)
	if err != nil {
		return err
	}
	if len(o.Raw) != 1 || len(o.Inputs) != 1 {
		return ErrUsage
	}
	text, err := os.ReadFile(o.Inputs[0])
	if err != nil {
		return err
	}
	list, err := readJobs(o.Inputs[0], text)
	if err != nil {
		return err
	}
	compiler, err := engine.FindProgram(list.Common.Args[0], streams.Env)
	if err != nil {
		return err
	}
	o.Output = list.Common.Output
	j.SetOptions(o)
	processes, err := local.New(o.Own.TempDir, o.Own.KeepWorkDirs)
	if err != nil {
		return err
	}
	defer processes.Close()
	set, err := runners.Open(ctx, runners.Request{Options: o, Env: streams.Env, Self: self, Local: processes,
		Report: j.Report})
	if err != nil {
		return err
	}
	defer set.Close()
	end := j.StartProgress(set)
	defer end()
	if err := do(ctx, j, set, list, compiler, o.Own.TimeLimit); err != nil {
		return err
	}
	return j.WriteRecord(journal.Facts{})
}

// do does the jobs and puts their outputs where the linker wants them. What the compiler
// said is shown in the order of the jobs.
func do(ctx context.Context, j *journal.Journal, set *runners.Set, list *jobList, compiler engine.Program,
	limit time.Duration) error {
	var graph action.Graph
	said := make([][]byte, len(list.Jobs))
	bound := 0
	for i := range list.Jobs {
		job := &list.Jobs[i]
		a, err := job.action(compiler)
		if err != nil {
			return err
		}
		if a.Limit = limit; a.Impure != "" {
			bound++
		}
		graph.Add(&action.Step{
			Make: func() (*action.Action, error) { return a, nil },
			Handle: action.Handle(func(r *action.Result) ([]byte, error) {
				return r.Stderr, job.deliver(a, r)
			}, func(text []byte) error {
				said[i] = text
				return nil
			}),
		})
	}
	if bound > 0 {
		j.Report(&message.Message{Severity: message.Info, ID: "distribution", Tool: "warpld",
			Text: fmt.Sprintf("%d of %d jobs run here and are not kept: they name files by paths from the root",
				bound, len(list.Jobs)),
			Hint: "give the linker the paths of its inputs from the directory that it is started in"})
	}
	err := graph.Run(ctx, j.Watch(set.Runner), set.InFlight)
	for _, text := range said {
		j.Stderr().Write(text)
	}
	return err
}

// deliver copies the outputs of a job to their places. Jobs have different ones, so that
// this is done concurrently.
func (j *job) deliver(a *action.Action, r *action.Result) error {
	if err := j.check(r); err != nil {
		return err
	}
	for i, path := range j.Outputs {
		if err := copyTo(path, r.Outputs[a.Outputs[i]]); err != nil {
			return err
		}
	}
	return nil
}

func copyTo(path string, c action.Content) error {
	r, err := c.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	return output.Replace(path, r)
}
