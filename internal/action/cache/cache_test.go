package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/warpld/warpld/internal/action"
)

// A maker is a Runner that makes its only output of its only input, and counts.
type maker struct {
	dir  string
	runs atomic.Int64
	fail bool
}

func (m *maker) Run(_ context.Context, a *action.Action) (*action.Result, error) {
	n := m.runs.Add(1)
	if m.fail {
		return &action.Result{ExitCode: 1, Stderr: []byte("no")}, nil
	}
	in, err := a.Inputs[0].Read()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(m.dir, fmt.Sprint("made", n))
	if err := os.WriteFile(path, []byte("made of "+string(in)), 0o600); err != nil {
		return nil, err
	}
	return &action.Result{Stdout: []byte("said"), Outputs: map[string]action.Content{"out": action.AtPath(path)}}, nil
}

func step(input string) *action.Action {
	return &action.Action{Label: "make", Tool: action.File{Name: "tool", Content: action.Bytes([]byte("tool"))},
		Inputs: []action.File{{Name: "in", Origin: "a.o", Content: action.Bytes([]byte(input))}}, Outputs: []string{"out"}}
}

type fixture struct {
	t     *testing.T
	dir   string
	maker *maker
	next  atomic.Int64
}

func newFixture(t *testing.T) *fixture {
	return &fixture{t: t, dir: t.TempDir(), maker: &maker{dir: t.TempDir()}}
}

func (f *fixture) open() *Cache {
	f.t.Helper()
	c, err := Open(f.dir, 1<<30, func(err error) { f.t.Errorf("note: %v", err) })
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

// run runs an action as a process of its own would.
func (f *fixture) run(c *Cache, input string) *action.Result {
	f.t.Helper()
	scratch := f.t.TempDir()
	r := c.Runner(f.maker, func() string { return filepath.Join(scratch, fmt.Sprint(f.next.Add(1))) })
	result, err := r.Run(context.Background(), step(input))
	if err != nil {
		f.t.Fatal(err)
	}
	if got, err := result.Outputs["out"].Read(); err != nil || string(got) != "made of "+input ||
		string(result.Stdout) != "said" {
		f.t.Errorf("output %q, %v, stdout %q", got, err, result.Stdout)
	}
	return result
}

func TestSecondRunIsFromTheCache(t *testing.T) {
	f := newFixture(t)
	for i, want := range []int64{1, 1, 2, 2} {
		input := []string{"x", "x", "y", "y"}[i]
		c := f.open()
		result := f.run(c, input)
		c.Close()
		if f.maker.runs.Load() != want || result.Cached != (i%2 == 1) {
			t.Errorf("run %d: %d were made, cached %v", i, f.maker.runs.Load(), result.Cached)
		}
	}
}

func TestDamagedEntriesAreMadeAgain(t *testing.T) {
	for _, kind := range []string{"results", "blobs"} {
		for name, damage := range map[string]func(string) error{
			"removed":   os.Remove,
			"emptied":   func(p string) error { return os.Truncate(p, 0) },
			"scribbled": func(p string) error { return os.WriteFile(p, []byte("{} garbage"), 0o600) },
		} {
			f := newFixture(t)
			f.run(f.open(), "x")
			files, err := filepath.Glob(filepath.Join(f.dir, kind, "*", "*"))
			if err != nil || len(files) != 1 {
				t.Fatalf("%s: %v, %v", kind, files, err)
			}
			if err := damage(files[0]); err != nil {
				t.Fatal(err)
			}
			c, err := Open(f.dir, 1<<30, func(error) {}) // it may or may not be worth a note
			if err != nil {
				t.Fatal(err)
			}
			f.run(c, "x")
			if f.maker.runs.Load() != 2 {
				t.Errorf("%s %s: taken from the cache", kind, name)
			}
			f.run(f.open(), "x")
			if f.maker.runs.Load() != 2 {
				t.Errorf("%s %s: not mended", kind, name)
			}
		}
	}
}

func TestFailuresAreNotKept(t *testing.T) {
	f := newFixture(t)
	f.maker.fail = true
	r := f.open().Runner(f.maker, t.TempDir)
	for range 2 {
		if result, err := r.Run(context.Background(), step("x")); err != nil || result.OK() {
			t.Fatalf("%+v, %v", result, err)
		}
	}
	if f.maker.runs.Load() != 2 {
		t.Error("a failure was kept")
	}
}

func TestImpureActionsAreRunEveryTime(t *testing.T) {
	f := newFixture(t)
	r := f.open().Runner(f.maker, t.TempDir)
	impure := step("x")
	impure.Impure = "it looks at the clock"
	for range 2 {
		if result, err := r.Run(context.Background(), impure); err != nil || result.Cached {
			t.Fatalf("%+v, %v", result, err)
		}
	}
	if f.maker.runs.Load() != 2 {
		t.Error("an impure action was kept")
	}
}

func TestManyAtOnce(t *testing.T) {
	f := newFixture(t)
	var group sync.WaitGroup
	for i := range 64 {
		group.Go(func() {
			c := f.open()
			f.run(c, fmt.Sprint(i%8))
			c.Close()
		})
	}
	group.Wait()
	if bad, err := f.open().Verify(); err != nil || bad != nil {
		t.Errorf("verify: %v, %v", bad, err)
	}
}

func TestUnusableCacheIsSaidOnce(t *testing.T) {
	f := newFixture(t)
	var notes atomic.Int64
	c, err := Open(f.dir, 1<<30, func(error) { notes.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	// A file in the place of the directory fails for root too.
	if err := os.RemoveAll(f.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.run(c, "x")
	f.run(c, "y")
	c.Close()
	if notes.Load() != 1 {
		t.Errorf("%d notes", notes.Load())
	}
	if _, err := Open(f.dir, 1<<30, nil); err == nil {
		t.Error("a file was opened as a cache")
	}
}

func TestPruneRemovesWhatWasUsedLongestAgo(t *testing.T) {
	f := newFixture(t)
	c := f.open()
	for i, input := range []string{"old", "used again", "new"} {
		f.run(c, input)
		old := time.Now().Add(time.Duration(i-10) * time.Hour)
		files, err := filepath.Glob(filepath.Join(f.dir, "*", "??", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if info, err := os.Stat(file); err == nil && time.Since(info.ModTime()) < time.Hour {
				if err := os.Chtimes(file, old, old); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	f.run(c, "used again")
	before, err := c.Size()
	if err != nil || before.Results != 3 || before.Blobs != 3 {
		t.Fatalf("%+v, %v", before, err)
	}
	if _, err := c.Prune(before.Bytes * 2 / 3); err != nil {
		t.Fatal(err)
	}
	runs := f.maker.runs.Load()
	f.run(c, "used again")
	if f.maker.runs.Load() != runs {
		t.Error("what was used last is gone")
	}
	f.run(c, "old")
	if f.maker.runs.Load() != runs+1 {
		t.Error("what was used longest ago is still there")
	}
}

func TestWhy(t *testing.T) {
	f := newFixture(t)
	link := func(input string) Manifest {
		t.Helper()
		c := f.open()
		c.Follow("out.cubin")
		f.run(c, input)
		c.Close()
		list, err := f.open().Why("out.cubin")
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		return list[0]
	}
	if m := link("x"); m.Hit || m.Changed != "" {
		t.Errorf("first link: %+v", m)
	}
	if m := link("x"); !m.Hit {
		t.Errorf("same link: %+v", m)
	}
	if m := link("y"); m.Hit || m.Changed != "a.o" {
		t.Errorf("changed input: %+v", m)
	}
	if _, err := f.open().Why("other.cubin"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an output that was never linked: %v", err)
	}
}

func TestDigestsOfChangedFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "tool")
	long := time.Now().Add(-time.Hour)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, long, long); err != nil { // as cp -p and tar do
			t.Fatal(err)
		}
	}
	for _, text := range []string{"aaaa", "bbbb", "cccc"} { // same size, same time of modification
		write(text)
		s := openStatCache(filepath.Join(dir, "digests"))
		for range 2 {
			if got, err := s.digest(file); err != nil || got != action.DigestOf([]byte(text)) {
				t.Fatalf("%q: %v, %v", text, got, err)
			}
		}
		if err := s.save(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDigestsAreRemembered(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "digests")
	tool, err := os.Executable() // built a while ago, or this run would not be going on
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		s := openStatCache(file)
		if _, err := s.digest(tool); err != nil {
			t.Fatal(err)
		}
		if err := s.save(); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), tool) {
			if s := openStatCache(file); len(s.entries) != 1 {
				t.Errorf("read back: %+v", s.entries)
			}
			return
		}
	}
	t.Error("the digest of a settled file is never remembered")
}
