//go:build realtools

package reapi

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/warpld/warpld/test/kit"
)

// TestSoak links programs through a cluster whose parts are killed and started again
// at random: every link must succeed with the right bytes and at most one message, and
// leave no file and no process behind. WARPLD_TEST_SOAK is how many; there are few by
// default.
func TestSoak(t *testing.T) {
	links := kit.Number(t, "WARPLD_TEST_SOAK", 30)
	so := newSoak(t)
	ctx, end := context.WithCancel(t.Context())
	var monkey sync.WaitGroup
	monkey.Go(func() { so.kills = so.cluster.harass(ctx) })
	defer monkey.Wait()
	defer end()
	for i := 0; i < links && !t.Failed(); i++ {
		so.link(t, i)
	}
	end()
	monkey.Wait()
	so.cluster.do("stop")
	so.report(t)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		left := processesIn(t, so.dir, so.cluster.state)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("processes are left: %q", left)
		}
	}
}

// A soak is a series of links and what became of them.
type soak struct {
	cluster *cluster
	dir     string // for what links write on their way
	toolkit kit.Toolkit
	jobs    []kit.Job
	want    [][]byte
	walls   []time.Duration
	memory  int64          // the most that a link took, bytes
	where   map[string]int // steps
	told    int            // links that went on without the server, or without a part of it
	kills   map[string]int
}

// newSoak prepares links that differ in options, each with its result.
func newSoak(t *testing.T) *soak {
	so := &soak{cluster: start(t, ""), dir: t.TempDir(), toolkit: kit.Toolkits(t)[0], where: map[string]int{}}
	objects := []string{so.toolkit.Object(t, "stored", "a.o"), so.toolkit.Object(t, "stored", "b.o")}
	for registers := 24; registers <= 64; registers += 2 {
		job := kit.NewJob(t, objects, arguments("a.o", "b.o", fmt.Sprintf("-maxrregcount=%d", registers))...)
		cubin, _ := link(t, so.toolkit, "", job)
		so.jobs, so.want = append(so.jobs, job), append(so.want, cubin)
	}
	return so
}

// link does the link of a number and holds it against what is known.
func (so *soak) link(t *testing.T, i int) {
	job, want := so.jobs[i%len(so.jobs)], so.want[i%len(so.jobs)]
	linker := kit.Warpld(t, "--warpld-remote-keep=5 --warpld-verbose --warpld-temp-dir="+so.dir+
		" --warpld-cuda="+so.toolkit.Root+
		" --warpld-remote-platform=OSFamily=linux --warpld-remote="+so.cluster.address())
	ctx, cancel := context.WithTimeout(t.Context(), kit.Limit)
	defer cancel()
	cmd := linker.Command(ctx, job)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	begun := time.Now()
	err := cmd.Run()
	so.walls = append(so.walls, time.Since(begun))
	files, takeErr := job.TakeFiles()
	if err != nil || takeErr != nil || !bytes.Equal(files["out.cubin"], want) {
		t.Fatalf("link %d: errors %v, %v; the right cubin: %v\n%s", i, err, takeErr,
			bytes.Equal(files["out.cubin"], want), stderr.String())
	}
	so.memory = max(so.memory, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
	told := strings.Count(stderr.String(), "goes on without")
	so.told += told
	left, _ := filepath.Glob(filepath.Join(so.dir, "*"))
	const bound = 1 << 30
	if told > 1 || len(left) > 0 || len(processesIn(t, so.dir)) > 0 || so.memory > bound {
		t.Errorf("link %d: %d messages; left are files %q and processes %q; %d MB\n%s", i, told, left,
			processesIn(t, so.dir), so.memory>>20, stderr.String())
	}
	for step := range strings.SplitSeq(steps(kit.Result{Stderr: stderr.String()}), ", ") {
		_, where, _ := strings.Cut(step, " ")
		so.where[where]++
	}
}

func (so *soak) report(t *testing.T) {
	slices.Sort(so.walls)
	n := len(so.walls)
	t.Logf("%d links, all right; %d told of a fault; steps: %v; killed and started again: %v", n, so.told, so.where,
		so.kills)
	t.Logf("time of a link: median %v, 95 of 100 within %v, longest %v; memory at most %d MB",
		so.walls[n/2].Round(time.Millisecond),
		so.walls[n*95/100].Round(time.Millisecond), so.walls[n-1].Round(time.Millisecond), so.memory>>20)
	if so.where["worker"] == 0 {
		t.Error("the cluster did nothing")
	}
}

// processesIn lists the processes that run in a folder or below.
func processesIn(t *testing.T, dirs ...string) (left []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range all {
		cwd, err := os.Readlink(link)
		if err == nil && slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(cwd, dir+"/") }) {
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
			left = append(left, strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return left
}

// harass kills a part and starts it again, over and over, and counts.
func (c *cluster) harass(ctx context.Context) map[string]int {
	kills, parts := map[string]int{}, []string{"worker1", "worker2", "scheduler", "storage"}
	for ctx.Err() == nil {
		part := parts[rand.N(len(parts))]
		c.do("kill", part)
		pause(ctx, rand.N(500*time.Millisecond))
		c.do("revive", part)
		kills[part]++
		pause(ctx, 500*time.Millisecond+rand.N(time.Second))
	}
	return kills
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
