//go:build realtools

package compare

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// released is the commit of version 0.1.0.
const released = "a5652aa32d1c3794b8eca02c1e967f96cca2368c"

// representative are the programs that are linked when all would take too long. Together they
// have every kind of step: compilations by both engines, assemblies of one and of several
// pieces, and merges by nvlink.
var representative = []string{"two files", "launched weak", "only archive", "ltoir and object",
	"dynamic parallelism", "native object"}

// TestCacheOfRelease links with version 0.1.0 and then with this one, which must find every step
// in the cache. The worker is part of what a result is found by, as every tool is, so both
// versions are built to start the same worker: this version's. Everything else that makes a key
// (the worker's arguments, environment, inputs and their names, time limits, the encoding) must
// then be as it was. In the full form it links every program for every target.
func TestCacheOfRelease(t *testing.T) {
	names, archs := representative, []string{"sm_80"}
	if kit.Full() {
		names, archs = nil, kit.Archs
		for name := range programs {
			names = append(names, name)
		}
	}
	cache := filepath.Join(t.TempDir(), "cache")
	before, now := buildRelease(t), buildThis(t)
	forEachSetting(t, archs, func(t *testing.T, s setting) {
		for _, name := range names {
			t.Run(name, func(t *testing.T) { t.Parallel(); s.hit(t, programs[name], cache, before, now) })
		}
	})
}

// hit links with both versions. The second link must be as the first, without any step.
func (s setting) hit(t *testing.T, l link, cache, before, now string) {
	job := s.job(t, l)
	run := func(exe string) kit.Result {
		linker := kit.Linker{Exe: exe, Env: []string{"WARPLD_CACHE_DIR=" + cache, "WARPLD_TEST_WORKER=" + kit.Binary(t),
			"WARPLD_FLAGS=--warpld-cuda=" + s.tk.Root + " --warpld-engine=" + s.form.engine}}
		result, err := linker.Run(job)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	filled := run(before)
	if filled.Exit != l.exit {
		t.Fatalf("version 0.1.0 ends with code %d:\n%s", filled.Exit, filled.Stderr)
	}
	for _, difference := range kit.Differences(filled, run(now)) {
		t.Errorf("not as linked by 0.1.0: %s", difference)
	}
	steps := kit.CacheCommand(t, cache, "why", filepath.Join(job.Dir, "linked"))
	for line := range strings.Lines(steps) {
		if !strings.HasSuffix(line, ": from the cache\n") {
			t.Errorf("a step is not found in a cache that 0.1.0 has filled: %s", line)
		}
	}
	if steps == "" {
		t.Error("no step is known to the cache")
	}
}

// buildRelease builds version 0.1.0 from the repository's history.
func buildRelease(t *testing.T) string {
	t.Helper()
	root, err := kit.Repository()
	if err != nil {
		t.Fatal(err)
	}
	sources := t.TempDir()
	archive := filepath.Join(sources, "sources.tar")
	if out, err := exec.Command("git", "-C", root, "archive", "-o", archive, released).CombinedOutput(); err != nil {
		t.Fatalf("commit %s of version 0.1.0 is needed; clone the repository with its history, or run git fetch "+
			"--unshallow\n%s", released, out)
	}
	if out, err := exec.Command("tar", "-C", sources, "-xf", archive).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return build(t, sources)
}

func buildThis(t *testing.T) string {
	t.Helper()
	root, err := kit.Repository()
	if err != nil {
		t.Fatal(err)
	}
	return build(t, root)
}

// build builds warpld as a program named nvlink. The only change to its sources is that the
// worker, which is warpld itself, is taken from a variable of the environment.
func build(t *testing.T, sources string) string {
	t.Helper()
	const old, changed = "os.Executable()", `os.Getenv("WARPLD_TEST_WORKER"), error(nil)`
	main := filepath.Join(sources, "cmd", "warpld", "main.go")
	text, err := os.ReadFile(main)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), old); n != 1 {
		t.Fatalf("%s has %s %d times; once is what this test can replace", main, old, n)
	}
	dir := t.TempDir()
	replacement, overlay, exe := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json"),
		filepath.Join(dir, "nvlink")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {main: replacement}})
	if err != nil {
		t.Fatal(err)
	}
	for path, data := range map[string][]byte{replacement: []byte(strings.Replace(string(text), old, changed, 1)),
		overlay: list} {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "build", "-trimpath", "-overlay", overlay, "-o", exe, "./cmd/warpld")
	cmd.Dir = sources
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return exe
}
