package merge

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
)

// Here is a Runner that does warpld's own merges in this process: most of them take
// less time than a process takes to start. All else is for next.
func Here(next action.Runner) action.Runner { return here{next} }

type here struct{ next action.Runner }

// Run implements action.Runner.
func (h here) Run(ctx context.Context, a *action.Action) (*action.Result, error) {
	if len(a.Args) < 2 || a.Args[0] != engine.WorkerArgument || a.Args[1] != Stage {
		return h.next.Run(ctx, a)
	}
	limited, cancel := ctx, func() {}
	if a.Limit > 0 {
		limited, cancel = context.WithTimeout(ctx, a.Limit)
	}
	defer cancel()
	usage := action.Usage{Start: time.Now()}
	done := make(chan *action.Result, 1)
	go func() { done <- do(a) }()
	var result *action.Result
	select {
	case result = <-done:
	case <-limited.Done():
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		result = &action.Result{TimedOut: true}
	}
	usage.Wall = time.Since(usage.Start)
	usage.CPU = usage.Wall
	result.Usage = usage
	return result, nil
}

// do gives what the worker would leave. A fault of ours ends the merge, as it would
// end the worker, and not the link.
func do(a *action.Action) (result *action.Result) {
	defer func() {
		if fault := recover(); fault != nil {
			result = &action.Result{Signal: fmt.Sprint(fault)}
		}
	}()
	inputs := map[string]action.Content{}
	for _, f := range a.Inputs {
		inputs[f.Name] = f.Content
	}
	files, said, err := Do(a.Args[2:], func(name string) ([]byte, error) {
		content, ok := inputs[name]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return content.Read()
	})
	result = &action.Result{Stderr: []byte(said), Outputs: map[string]action.Content{}}
	if err != nil {
		result.ExitCode, result.Stderr = 1, fmt.Append(result.Stderr, err)
	}
	for _, name := range a.Outputs {
		data, ok := files[name]
		if !ok {
			result.Missing = append(result.Missing, name)
			continue
		}
		result.Outputs[name] = action.Bytes(data)
	}
	return result
}
