package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// findings are what limits are held against.
type findings struct {
	unlinked []string // programs that a way of warpld's does not link
	kernels  []comparison
	again    int // backend actions after a change of one function
}

// report measures everything and gives the page.
func (b *bench) report(modules int) (string, error) {
	var page strings.Builder
	fmt.Fprintf(&page, head, modules, target, b.toolkit.Release())
	programs, err := b.programs(modules)
	if err != nil {
		return "", err
	}
	for _, p := range programs {
		all, err := b.linkAll(p)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&page, "\n## %s\n\n%s", p.name, table(all))
		for _, l := range all {
			if l.err != nil && strings.HasPrefix(l.way, "warpld") && !(l.way == ofNvcc && all[0].err != nil) {
				b.found.unlinked = append(b.found.unlinked, p.name+" by "+l.way+": "+complaint(l.err))
			}
		}
		b.found.kernels = append(b.found.kernels, compare(p.name, all)...)
	}
	fmt.Fprint(&page, kernelTable(b.found.kernels))
	large := programs[len(programs)-1]
	for _, part := range []func(*program) (string, error){b.stages, b.incremental} {
		text, err := part(large)
		if err != nil {
			return "", err
		}
		page.WriteString(text)
	}
	return page.String(), nil
}

const head = `# Links of LLVM bitcode, measured

` + "`go run ./test/bench/clang -write`" + ` wrote this page; [clang.md](clang.md) explains it. Programs
are the examples of test/suites/clang and a generated one of %d modules, compiled for %s with
clang 22 and with nvcc of CUDA %s. Time is wall time and CPU time of one link with all its
processes, two cores, the cache off. Instructions are those of the SASS without NOPs, of kernels and
of all functions that they call; registers are those of the median kernel; the last column counts
instructions that touch local memory, where spilled registers go. Nothing was run on a GPU, and
fewer instructions are not always faster.
`

// programs compiles them.
func (b *bench) programs(modules int) ([]*program, error) {
	example := func(names ...string) (units []unit) {
		for _, name := range names {
			units = append(units, unit{source: filepath.Join("test", "suites", "clang", "testdata", name+".cu")})
		}
		return units
	}
	var programs []*program
	for _, p := range []struct {
		name  string
		units []unit
		but   string
	}{
		{"Example with virtual functions", example("a", "b", "c"), ""},
		{"Example with local functions of one name", example("local_p", "local_q"), ""},
		{"Example with shared memory, aliases and weak functions", example("shared_p", "shared_q"), ""},
		// the examples show what becomes of that form
		{fmt.Sprintf("Program of %d modules", modules), generated(modules), unified},
	} {
		compiled, err := b.compile(p.name, p.units, p.but)
		if err != nil {
			return nil, err
		}
		programs = append(programs, compiled)
	}
	return programs, nil
}

// table is what each way made of a program.
func table(all []*linked) string {
	var b strings.Builder
	fmt.Fprintln(&b, "| linker | time, CPU time | kernels | instructions | registers | local memory "+
		"|\n|---|---|---|---|---|---|")
	for _, l := range all {
		if l.err != nil {
			fmt.Fprintf(&b, "| %s | does not link: %s | | | | |\n", l.way, complaint(l.err))
			continue
		}
		kernels, total, local := 0, 0, 0
		var registers []int
		for _, u := range l.usage {
			total, local = total+u.instructions, local+u.spills
			if u.registers > 0 { // only kernels say how many they use
				kernels++
				registers = append(registers, u.registers)
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %d |\n", l.way, l.cost, kernels, total, median(registers), local)
	}
	return b.String()
}

// A comparison is one kernel as nvlink makes it of nvcc's LTO-IR and warpld of bitcode.
type comparison struct {
	program, kernel, way string
	nvcc, ours           usage
}

func (c comparison) ratio() float64 {
	return float64(c.ours.instructions) / float64(c.nvcc.instructions)
}

// compare compares the kernels of full LTO.
func compare(program string, all []*linked) []comparison {
	var list []comparison
	for _, l := range all {
		if l.way != byWarpld && l.way != later {
			continue
		}
		for _, kernel := range slices.Sorted(maps.Keys(l.usage)) {
			if nvcc := all[0].usage[kernel]; nvcc.registers > 0 {
				list = append(list, comparison{program, kernel, l.way, nvcc, l.usage[kernel]})
			}
		}
	}
	return list
}

// misses are kernels with more than a twentieth more instructions than nvcc's, and why.
var misses = map[string]string{
	"kq": "clang unrolls the loop of the function that it calls, nvcc does not; the link cannot undo it",
}

// kernelTable is the comparison with nvcc. Kernels of the generated program are one row for
// each source, with the one that does worst.
func kernelTable(list []comparison) string {
	var b strings.Builder
	fmt.Fprint(&b, "\n## Kernels against nvcc -dlto\n\nFull LTO; instructions / registers / instructions that "+
		"touch local memory. Of the\ngenerated program's kernels the one of each source that compares worst.\n\n"+
		"| kernel | nvcc | clang and warpld | ratio | with -nogpulib | ratio |\n|---|---|---|---|---|---|\n")
	worst := map[string]map[string]comparison{}
	var order []string
	for _, c := range list {
		name, _, _ := strings.Cut(c.kernel, "_")
		if !slices.Contains(kinds, name) {
			name = c.kernel + " of " + c.program
		}
		if worst[name] == nil {
			worst[name] = map[string]comparison{}
			order = append(order, name)
		}
		if was, known := worst[name][c.way]; !known || c.ratio() > was.ratio() {
			worst[name][c.way] = c
		}
	}
	say := func(u usage) string { return fmt.Sprintf("%d / %d / %d", u.instructions, u.registers, u.spills) }
	for _, name := range order {
		at, without := worst[name][byWarpld], worst[name][later]
		fmt.Fprintf(&b, "| %s | %s | %s | %.3f | %s | %.3f |\n", name, say(at.nvcc), say(at.ours), at.ratio(),
			say(without.ours), without.ratio())
	}
	for _, name := range slices.Sorted(maps.Keys(misses)) {
		fmt.Fprintf(&b, "\n%s: %s.\n", name, misses[name])
	}
	for _, way := range []string{byWarpld, later} {
		fmt.Fprintf(&b, "\n%s: %s\n", way, ratios(list, way))
	}
	return b.String()
}

// ratios sums a way up over all kernels.
func ratios(list []comparison, way string) string {
	var all []float64
	for _, c := range list {
		if c.way == way {
			all = append(all, c.ratio())
		}
	}
	return fmt.Sprintf("%d kernels, median %.3f, worst %.3f.", len(all), median(all), slices.Max(append(all, 0)))
}

// limits are those of the issue that asked for this engine.
func (b *bench) limits() error {
	var errs []error
	for _, text := range b.found.unlinked {
		errs = append(errs, errors.New("not linked: "+text))
	}
	var all []float64
	for _, c := range b.found.kernels {
		const most = 1.05
		if all = append(all, c.ratio()); c.ratio() > most && misses[c.kernel] == "" {
			errs = append(errs, fmt.Errorf("%s, %s: %d instructions, nvcc has %d", c.way, c.kernel, c.ours.instructions,
				c.nvcc.instructions))
		}
	}
	if m := median(all); m > 1 {
		errs = append(errs, fmt.Errorf("the median kernel has %.3f times nvcc's instructions", m))
	}
	// The module itself, the one that calls the changed function, the one that imports that
	// call, and the one that imports another function of the module.
	const importers = 4
	if b.found.again < 1 || b.found.again > importers {
		errs = append(errs, fmt.Errorf("after a change of one function %d modules were compiled again", b.found.again))
	}
	return errors.Join(errs...)
}

// temporary matches the names of files that are others in each run.
var temporary = regexp.MustCompile(` in '/\S*'`)

// complaint is the line of an error that says what is wrong.
func complaint(err error) string {
	for line := range strings.Lines(err.Error()) {
		if strings.Contains(line, "error") || strings.Contains(line, "fatal") {
			return temporary.ReplaceAllString(strings.TrimSpace(line), "")
		}
	}
	return err.Error()
}

func median[T cmp.Ordered](list []T) T {
	var none T
	if len(list) == 0 {
		return none
	}
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}
