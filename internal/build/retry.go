package build

import (
	"fmt"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/message"
)

// With -split-compile-extended libnvvm crashes or hangs about once in forty times, or
// returns lengths of shards that do not fit, because its threads race with each other.
// It always crashes on programs of some hundred modules, by a division by zero. nvlink
// crashes with it. The program is not at fault, so the link goes on: with a retry, then
// without the split, which gives the same program in one piece.

const (
	splitOption  = "-split-compile-extended="
	splitTries   = 2
	divideByZero = "floating point exception" // as action.Result names the signal
)

// retry adds another compilation if the last one ended in such a way, and reports
// whether it did.
func (e *ltoEngine) retry(r *action.Result, vector []string, try int) bool {
	split := slices.IndexFunc(vector, func(option string) bool { return strings.HasPrefix(option, splitOption) })
	crashed := r.Signal != "" || r.ExitCode == engine.InvalidShards
	if split < 0 || r.TimedOut || r.OutOfMemory > 0 || !crashed {
		return false
	}
	next := "it is run once more"
	if try < splitTries && r.Signal != divideByZero {
		e.compile(vector, try+1)
	} else {
		next = "the program is compiled without it"
		e.compile(slices.Delete(slices.Clone(vector), split, split+1), 1)
	}
	e.b.report(&message.Message{Severity: message.Info, ID: "compile-again", Tool: "warpld",
		Text: fmt.Sprintf("libnvvm %s with -split-compile-extended; %s", engine.Ending(r), next)})
	return true
}
