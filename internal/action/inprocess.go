package action

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// RunInProcess returns a Runner that calls InProcess of the actions that have it, and
// passes all others to next. Most merges take less time than a process takes to
// start, and all of them less than a lookup in a cache, for which every input has to
// be read and digested.
func RunInProcess(next Runner) Runner { return inProcess{next} }

type inProcess struct{ next Runner }

// Run implements Runner.
func (p inProcess) Run(ctx context.Context, a *Action) (*Result, error) {
	if a.InProcess == nil {
		return p.next.Run(ctx, a)
	}
	limited, cancel := ctx, func() {}
	if a.Limit > 0 {
		limited, cancel = context.WithTimeout(ctx, a.Limit)
	}
	defer cancel()
	usage := Usage{Start: time.Now()}
	done := make(chan *Result, 1)
	go func() { done <- recovered(a.InProcess) }()
	var result *Result
	select {
	case result = <-done:
	case <-limited.Done():
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		result = &Result{TimedOut: true}
	}
	usage.Wall = time.Since(usage.Start)
	usage.CPU = usage.Wall
	result.Usage = usage
	return result, nil
}

// recovered calls do. A panic ends the action, as it would end the tool, and not the
// link.
func recovered(do func() *Result) (result *Result) {
	debug.SetPanicOnFault(true) // of an input that is truncated while it is read
	defer func() {
		if fault := recover(); fault != nil {
			result = &Result{Signal: fmt.Sprint(fault)}
		}
	}()
	return do()
}
