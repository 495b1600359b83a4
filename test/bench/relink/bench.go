package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/warpld/warpld/test/kit"
)

// The linkers, and the scenarios that are not edits.
const (
	plain = "nvlink"
	best  = "nvlink -split-compile=2"
	exact = "warpld, exact"
	fast  = "warpld, fast"

	cold      = "cold"
	unchanged = "unchanged"
	hostCode  = "host code" // an edit, after which no tool may run
	twice     = "cold, two at once"
)

// A bench links one program in a folder of its own.
type bench struct {
	*program
	toolkit kit.Toolkit
	dir     string
	warpld  string
	// caches counts those that were made. Old ones stay to the end: the kernel makes
	// new files slowly for some seconds after many were removed.
	caches int
	found  map[key][]kit.Usage
	failed map[key]string // how nvlink died
}

type key struct{ linker, scenario string }

// measure lets the linkers take turns. nvlink does the same whatever has changed, so
// its cold link stands for all of its links.
func (b *bench) measure(turns int, only string) (results, error) {
	b.found, b.failed = map[key][]kit.Usage{}, map[key]string{}
	for range turns {
		for _, linker := range []string{plain, exact, best, fast} {
			if !strings.Contains(linker, only) {
				continue
			}
			if err := b.turn(linker); err != nil {
				return nil, err
			}
		}
	}
	var all results
	for k, used := range b.found {
		all = append(all, result{b.name, b.modules, k.linker, k.scenario, kit.Medians(used), b.failed[k]})
	}
	all.sort()
	return all, nil
}

// turn measures one linker, with an empty cache at first. The links after edits find
// the cache as it was before any of them.
func (b *bench) turn(linker string) error {
	if err := b.place(b.objects); err != nil {
		return err
	}
	b.caches++
	if err := b.link(linker, cold); err != nil || linker == best {
		return err
	}
	if linker == plain {
		return b.linkTwice()
	}
	for range 5 {
		if err := b.link(linker, unchanged); err != nil {
			return err
		}
	}
	kept := b.cache()
	for _, e := range b.edits {
		if linker == exact && e.name != "a comment" && e.name != "a leaf" && e.name != hostCode {
			continue // all code counts in exact mode, so these two stand for the rest
		}
		if err := b.afterEdit(linker, e, kept); err != nil {
			return err
		}
	}
	return nil
}

// afterEdit links with the cache as it was before any edit.
func (b *bench) afterEdit(linker string, e edit, kept string) error {
	b.caches++
	if err := os.CopyFS(b.cache(), os.DirFS(kept)); err != nil {
		return err
	}
	if err := b.place([]string{e.object}); err != nil {
		return err
	}
	if err := b.link(linker, e.name); err != nil {
		return err
	}
	if e.name == hostCode {
		if err := b.ranNothing(linker); err != nil {
			return err
		}
	}
	for _, object := range b.objects {
		if filepath.Base(object) == filepath.Base(e.object) {
			return b.place([]string{object})
		}
	}
	return fmt.Errorf("%s is not part of %s", e.object, b.name)
}

// ranNothing asks whether all steps of the last link came from the cache.
func (b *bench) ranNothing(linker string) error {
	cmd := exec.Command(b.warpld, "cache", "why", filepath.Join(b.work(), "linked"))
	cmd.Env = append(os.Environ(), "WARPLD_CACHE_DIR="+b.cache())
	out, err := cmd.CombinedOutput()
	if err != nil || len(out) == 0 || strings.Contains(string(out), ": run,") {
		return fmt.Errorf("%s, %s: tools ran though no device code has changed: %v\n%s", b.name, linker, err, out)
	}
	return nil
}

func (b *bench) cache() string { return filepath.Join(b.dir, fmt.Sprintf("cache-%d", b.caches)) }
func (b *bench) work() string  { return filepath.Join(b.dir, "work") }

// place copies objects to where the link finds them.
func (b *bench) place(objects []string) error {
	if err := os.MkdirAll(b.work(), 0o755); err != nil {
		return err
	}
	for _, object := range objects {
		data, err := os.ReadFile(object)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(b.work(), filepath.Base(object)), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// link links once and notes what it took. nvlink crashes on some large programs,
// which is a result, too.
func (b *bench) link(linker, scenario string) error {
	used, err := kit.Measure(b.command(linker, "linked"))
	k := key{linker, scenario}
	b.found[k] = append(b.found[k], used)
	if died := new(exec.ExitError); (linker == plain || linker == best) && errors.As(err, &died) {
		b.failed[k] = died.Error()
		return nil
	}
	return err
}

// linkTwice runs two of nvlink at once, which share nothing: what they take longer than
// one is what the machine's second processor lacks.
func (b *bench) linkTwice() error {
	const largest = 64
	if b.modules > largest {
		return nil
	}
	var used [2]kit.Usage
	var group errgroup.Group
	for i := range used {
		group.Go(func() (err error) {
			used[i], err = kit.Measure(b.command(plain, fmt.Sprintf("linked-%d", i)))
			return err
		})
	}
	err := group.Wait()
	k := key{plain, twice}
	b.found[k] = append(b.found[k], kit.Usage{Wall: max(used[0].Wall, used[1].Wall), CPU: used[0].CPU + used[1].CPU,
		Memory: used[0].Memory + used[1].Memory})
	return err
}

// command is that of a link.
func (b *bench) command(linker, output string) *exec.Cmd {
	args := []string{"-dlto", "-arch=sm_80", "-nvvmpath=" + b.toolkit.NVVM(), "-o", output}
	exe := b.toolkit.Tool("nvlink")
	switch linker {
	case best:
		args = append(args, "-split-compile=2")
	case exact, fast:
		exe = b.warpld
		args = append(args, "--warpld-mode="+strings.TrimPrefix(linker, "warpld, "), "--warpld-cuda="+b.toolkit.Root)
	}
	for _, object := range b.objects {
		args = append(args, filepath.Base(object))
	}
	cmd := exec.Command(exe, append(args, "-L"+b.toolkit.Lib(), "-lcudadevrt")...)
	cmd.Dir, cmd.Env = b.work(), append(os.Environ(), "WARPLD_CACHE_DIR="+b.cache(), "WARPLD_FLAGS=")
	return cmd
}
