package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// stages times the steps of a link one by one: LLVM's own programs, and warpld's actions.
func (b *bench) stages(p *program) (string, error) {
	var rows strings.Builder
	fmt.Fprintf(&rows, "\n## Steps\n\nOf the program of %d modules. LLVM's programs run alone; the "+
		"times of warpld's steps are wall\ntimes, added up.\n\n| step | time, CPU time |\n|---|---|\n", len(p.stems))
	for _, part := range []func(*program, *strings.Builder) error{b.toolStages, b.thinStages, b.ownStages} {
		if err := part(p, &rows); err != nil {
			return "", err
		}
	}
	return rows.String(), nil
}

// step times one command in the bench's folder.
func (b *bench) step(rows *strings.Builder, name, dir, program string, args ...string) error {
	var best cost
	for range b.turns {
		took, err := timed(dir, program, args...)
		if err != nil {
			return err
		}
		if best.wall == 0 || took.cpu < best.cpu {
			best = took
		}
	}
	fmt.Fprintf(rows, "| %s | %s |\n", name, best)
	return nil
}

// toolStages are full LTO by LLVM's programs.
func (b *bench) toolStages(p *program, rows *strings.Builder) error {
	var kernels strings.Builder
	for i := range p.stems {
		fmt.Fprintf(&kernels, "%s_%d\n", kinds[i%len(kinds)], i)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "keep.txt"), []byte(kernels.String()), 0o666); err != nil {
		return err
	}
	for _, s := range []struct {
		name string
		args []string
	}{
		{"llvm-link", append([]string{"llvm-link-22", "-o", "all.bc"}, p.files("full.bc")...)},
		{"opt, lto&lt;O3&gt;", []string{"opt-22", "-mcpu=" + target, "-passes=nvvm-reflect,internalize,globaldce,lto<O3>",
			"-internalize-public-api-file=keep.txt",
			"-unroll-runtime=false", "all.bc", "-o", "optimized.bc"}},
		{"llc", []string{"llc-22", "-O3", "-mcpu=" + target, "-mattr=+ptx88", "optimized.bc", "-o", "all.ptx"}},
		{"ptxas of its text", []string{b.toolkit.Tool("ptxas"), "-arch=" + target, "all.ptx", "-o", "all.cubin"}},
	} {
		if err := b.step(rows, s.name, b.dir, s.args[0], s.args[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// thinStages are ThinLTO by llvm-lto2, with the resolutions that warpld found.
func (b *bench) thinStages(p *program, rows *strings.Builder) error {
	keep := filepath.Join(b.dir, "keep")
	if err := os.Mkdir(keep, 0o777); err != nil {
		return err
	}
	args := append([]string{"-dlto", "-arch=" + target, "--warpld-cuda=" + b.toolkit.Root, "--warpld-cache=off",
		"--warpld-lto=thin", "--warpld-keep", "--warpld-temp-dir=" + keep,
		"-o", filepath.Join(b.dir, "out.cubin")}, p.files("thin.bc")...)
	if _, err := timed("", b.warpld, args...); err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(keep, "*", "*-thin-link"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("working directories of the thin link: %q, %v", found, err)
	}
	lto := []string{"run", "-filetype=asm", "-mcpu=" + target, "-mattr=+ptx88", "-O3", "-whole-program-visibility",
		"-o", "whole", "@resolutions"}
	if err := b.step(rows, "llvm-lto2, ThinLTO in one process with 2 threads", found[0], "llvm-lto2-22",
		append(lto, "-thinlto-threads=2")...); err != nil {
		return err
	}
	return b.step(rows, "llvm-lto2, the thin link only", found[0], "llvm-lto2-22",
		append(lto, "-thinlto-distributed-indexes")...)
}

var timeLine = regexp.MustCompile(`(?m)^.* , (llvm|ptxas|nvlink)\w* .* , ([0-9.]+) , ms$`)

// ownStages are warpld's, which it writes down itself.
func (b *bench) ownStages(p *program, rows *strings.Builder) error {
	for _, w := range b.ways() {
		if w.name != byWarpld && w.name != byThin {
			continue
		}
		table := filepath.Join(b.dir, "time.csv")
		os.Remove(table)
		if _, err := timed("", w.args[0],
			slices.Concat(w.args[1:], p.files(w.form),
				[]string{"-time", table, "-o", filepath.Join(b.dir, "out.cubin")})...); err != nil {
			return err
		}
		text, err := os.ReadFile(table)
		if err != nil {
			return err
		}
		sum := map[string]float64{}
		for _, part := range timeLine.FindAllStringSubmatch(string(text), -1) {
			ms, _ := strconv.ParseFloat(part[2], 64)
			sum[part[1]] += ms
		}
		for _, phase := range []struct{ key, name string }{{"llvm", "bitcode to PTX"}, {"ptxas", "ptxas"}} {
			fmt.Fprintf(rows, "| %s: %s | %.2f s |\n", w.name, phase.name, sum[phase.key]/1000)
		}
	}
	return nil
}

// incremental links with ThinLTO, then again after a change of one function in one module.
func (b *bench) incremental(p *program) (string, error) {
	cache := filepath.Join(b.dir, "cache")
	link := func(lto string, files []string) (int, time.Duration, error) {
		args := append([]string{"-dlto", "-arch=" + target, "--warpld-cuda=" + b.toolkit.Root, "--warpld-lto=" + lto,
			"--warpld-verbose", "-o", filepath.Join(b.dir, "out.cubin")}, files...)
		cmd := exec.Command(b.warpld, args...)
		cmd.Env = append(os.Environ(), "WARPLD_CACHE_DIR="+cache)
		start := time.Now()
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, out)
		}
		ran := strings.Count(string(out), "compile-thin: /") - strings.Count(string(out), "compile-thin: from the cache")
		return ran, time.Since(start), err
	}
	middle := len(p.stems) / 2
	changed := generated(len(p.stems))[middle]
	changed.flags = append(changed.flags, "-DCHANGE=1")
	var rows strings.Builder
	fmt.Fprint(&rows, "\n## After a change of one function in one module\n\n| link | backend actions that run | "+
		"time |\n|---|---|---|\n")
	for _, lto := range []struct{ mode, form string }{{"thin", "thin.bc"}, {"full", "full.bc"}} {
		other := filepath.Join(b.dir, "changed."+lto.form)
		if err := b.clang(changed, lto.form, other); err != nil {
			return "", err
		}
		files := p.files(lto.form)
		for _, state := range []string{"the cache is empty", "one function has changed", "nothing has changed"} {
			if state == "one function has changed" {
				files[middle] = other
			}
			ran, took, err := link(lto.mode, files)
			if err != nil {
				return "", err
			}
			count := strconv.Itoa(ran)
			if lto.mode == "full" {
				count = "" // all in one action
			} else if state == "one function has changed" {
				b.found.again = ran
			}
			fmt.Fprintf(&rows, "| %s LTO, %s | %s | %.2f s |\n", lto.mode, state, count, took.Seconds())
		}
	}
	return rows.String(), nil
}
