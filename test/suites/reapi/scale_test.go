//go:build realtools

package reapi

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/test/kit"
	"github.com/warpld/warpld/test/tools/scale"
)

// measured is what an execution costs on a cluster of this machine (TestOverhead).
var measured = scale.Cluster{Overhead: 11 * time.Millisecond, Trip: 300 * time.Microsecond}

// TestPrediction replays a link of 64 modules on clusters of 1, 2 and 4 workers and holds
// its time against the prediction. The steps sleep as long as the real ones computed,
// so that this machine can pretend to have more processors. It fails only if the model
// is out of all proportion, because the machine that tests may be busy; docs/scale.md
// has what was measured on a quiet one. For such, WARPLD_TEST_SCALE=1 does the same
// with real links.
func TestPrediction(t *testing.T) {
	t.Run("replay", predictReplay)
	if os.Getenv("WARPLD_TEST_SCALE") != "" {
		t.Run("links", predictLinks)
	}
}

func predictReplay(t *testing.T) {
	trace, err := scale.ReadTrace("../../tools/scale/testdata/fast64.json")
	if err != nil {
		t.Fatal(err)
	}
	trace.Client = 0
	for i := range trace.Jobs {
		trace.Jobs[i].Here = false // the client of this test does nothing itself
	}
	for _, workers := range []int{1, 2, 4} {
		t.Setenv("REAPI_WORKERS", strconv.Itoa(workers))
		c := dial(t, start(t, "").address(), false)
		begun := time.Now()
		if err := replay(t, trace).Run(t.Context(), c, 1000); err != nil {
			t.Fatal(err)
		}
		took := time.Since(begun)
		cluster := measured
		cluster.Workers = workers
		compare(t, fmt.Sprintf("%d workers", workers), took, scale.Predict(trace, cluster).Wall)
		c.told(t, "")
	}
}

// replay is a link whose steps sleep, with inputs and outputs as large as the real ones'.
func replay(t *testing.T, trace *scale.Trace) *action.Graph {
	random := rand.NewChaCha8([32]byte{})
	graph, steps := &action.Graph{}, []*action.Step(nil)
	for _, j := range trace.Jobs {
		input := make([]byte, j.Sent)
		random.Read(input)
		a := script(t, fmt.Sprintf("sleep %.3f; head -c %d /dev/zero >out", j.Work.Seconds(), j.Received))
		a.Inputs[0].Content = action.Bytes(input)
		step := &action.Step{Weight: int(j.Work.Microseconds()),
			Make: func() (*action.Action, error) { return a, nil },
			Handle: action.Check(func(r *action.Result) error {
				if !r.OK() {
					return fmt.Errorf("%s: %s", j.Label, r.Stderr)
				}
				return nil
			})}
		for _, before := range j.After {
			step.After = append(step.After, steps[before])
		}
		steps = append(steps, graph.Add(step))
	}
	return graph
}

func compare(t *testing.T, what string, took, predicted time.Duration) {
	t.Helper()
	off := predicted.Seconds()/took.Seconds() - 1
	t.Logf("%s: %.2f s, predicted %.2f s (%+.0f %%)", what, took.Seconds(), predicted.Seconds(), 100*off)
	if off < -0.75 || off > 1 {
		t.Error("that is out of all proportion")
	}
}

// predictLinks does links for which all workers share the processors of this machine.
func predictLinks(t *testing.T) {
	toolkit := kit.Toolkits(t)[0]
	objects, err := filepath.Glob(filepath.Join(os.Getenv("WARPLD_TEST_CORPUS"), toolkit.Release(), "stored-generated",
		"*.o"))
	if err != nil || len(objects) < 64 {
		t.Fatalf("%d objects, error %v", len(objects), err)
	}
	trace, err := scale.ReadTrace("../../tools/scale/testdata/fast64.json")
	if err != nil {
		t.Fatal(err)
	}
	var first []byte
	for _, workers := range []int{1, 2, 4} {
		t.Setenv("REAPI_WORKERS", strconv.Itoa(workers))
		flags := "--warpld-jobs=1 --warpld-remote-platform=OSFamily=linux --warpld-remote=" + start(t, "").address()
		// The first link brings the tools to the workers.
		link64(t, toolkit, t.TempDir(), flags+" --warpld-slice-size=64", objects)
		begun := time.Now()
		cubin, steps := link64(t, toolkit, t.TempDir(), flags, objects)
		took := time.Since(begun)
		cluster := measured
		cluster.Workers, cluster.Here, cluster.HereCores, cluster.Shared = workers, 1, runtime.NumCPU(), true
		compare(t, fmt.Sprintf("%d workers, %d steps by them", workers, steps.there), took,
			scale.Predict(trace, cluster).Wall)
		if first == nil {
			first = cubin
		}
		if !bytes.Equal(cubin, first) {
			t.Error("another cubin")
		}
	}
}
