//go:build realtools

package slicing

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/test/kit"
)

// link links objects with warpld and a cache in a folder.
func link(t *testing.T, tk kit.Toolkit, arch, cache, flags string, objects []string) kit.Result {
	t.Helper()
	args := []string{"-dlto", "-arch=" + arch, "-nvvmpath=" + tk.NVVM(), "-o", "linked", "-suppress-stack-size-warning"}
	for _, object := range objects {
		args = append(args, filepath.Base(object))
	}
	linker := kit.Caching(t, cache, "--warpld-cuda="+tk.Root+" "+flags)
	linker.Env = append(linker.Env, "TMPDIR="+t.TempDir())
	got, err := linker.Run(kit.NewJob(t, objects, append(args, "-L"+tk.Lib(), "-lcudadevrt")...))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestLinker: warpld does what this package does step by step, and does it again in
// another folder, with another number of tools at once, to the byte.
func TestLinker(t *testing.T) {
	forEach(t, func(t *testing.T, tk kit.Toolkit, arch string) {
		r := adversarial(t, tk, arch)
		want, err := os.ReadFile(r.link(r.plan(r.oneEach())))
		r.must(err)
		var objects []string
		for _, piece := range r.whole.IR {
			objects = append(objects, piece.Object.Origin.String())
		}
		first := link(t, tk, arch, t.TempDir(), "--warpld-mode=fast --warpld-slice-size=0 --warpld-jobs=1", objects)
		if first.Exit != 0 || first.Stderr != "" {
			t.Fatalf("exit code %d: %s", first.Exit, first.Stderr)
		}
		same(t, want, first.Files["linked"])
		second := link(t, tk, arch, t.TempDir(), "--warpld-mode=fast --warpld-slice-size=0 --warpld-jobs=4", objects)
		if !bytes.Equal(first.Files["linked"], second.Files["linked"]) {
			t.Error("two links differ")
		}
	})
}

// same compares cubins in all but the records of the tools that made them.
func same(t *testing.T, want, got []byte) {
	t.Helper()
	a, err := cubin.Parse(want)
	if err != nil {
		t.Fatal(err)
	}
	b, err := cubin.Parse(got)
	if err != nil {
		t.Fatal(err)
	}
	for _, difference := range cubin.Compare(a, b, false) {
		t.Error(difference)
	}
}

// TestErrors: what is wrong with a program is said in the words of the exact link.
func TestErrors(t *testing.T) {
	for _, tk := range kit.Toolkits(t) {
		for _, files := range [][]string{{"defined_twice1", "defined_twice2"}, {"readers"}, {"assembly_name"}} {
			objects := build(t, tk, true, sources(files...)...)
			quick := link(t, tk, "sm_80", t.TempDir(), "--warpld-mode=fast --warpld-slice-size=0", objects)
			exact := link(t, tk, "sm_80", t.TempDir(), "--warpld-mode=exact", objects)
			reason := regexp.MustCompile(`(?m)^warpld info.*without slices.*\n(    .*\n)*`)
			if !reason.MatchString(quick.Stderr) || exact.Exit == 0 || quick.Exit != exact.Exit ||
				reason.ReplaceAllString(quick.Stderr, "") != exact.Stderr {
				t.Errorf("%q: exit code %d\n%s\nexact: %d\n%s", files, quick.Exit, quick.Stderr, exact.Exit, exact.Stderr)
			}
		}
	}
}

// TestLargeProgram links 64 modules in some 16 slices: each kernel has as many
// instructions and registers as in the unsliced link through the same tools, and an edit repeats little.
func TestLargeProgram(t *testing.T) {
	tk, arch, cache := kit.Toolkits(t)[0], "sm_80", t.TempDir()
	files := generatedSources(t, 64)
	objects := build(t, tk, true, files...)
	flags := "--warpld-mode=fast --warpld-verbose --warpld-slice-size=448"
	cold := link(t, tk, arch, cache, flags, objects)
	if cold.Exit != 0 {
		t.Fatal(cold.Stderr)
	}
	path := filepath.Join(t.TempDir(), "sliced")
	if err := os.WriteFile(path, cold.Files["linked"], 0o644); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, tk, arch, objects)
	whole, err := r.compile(r.all(), r.whole.Compile)
	r.must(err)
	unsliced := r.merge(whole)
	a, b := r.usage(path), r.usage(unsliced)
	counts, wanted := instructions(t, path), instructions(t, unsliced)
	kernels := 0
	for name, use := range b {
		if strings.Contains(name, "_k") {
			kernels++
			if a[name] != use || counts[name] != wanted[name] || counts[name] == 0 {
				t.Errorf("%s: %+v in %d instructions, unsliced %+v in %d", name, a[name], counts[name], use, wanted[name])
			}
		}
	}
	if kernels != 128 {
		t.Errorf("%d kernels", kernels)
	}
	cost(t, cold.Stderr, time.Duration(r.spent.Load()))

	for _, edit := range []struct {
		name, file, from, to string
		compiles, assembles  int // at most
	}{
		{"a kernel", "m8.cu", "out[blockIdx.x] = s", "out[blockIdx.x] = s + 1.5f", 4, 1},
		{"a comment", "m8.cu", "#include", "// here\n#include", 4, 0},
		{"a function that nobody calls", "m63.cu", "#include \"common.h\"",
			"#include \"common.h\"\n__device__ int fresh(int i) { return i; }", 1, 0},
	} {
		changed := edited(t, tk, files, objects, edit.file, edit.from, edit.to)
		got := link(t, tk, arch, cache, flags, changed)
		compiles, assembles := ran(got.Stderr, "compile"), ran(got.Stderr, "assemble")
		t.Logf("%s: %d slices are compiled, %d assembled", edit.name, len(compiles), len(assembles))
		if len(compiles) > edit.compiles || len(assembles) > edit.assembles {
			t.Errorf("%s: %d slices are compiled and %d assembled", edit.name, len(compiles), len(assembles))
		}
		if edit.name == "a kernel" {
			clean := link(t, tk, arch, t.TempDir(), flags, changed)
			if !bytes.Equal(clean.Files["linked"], got.Files["linked"]) || len(got.Files["linked"]) == 0 {
				t.Error("another result than that of a link from nothing")
			}
		}
	}
}

// edited compiles one file anew after a change in all places.
func edited(t *testing.T, tk kit.Toolkit, files, objects []string, name, from, to string) []string {
	t.Helper()
	changed := append([]string(nil), objects...)
	for i, file := range files {
		if filepath.Base(file) != name {
			continue
		}
		copied := t.TempDir()
		for _, f := range []string{file, filepath.Join(filepath.Dir(file), "common.h")} {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if f == file {
				text = bytes.Replace(text, []byte(from), []byte(to), 1)
			}
			if err := os.WriteFile(filepath.Join(copied, filepath.Base(f)), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		changed[i] = build(t, tk, true, filepath.Join(copied, name))[0]
	}
	return changed
}

// ran gives the CPU times of the actions with a label that were run, from what
// --warpld-verbose prints.
func ran(said, label string) (spent []time.Duration) {
	for _, m := range regexp.MustCompile(`(?m): `+label+`: \S+ wall, (\S+) CPU`).FindAllStringSubmatch(said, -1) {
		d, err := time.ParseDuration(m[1])
		if err == nil {
			spent = append(spent, d)
		}
	}
	return spent
}

// cost checks that slices are little more work than the whole program, and that each
// is a small part of it. The limits leave room for a busy machine.
func cost(t *testing.T, said string, whole time.Duration) {
	t.Helper()
	var sum, longest time.Duration
	for _, label := range []string{"scan", "compile", "assemble", "merge"} {
		var most time.Duration
		for _, d := range ran(said, label) {
			sum, most = sum+d, max(most, d)
		}
		if label != "scan" {
			longest += most
		}
	}
	n := len(ran(said, "compile"))
	t.Logf("unsliced %v; %d slices: %v in sum, longest path %v (1/%.1f)", whole, n, sum, longest,
		float64(whole)/float64(longest))
	if n < 12 || n > 24 || sum > whole*3/2 || longest > whole/5 {
		t.Errorf("%s", fmt.Sprint("too much work: ", n, " slices"))
	}
}
