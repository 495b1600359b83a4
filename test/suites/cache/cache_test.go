//go:build realtools

// Package cache links with results of earlier links at hand, with a cache that is
// deleted, damaged by kill -9, read-only or full, and holds each result against
// nvlink's.
package cache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/warpld/warpld/test/kit"
)

// A program is what is linked.
type program struct {
	name    string
	kind    string // folder of the built corpus
	files   []string
	options []string
	merges  bool // the result records the command lines of tools, which may differ
	fast    bool // in slices, which nvlink does not have
}

var programs = []program{
	{name: "two files", kind: "stored", files: []string{"a.o", "b.o"}},
	{name: "compressed", kind: "default", files: []string{"r1_calls.o", "r2_def.o", "r8_math.o"}},
	{name: "what ptxas says", kind: "stored", files: []string{"r3_printf.o", "r8_math.o", "hostref.o"},
		options: []string{"-Xptxas=-v"}},
	{name: "to PTX", kind: "default", files: []string{"w1.o", "w2.o"}, options: []string{"-emit-ptx"}},
	{name: "merged", kind: "stored", files: []string{"cdp.o"}, options: []string{"-Xptxas=-v"}, merges: true},
	{name: "slices", kind: "stored-generated", files: modules(6), options: []string{"-Xptxas=-v"}, fast: true},
	{name: "eight modules", kind: "stored-generated", files: modules(8)},
}

// modules are the libraries of the generated program and its first n modules.
func modules(n int) []string {
	files := []string{"lib0.o", "lib1.o", "lib2.o", "lib3.o"}
	for i := range n {
		files = append(files, fmt.Sprintf("m%d.o", i))
	}
	return files
}

func (p program) job(t *testing.T, tk kit.Toolkit) kit.Job {
	t.Helper()
	args := append([]string{"-m64", "-arch=sm_80", "-dlto", "-nvvmpath=" + tk.NVVM()}, p.options...)
	var paths []string
	for _, file := range p.files {
		paths = append(paths, tk.Object(t, p.kind, file))
		args = append(args, file)
	}
	if p.fast {
		args = append(args, "--warpld-mode=fast", "--warpld-slice-size=32")
	}
	return kit.NewJob(t, paths, append(args, "-L"+tk.Lib(), "-lcudadevrt", "-o", "linked")...)
}

// want is what nvlink makes of a job, or for slices what warpld does without a cache.
func (p program) want(t *testing.T, tk kit.Toolkit, job kit.Job) kit.Result {
	t.Helper()
	if p.fast {
		return link(t, kit.Warpld(t, "--warpld-cuda="+tk.Root), job)
	}
	return tk.Reference(t, job)
}

// ownNote is the message of a link that found it can't use the cache.
var ownNote = regexp.MustCompile(`(?m)^warpld info.*goes without the cache\n(    .*\n)*`)

// check holds a result of warpld against nvlink's of the same job.
func (p program) check(t *testing.T, when string, want, got kit.Result) {
	t.Helper()
	if want.Exit != 0 {
		t.Fatalf("%s: the link fails: %s", p.name, want.Stderr)
	}
	got.Stderr = ownNote.ReplaceAllString(got.Stderr, "")
	for _, difference := range (kit.Comparison{Merged: p.merges}).Differences(want, got) {
		t.Errorf("%s, %s: %s", p.name, when, difference)
	}
}

func link(t *testing.T, l kit.Linker, job kit.Job) kit.Result {
	t.Helper()
	got, err := l.Run(job)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestColdAndWarm: the first link, and the second, which runs no tool and says the same.
func TestColdAndWarm(t *testing.T) {
	for _, tk := range kit.Toolkits(t) {
		dir := filepath.Join(t.TempDir(), "cache")
		warpld := kit.Caching(t, dir, "--warpld-cuda="+tk.Root)
		for _, p := range programs {
			t.Run(tk.Release()+"/"+p.name, func(t *testing.T) {
				job := p.job(t, tk)
				want := p.want(t, tk, job)
				cold := link(t, warpld, job)
				p.check(t, "cold", want, cold)
				warm := link(t, warpld, job)
				p.check(t, "warm", want, warm)
				if cold.Stderr != warm.Stderr || cold.Stdout != warm.Stdout {
					t.Errorf("it says something else from the cache:\n%s%s\nat first:\n%s%s", warm.Stdout, warm.Stderr,
						cold.Stdout, cold.Stderr)
				}
				why := kit.CacheCommand(t, dir, "why", filepath.Join(job.Dir, "linked"))
				if strings.Contains(why, "run, because") || why == "" {
					t.Errorf("the second link runs tools:\n%s", why)
				}
			})
		}
		kit.CacheCommand(t, dir, "verify")
	}
}

// TestDeletedInMidLink deletes the cache over and over while links fill and use it.
func TestDeletedInMidLink(t *testing.T) {
	for _, tk := range kit.Toolkits(t) {
		dir := filepath.Join(t.TempDir(), "cache")
		warpld := kit.Caching(t, dir, "--warpld-cuda="+tk.Root)
		ctx, stop := context.WithCancel(context.Background())
		stopped := make(chan int)
		go func() {
			random, deleted := rand.New(rand.NewPCG(seed, 0)), 0
			for ctx.Err() == nil {
				time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond)
				if _, err := os.Stat(dir); err == nil {
					deleted++
				}
				os.RemoveAll(dir)
			}
			stopped <- deleted
		}()
		for _, p := range programs {
			job := p.job(t, tk)
			want := p.want(t, tk, job)
			for range 3 {
				p.check(t, "while the cache is deleted", want, link(t, warpld, job))
			}
		}
		stop()
		if n := <-stopped; n < len(programs) {
			t.Errorf("the cache was deleted only %d times", n)
		}
	}
}
