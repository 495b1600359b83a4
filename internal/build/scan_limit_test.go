package build

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/actiontest"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/message"
)

// slowScan returns a rig for a fast link of four modules, in which the scan of the last one
// reaches the limit of processor time. What caches may keep goes to kept.
func slowScan(t *testing.T, kept *[]*action.Result) *rig {
	t.Helper()
	r := newRig(t, []string{"--warpld-mode=fast"}, "a.ltoir", ltoIR(), "b.ltoir", ltoIR(), "c.ltoir", ltoIR(),
		"slow.ltoir", ltoIR())
	r.in.Runners.Jobs = 1 // two modules in a process
	r.runner.Do["scan"] = func(a *action.Action) *action.Result {
		if a.Inputs[1].Origin == engine.ModuleName(3) {
			return &action.Result{Signal: "killed", TimedOut: true, Usage: action.Usage{CPU: a.CPULimit},
				Stdout: []byte("warpld-stage 1 nvvmAddModule module-00000.ir\nwarpld-stage 2 nvvmCompileProgram\n" +
					"warpld-stage 3 nvvmAddModule module-00001.ir\nwarpld-stage 4 nvvmCompileProgram\n")}
		}
		data, _ := json.Marshal(engine.Answer{Module: -1})
		return actiontest.Wrote(a, engine.SeparateFile(0, engine.AnswerFile), string(data),
			engine.SeparateFile(0, engine.PTXFile), ptxHead, engine.SeparateFile(1, engine.AnswerFile), string(data),
			engine.SeparateFile(1, engine.PTXFile), ptxHead)
	}
	r.in.Runners.Remember = func(next action.Runner) action.Runner {
		return runnerFunc(func(ctx context.Context, a *action.Action) (*action.Result, error) {
			result, err := next.Run(ctx, a)
			if a.Label == "link in slices" {
				*kept = append(*kept, result)
			}
			return result, err
		})
	}
	return r
}

// A module whose scan takes too long is named, and the program is linked without slices. The
// next link of it does not try again.
func TestSlowScan(t *testing.T) {
	var kept []*action.Result
	r := slowScan(t, &kept)
	var notes []string
	report := r.in.Report
	r.in.Report = func(m *message.Message) {
		notes = append(notes, m.Notes...)
		report(m)
	}
	result, err := Run(t.Context(), r.in)
	if err != nil {
		t.Fatal(err)
	}
	if output, err := result.Output.Read(); err != nil || string(output) != "cubin" {
		t.Errorf("the output is %q, %v", output, err)
	}
	const said = "linked without slices: finding the symbols of the program took more than 1s of processor time"
	if !slices.Contains(r.said, said) {
		t.Errorf("said %q", r.said)
	}
	if len(notes) != 1 || !strings.HasPrefix(notes[0], "in ") || !strings.HasSuffix(notes[0], "/slow.ltoir") {
		t.Errorf("the notes are %q", notes)
	}
	if len(kept) != 1 || !kept[0].OK() {
		t.Errorf("kept %+v", kept)
	}
}

// The limit grows with the size of the modules, and only fast links have one.
func TestScanLimit(t *testing.T) {
	r := newRig(t, nil, "a.ltoir", ltoIR(), "b.ltoir", ltoIR())
	for i, megabytes := range []int64{3, 8} {
		r.in.Plan.IR[i].Module.Size = megabytes << 20
	}
	s := &scanner[int]{in: &r.in, limited: true}
	for _, test := range []struct {
		batch []int
		want  time.Duration
	}{
		{[]int{0}, scanProcess + scanModule + 3*scanMegabyte},
		{[]int{0, 1}, scanProcess + 2*scanModule + 11*scanMegabyte},
	} {
		if got := s.cpuLimit(test.batch); got != test.want {
			t.Errorf("%d: the limit is %v, want %v", test.batch, got, test.want)
		}
	}
	if got := (&scanner[int]{in: &r.in}).cpuLimit([]int{0}); got != 0 {
		t.Errorf("other scans have the limit %v", got)
	}
	// A step that --warpld-time-limit has ended is no refusal.
	waited := &action.Result{Signal: "killed", TimedOut: true, Usage: action.Usage{CPU: time.Millisecond}}
	if err := s.tooSlow([]int{0}, waited); err != nil {
		t.Errorf("a scan that waited gives %v", err)
	}
}
