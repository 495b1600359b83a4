//go:build realtools

// Package edits changes a program at random, over and over, and links after each
// edit with what the cache has. Each result must be that of a build from nothing:
// this proves that the keys of the cache hold all that can change a result.
//
// WARPLD_TEST_EDITS says how many edits, WARPLD_TEST_SEED which.
package edits

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// modes are the promises to keep, with warpld's options for them. Exact mode rarely
// has anything to reuse after an edit, so a part of the states is enough for it.
var modes = []mode{
	{"fast", "--warpld-mode=fast --warpld-slice-size=32", 1},
	{"exact", "", 4},
}

type mode struct {
	name, flags string
	part        int // of the states, one in so many, from the first on
}

func TestEdits(t *testing.T) {
	toolkits := kit.Toolkits(t)
	w := newWorld(compileProgram(t, toolkits[0]), toolkits)
	w.warpld = kit.Warpld(t, "")
	edits, seed := kit.Number(t, "WARPLD_TEST_EDITS", 60), kit.Number(t, "WARPLD_TEST_SEED", 1)
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	states := []state{make(state, len(w.dials))}
	for range edits {
		states = append(states, w.edit(states[len(states)-1], random))
	}
	t.Logf("WARPLD_TEST_SEED=%d WARPLD_TEST_EDITS=%d", seed, edits)
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) { w.walk(t, m, states[:(len(states)+m.part-1)/m.part]) })
	}
}

// walk links the states one after the other with one cache.
func (w *world) walk(t *testing.T, m mode, states []state) {
	b := w.newBuilder(t, m)
	defer b.close(t)
	links, failed, hits, steps := 0, 0, 0, 0
	outputs := map[string]bool{}
	for n := range states {
		got, want := b.link(t, states[n]), w.clean(t, m, states[n])
		if differences := differences(want, got); differences != nil {
			w.report(t, m, states[:n+1], differences)
			return
		}
		links++
		outputs[string(got.Files["linked"])] = true
		if got.Exit != 0 {
			failed++
		}
		h, all := b.why(t)
		hits, steps = hits+h, steps+all
	}
	t.Logf("%d links gave %d different outputs, %d of them fail; %d of %d steps came from the cache", links,
		len(outputs), failed, hits, steps)
	// In exact mode an edit mostly leaves nothing to reuse, so a short walk may not.
	if len(outputs) < links/3 || failed > links/2 || (hits == 0 && links > 50) || hits == steps {
		t.Error("this shows nothing")
	}
}

// differences tells where two results of warpld differ in anything.
func differences(want, got kit.Result) []string {
	list := kit.Differences(want, got)
	// Between two links of warpld its own lines count, too.
	if list == nil && kit.WithoutTimes(want.Stderr) != kit.WithoutTimes(got.Stderr) {
		list = []string{fmt.Sprintf("it says\n%snot\n%s", got.Stderr, want.Stderr)}
	}
	return list
}

// report looks for the shortest list of states that shows the failure.
func (w *world) report(t *testing.T, m mode, states []state, differences []string) {
	t.Helper()
	t.Errorf("after edit %d (%s): %s", len(states)-1, w.describe(states[len(states)-1]), strings.Join(differences, "\n"))
	short := shrink(states, func(states []state) bool {
		return w.replay(t, m, states)
	})
	var list strings.Builder
	for _, s := range short {
		fmt.Fprintf(&list, "\n  %s", w.describe(s))
	}
	t.Errorf("the last of these links is wrong, if they begin with an empty cache:%s", list.String())
}

// replay reports whether the last of some states is linked wrongly.
func (w *world) replay(t *testing.T, m mode, states []state) bool {
	t.Helper()
	b := w.newBuilder(t, m)
	defer b.close(t)
	var got kit.Result
	for _, s := range states {
		got = b.link(t, s)
	}
	return differences(w.clean(t, m, states[len(states)-1]), got) != nil
}

// clean links a state with an empty cache, in a folder of its own.
func (w *world) clean(t *testing.T, m mode, s state) kit.Result {
	t.Helper()
	b := w.newBuilder(t, m)
	defer b.close(t)
	return b.link(t, s)
}

// A builder links states in one folder, with one cache.
type builder struct {
	*world
	dir     string // holds the others
	job     kit.Job
	objects string // the inputs
	cache   string
	linker  kit.Linker
}

func (w *world) newBuilder(t *testing.T, m mode) *builder {
	t.Helper()
	dir, err := os.MkdirTemp("", "edits")
	if err != nil {
		t.Fatal(err)
	}
	b := &builder{world: w, dir: dir, objects: filepath.Join(dir, "objects"), cache: filepath.Join(dir, "cache"),
		job: kit.Job{Dir: filepath.Join(dir, "work")}}
	b.linker = kit.Linker{Exe: w.warpld.Exe, Env: []string{"WARPLD_FLAGS=" + m.flags, "WARPLD_CACHE_DIR=" + b.cache}}
	if err := os.Mkdir(b.job.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{b.objects: "elsewhere"}
	for _, f := range w.files {
		object := filepath.Join(b.objects, f.name+".o")
		write(t, object, "")
		links[object] = f.name + ".o"
	}
	for target, name := range links {
		if err := os.Symlink(target, filepath.Join(b.job.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (b *builder) close(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(b.dir); err != nil {
		t.Fatal(err)
	}
}

// link changes the inputs that are not those of the state, in their places, and links.
func (b *builder) link(t *testing.T, s state) kit.Result {
	t.Helper()
	for _, in := range b.inputs(s) {
		path, text := filepath.Join(b.objects, in.name), read(t, in.object)
		if read(t, path) != text {
			write(t, path, text)
		}
	}
	b.job.Args = b.arguments(s)
	got, err := b.linker.Run(b.job)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// why counts the steps of the last link, and those that came from the cache.
func (b *builder) why(t *testing.T) (hits, steps int) {
	t.Helper()
	out := kit.CacheCommand(t, b.cache, "why", filepath.Join(b.job.Dir, "linked"))
	return strings.Count(out, ": from the cache\n"), strings.Count(out, "\n")
}
