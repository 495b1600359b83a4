//go:build realtools

package reapi

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/local"
	"github.com/warpld/warpld/internal/action/remote"
)

// TestSoak runs actions through a cluster whose parts are killed and started again at
// random: every result must be right. WARPLD_TEST_SOAK is how many; there are few
// by default.
func TestSoak(t *testing.T) {
	actions := 40
	if text := os.Getenv("WARPLD_TEST_SOAK"); text != "" {
		var err error
		if actions, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, "")
	ctx, end := context.WithCancel(t.Context())
	var monkey sync.WaitGroup
	monkey.Go(func() { s.harass(ctx) })
	defer monkey.Wait()
	defer end()
	there, told := 0, 0
	for first := 0; first < actions; first += 4 { // as a link does: some at once, then a new client
		c := dial(t, s.address(), true)
		var link sync.WaitGroup
		var mu sync.Mutex
		for i := first; i < min(first+4, actions); i++ {
			link.Go(func() {
				r := c.must(t, script(t, fmt.Sprintf("sleep 0.2; echo -n %d >out", i)), fmt.Sprint(i))
				mu.Lock()
				defer mu.Unlock()
				if r.Where != "" {
					there++
				}
			})
		}
		link.Wait()
		c.close()
		told += len(c.notes)
		if len(c.notes) > 1 {
			t.Errorf("more than one message: %q", c.notes)
		}
	}
	t.Logf("%d of %d actions were done by the cluster; %d of %d links told of a fault", there, actions, told, (actions+3)/4)
	if there == 0 {
		t.Error("the cluster did nothing")
	}
}

// harass kills a part and starts it again, over and over.
func (c *cluster) harass(ctx context.Context) {
	parts := []string{"worker1", "worker2", "scheduler", "storage"}
	for ctx.Err() == nil {
		part := parts[rand.N(len(parts))]
		c.do("kill", part)
		pause(ctx, rand.N(500*time.Millisecond))
		c.do("revive", part)
		pause(ctx, 500*time.Millisecond+rand.N(time.Second))
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

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
	client, err := remote.Dial(t.Context(), remote.Config{Server: s.address(), Digest: action.ReadDigest, Dir: behind.Dir,
		Note: func(without string, err error) { t.Errorf("without %s: %v", without, err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	there := client.Execute(behind, remote.Machines{Platform: []string{"OSFamily=linux"}, Tools: map[string]string{"sh": shell}})
	median := func(r action.Runner, kind string) time.Duration {
		var walls []time.Duration
		for i := range 40 {
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
	t.Logf("an action that does nothing: %v there, %v here", far, near)
	if far-near > time.Second {
		t.Error("that is out of all proportion")
	}
}
