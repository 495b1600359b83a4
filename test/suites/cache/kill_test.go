//go:build realtools

package cache

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/warpld/warpld/test/kit"
)

const (
	together = 50
	seed     = 1
)

// A racer is one of many links that share a cache.
type racer struct {
	program
	job    kit.Job
	want   kit.Result
	cmd    *exec.Cmd
	killed bool // a signal ended it
	stdout bytes.Buffer
	stderr bytes.Buffer
}

// TestKilled links 50 times at once and kills every second process at a random
// moment. The others must be right, and so must the cache that is left.
func TestKilled(t *testing.T) {
	for _, tk := range kit.Toolkits(t) {
		t.Run(tk.Release(), func(t *testing.T) { killSome(t, tk) })
	}
}

func killSome(t *testing.T, tk kit.Toolkit) {
	random := rand.New(rand.NewPCG(seed, 0))
	dir, temporary := t.TempDir(), t.TempDir()
	warpld := kit.Caching(t, dir, "--warpld-cuda="+tk.Root)
	warpld.Env = append(warpld.Env, "TMPDIR="+temporary)
	ctx, cancel := context.WithTimeout(context.Background(), kit.Limit)
	defer cancel()
	wants := map[string]kit.Result{}
	for _, p := range programs {
		wants[p.name] = p.want(t, tk, p.job(t, tk))
	}
	racers := make([]*racer, together)
	for i := range racers {
		p := programs[i%len(programs)]
		job := p.job(t, tk)
		racers[i] = &racer{program: p, job: job, want: wants[p.name], cmd: warpld.Command(ctx, job)}
		racers[i].cmd.Stdout, racers[i].cmd.Stderr = &racers[i].stdout, &racers[i].stderr
	}
	race(t, racers, random)
	dead := 0
	for _, r := range racers {
		if r.killed {
			dead++
			continue
		}
		r.check(t, "among many", r.want, r.result(t))
	}
	t.Logf("seed %d: %d of %d links were killed", seed, dead, len(racers))
	if dead == 0 || dead == len(racers) {
		t.Error("this shows nothing")
	}
	noOrphans(t, temporary)
	if said := kit.CacheCommand(t, dir, "verify"); strings.Contains(said, "removed") {
		t.Errorf("the cache is damaged: %s", said)
	}
	for _, r := range racers[:len(programs)] {
		r.check(t, "after the others", r.want, link(t, warpld, r.job))
	}
}

// result is what a racer that was not killed has left.
func (r *racer) result(t *testing.T) kit.Result {
	t.Helper()
	files, err := r.job.TakeFiles()
	if err != nil {
		t.Fatal(err)
	}
	return kit.Result{Exit: r.cmd.ProcessState.ExitCode(), Stdout: r.stdout.String(), Stderr: r.stderr.String(),
		Files: files}
}

// race starts all and kills every second one, most of them while it works: together
// they keep two cores busy for about as long as the span.
func race(t *testing.T, racers []*racer, random *rand.Rand) {
	t.Helper()
	const span = 5 * time.Second
	done := make(chan error)
	for i, r := range racers {
		if err := r.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 {
			timer := time.AfterFunc(time.Duration(random.Int64N(int64(span))), func() { r.cmd.Process.Kill() })
			defer timer.Stop()
		}
		go func() {
			r.cmd.Wait() // its end is judged by its state
			r.killed = r.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
			var err error
			if r.killed && i%2 == 0 {
				err = fmt.Errorf("%s was killed by somebody else", r.name)
			}
			done <- err
		}()
	}
	for range racers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// noOrphans waits for the tools of killed links to end. All of them work in folders
// below dir.
func noOrphans(t *testing.T, dir string) {
	t.Helper()
	var left []string
	for range 100 {
		left = nil
		places, err := filepath.Glob("/proc/[0-9]*/cwd")
		if err != nil {
			t.Fatal(err)
		}
		for _, place := range places {
			if at, err := os.Readlink(place); err == nil && strings.HasPrefix(at, dir) {
				left = append(left, place+" "+at)
			}
		}
		if left == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("processes are left: %q", left)
}
