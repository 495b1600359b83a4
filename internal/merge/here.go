package merge

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/merge/device"
)

// Here is a Runner that does warpld's own merges in this process: most of them take
// less time than a process takes to start, and all of them less than to look for
// them in a cache, for which every input has to be read and its digest found. All
// else is for next.
func Here(next action.Runner) action.Runner { return here{next} }

type here struct{ next action.Runner }

// Run implements action.Runner.
func (h here) Run(ctx context.Context, a *action.Action) (*action.Result, error) {
	if a.Here == nil {
		return h.next.Run(ctx, a)
	}
	limited, cancel := ctx, func() {}
	if a.Limit > 0 {
		limited, cancel = context.WithTimeout(ctx, a.Limit)
	}
	defer cancel()
	usage := action.Usage{Start: time.Now()}
	done := make(chan *action.Result, 1)
	go func() { done <- withoutFault(a.Here) }()
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

// withoutFault lets a fault of ours end the merge, as it would end the worker, and
// not the link.
func withoutFault(do func() *action.Result) (result *action.Result) {
	debug.SetPanicOnFault(true) // of an input that is cut while it is read
	defer func() {
		if fault := recover(); fault != nil {
			result = &action.Result{Signal: fmt.Sprint(fault)}
		}
	}()
	return do()
}

// doParts gives what the worker would leave, without the files that carry the parts.
func doParts(a *action.Action, parts []Part) *action.Result {
	files, said, err := do(a.Args[2:], func([]string) ([]named, error) {
		if len(parts) == 0 {
			return nil, &device.Unsupported{What: "a link without code"}
		}
		inputs := make([]named, len(parts))
		for i := range parts {
			inputs[i] = parts[i].input(i)
		}
		return inputs, nil
	})
	result := &action.Result{Stderr: []byte(said), Outputs: map[string]action.Content{}}
	if err != nil {
		result.ExitCode, result.Stderr = 1, fmt.Append(result.Stderr, err)
	}
	for _, name := range a.Outputs {
		content, ok := files[name]
		if !ok {
			result.Missing = append(result.Missing, name)
			continue
		}
		result.Outputs[name] = content
	}
	return result
}

// input is the part as the merger sees it.
func (p *Part) input(place int) named {
	in := device.Input{Name: p.name(place), Load: p.load, Runtime: p.Runtime, Host: device.HostUnknown}
	if p.Form != Carried {
		return named{in, ""}
	}
	if p.Refs != nil {
		in.Host = device.HostKnown
		in.LaunchedExternal, in.LaunchedInternal = p.Refs.Kernels.External, p.Refs.Kernels.Internal
	}
	return named{in, p.ID}
}

// load gives the code without what it comes in.
func (p *Part) load() ([]byte, error) {
	if p.Cubin != nil {
		return p.Cubin()
	}
	code, err := p.Code()
	if err != nil || p.Form == Cubin {
		return code, err
	}
	return onlyCubin(code)
}
