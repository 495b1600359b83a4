// Buildcorpus compiles what the tests link: the files of test/programs/corpus and a
// generated program, in every form that nvcc gives them, with every toolkit
// of WARPLD_TEST_CUDA. What is up to date is left alone. Objects that differ only in how their
// device code is packed are compiled once and packed several times.
//
//	go run ./test/tools/buildcorpus DIR
//
// DIR/objects/RELEASE/KIND/ then holds the objects (WARPLD_TEST_CORPUS is
// DIR/objects), DIR/files/RELEASE/ one file of every format and variant for
// the tests of the readers (WARPLD_TEST_FILES is DIR/files).
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/warpld/warpld/test/kit"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: buildcorpus DIR")
		os.Exit(2)
	}
	if err := build(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "buildcorpus:", err)
		os.Exit(1)
	}
}

func build(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	unlock, err := kit.Lock(filepath.Join(dir, ".lock"))
	if err != nil {
		return err
	}
	defer unlock()

	toolkits, err := kit.FindToolkits()
	if err != nil {
		return err
	}
	tests, err := testFolder()
	if err != nil {
		return err
	}
	sources, generated := filepath.Join(dir, "sources"), filepath.Join(dir, "generated")
	if err := writeSources(tests, sources, generated); err != nil {
		return err
	}
	var compile, combine []group
	for _, tk := range toolkits {
		c := corpus{tk: tk, sources: sources, generated: generated,
			objects: filepath.Join(dir, "objects", tk.Release()), files: filepath.Join(dir, "files", tk.Release())}
		first, err := c.compileSteps()
		if err != nil {
			return err
		}
		compile = append(compile, first...)
		combine = append(combine, c.combineSteps()...)
	}
	b := builder{keys: filepath.Join(dir, "keys")}
	if err := os.MkdirAll(b.keys, 0o755); err != nil {
		return err
	}
	if err := b.runAll(compile); err != nil {
		return err
	}
	return b.runAll(combine)
}

// writeSources copies the corpus and generates the large program. Compiled
// there, objects don't depend on where the repository is.
func writeSources(tests, sources, generated string) error {
	if err := os.RemoveAll(sources); err != nil {
		return err
	}
	if err := os.CopyFS(sources, os.DirFS(filepath.Join(tests, "programs", "corpus"))); err != nil {
		return err
	}
	if err := setTimes(sources, time.Unix(1_000_000_000, 0)); err != nil {
		return err
	}
	// One kernel a module: a link then takes six seconds, which a suite can afford for every target.
	return command("", nil, []string{filepath.Join(tests, "programs", "gencorpus"), generated, "--kernels", "1"})
}

// setTimes sets the time of each file in a folder. With -lineinfo, ptxas 13.0
// looks at the sources again when a program is linked and writes their times
// into the cubin: they have to be those of the kept results of nvlink.
func setTimes(dir string, to time.Time) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.Chtimes(filepath.Join(dir, e.Name()), to, to))
	}
	return err
}

// testFolder is where this program's sources, and so the corpus, are.
func testFolder() (string, error) {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/warpld/warpld/test/kit").Output()
	if err != nil {
		return "", fmt.Errorf("finding the corpus: %w (run me inside the repository)", err)
	}
	return filepath.Dir(filepath.Clean(string(out[:len(out)-1]))), nil
}

// runAll brings the outputs of groups, which don't depend on each other, up to date.
func (b builder) runAll(groups []group) error {
	started := time.Now()
	var jobs errgroup.Group
	jobs.SetLimit(runtime.NumCPU())
	var files, made int
	for _, g := range groups {
		stale, err := b.stale(g)
		if err != nil {
			return err
		}
		files, made = files+len(g), made+len(stale)
		if len(stale) > 0 {
			jobs.Go(func() error { return b.run(stale) })
		}
	}
	err := jobs.Wait()
	fmt.Printf("%d files, %d of them made in %s\n", files, made, time.Since(started).Round(time.Second))
	return err
}
