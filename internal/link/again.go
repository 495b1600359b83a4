package link

import (
	"fmt"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/message"
)

// With -split-compile-extended libnvvm crashes or hangs about once in forty times, or
// tells lengths of shards that are not theirs, because its threads get in each other's
// way, and always crashes on programs of some hundred modules, by a division by zero.
// nvlink goes down with it. It is not the program's
// fault, so the link goes on: with another try, then without the split, which gives
// the same program in one piece.

const (
	splitOption  = "-split-compile-extended="
	splitTries   = 2
	divideByZero = "floating point exception" // as action.Result names the signal
)

// compileAgain adds another compilation if the last one ended in such a way, and
// says so.
func (b *build) compileAgain(r *action.Result, vector []string, try int) bool {
	split := slices.IndexFunc(vector, func(option string) bool { return strings.HasPrefix(option, splitOption) })
	if split < 0 || r.TimedOut || r.OutOfMemory > 0 || r.Signal == "" && r.ExitCode != engine.InvalidShards {
		return false
	}
	next := "it is run once more"
	if try < splitTries && r.Signal != divideByZero {
		b.compile(vector, try+1)
	} else {
		next = "the program is compiled without it"
		b.compile(slices.Delete(slices.Clone(vector), split, split+1), 1)
	}
	b.report(&message.Message{Severity: message.Info, ID: "compile-again", Tool: "warpld",
		Text: fmt.Sprintf("libnvvm %s with -split-compile-extended; %s", engine.Ending(r), next)})
	return true
}
