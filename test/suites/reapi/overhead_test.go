//go:build realtools

package reapi

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/local"
	"github.com/warpld/warpld/internal/action/remote"
)

// TestOverhead measures what an execution costs beside the tool's own time, with the
// tool on the machines. It fails only if that is out of all proportion, because
// the machine that tests may be busy.
func TestOverhead(t *testing.T) {
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	tool := action.File{Name: "sh", Content: action.AtPath(shell)}
	digest, err := tool.Content.Digest()
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, fmt.Sprintf(`{"name":"tool-sh","value":%q}`, digest.Hash))
	behind, err := local.New(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	client := connect(t, s.address(), remote.Config{Dir: behind.Dir,
		Note: func(without string, err error) { t.Errorf("without %s: %v", without, err) }})
	defer client.Close()
	there := client.Execute(behind, remote.Machines{Platform: []string{"OSFamily=linux"},
		Tools: map[string]string{"sh": shell}})
	const actions = 100
	median := func(r action.Runner, kind string) time.Duration {
		var walls []time.Duration
		for i := range actions {
			a := script(t, "")
			a.Tool, a.Args = tool, []string{"-c", fmt.Sprintf(": >out # %s %d", kind, i)}
			begun := time.Now()
			result, err := r.Run(t.Context(), a)
			if err != nil || !result.OK() {
				t.Fatalf("result %+v, error %v", result, err)
			}
			walls = append(walls, time.Since(begun))
		}
		slices.Sort(walls)
		return walls[len(walls)/2]
	}
	far, near := median(there, "there"), median(behind, "here")
	t.Logf("an action that does nothing, median of %d: %v there, %v here, so %v beside the tool's own time", actions,
		far, near, far-near)
	if far-near > time.Second {
		t.Error("that is out of all proportion")
	}
}
