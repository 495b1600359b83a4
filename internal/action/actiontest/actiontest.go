// Package actiontest has a Runner for tests of what is done with actions.
package actiontest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/warpld/warpld/internal/action"
)

// A Runner computes results of actions by their labels, without any process. It is safe
// for concurrent use.
type Runner struct {
	// Do has a function for each label that is expected.
	Do map[string]func(*action.Action) *action.Result

	mu  sync.Mutex
	ran []*action.Action
}

// Run implements action.Runner. An action without a function is an error.
func (r *Runner) Run(ctx context.Context, a *action.Action) (*action.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.ran = append(r.ran, a)
	r.mu.Unlock()
	do := r.Do[a.Label]
	if do == nil {
		return nil, fmt.Errorf("no action %q is expected", a.Label)
	}
	return do(a), nil
}

// Ran returns the actions with a label that were run so far.
func (r *Runner) Ran(label string) []*action.Action {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.ran), func(a *action.Action) bool { return a.Label != label })
}

// Wrote returns the result of a tool that wrote files, given as names and contents. What
// the action declares beyond them is missing.
func Wrote(a *action.Action, files ...string) *action.Result {
	result := &action.Result{Outputs: map[string]action.Content{}}
	for i := 0; i+1 < len(files); i += 2 {
		result.Outputs[files[i]] = action.Bytes([]byte(files[i+1]))
	}
	for _, name := range a.Outputs {
		if _, ok := result.Outputs[name]; !ok {
			result.Missing = append(result.Missing, name)
		}
	}
	return result
}
