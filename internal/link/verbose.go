package link

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/message"
)

// say prints a line for --warpld-verbose.
func (l *linker) say(format string, args ...any) {
	if l.options.Own.Verbose {
		l.tell(format, args...)
	}
}

// tell prints a line that was asked for.
func (l *linker) tell(format string, args ...any) {
	l.log.Report(&message.Message{Severity: message.Info, ID: "verbose", Tool: "warpld", Text: fmt.Sprintf(format, args...)})
}

// explain says what was planned and why.
func (l *linker) explain() {
	l.say("toolkit %s in %s", l.toolkit.Version, l.toolkit.Root)
	for _, r := range l.plan.Reasons {
		l.say("%s", strings.TrimSpace(r.Rule+" "+r.Origin.String()))
	}
	l.say("mode %s, engine %s: %s", l.plan.Mode, l.plan.Engine, l.plan.EngineReason)
}

// decide tells what an engine's answer makes of the link. With two engines both count.
func (l *linker) decide(what string) {
	l.say("%s", what)
	if !slices.Contains(l.decided, what) {
		l.decided = append(l.decided, what)
	}
}

// watched tells of each action as it ends, and takes it down for the record.
type watched struct {
	action.Runner
	l *linker
}

func (l *linker) watch(r action.Runner) action.Runner { return watched{r, l} }

func (w watched) Run(ctx context.Context, a *action.Action) (*action.Result, error) {
	w.l.say("%s: %s %s", a.Label, a.Tool.Path, strings.Join(a.Args, " "))
	start, running := time.Now(), w.l.status.Begin(a.Label)
	result, err := w.Runner.Run(ctx, a)
	w.l.status.End(running, sourceOf(result, err))
	w.l.noteAction(a, start, result, err)
	switch {
	case err != nil:
	case result.Cached:
		w.l.say("%s: from %s", a.Label, cmp.Or(result.Where, "the cache"))
	case result.Where != "":
		w.l.say("%s: %v wall, by %s", a.Label, result.Usage.Wall.Round(time.Millisecond), result.Where)
	default:
		u := result.Usage
		w.l.say("%s: %v wall, %v CPU, %d MB", a.Label, u.Wall.Round(time.Millisecond), u.CPU.Round(time.Millisecond), u.Memory>>20)
	}
	return result, err
}

// workerEnv is the environment of the tools: empty, but for variables that tests
// ask to pass on by naming them in WARPLD_WORKER_ENV.
func (l *linker) workerEnv() []string {
	var env []string
	for name := range strings.SplitSeq(l.Env("WARPLD_WORKER_ENV"), ",") {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	slices.Sort(env)
	return env
}
