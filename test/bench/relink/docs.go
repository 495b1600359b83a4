package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/warpld/warpld/test/kit"
)

// document writes docs/relink.md and its plot.
func document(path string) error {
	all, err := readResults(path)
	if err != nil {
		return err
	}
	root, err := kit.Repository()
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprint(&b, `# What a relink costs

Written by `+"`go run ./test/bench/relink -render FILE`"+` from measurements on a machine with two cores,
for sm_80. The linkers took turns; memory is summed over all processes of a link. nvlink does the
same work whatever has changed, so its cold link stands for all of its links.

- "Two at once" are two nvlinks that share nothing: if the two cores were independent of each other,
  they would take as long as one.
- "A library" is a function that kernels of many modules have inlined.
- "Amplifying" is a program whose kernels all call the same large functions.
- "thrust" is `+"`test/programs/thrust`"+`, compiled as nvcc does by default, and with `+"`-no-compress`"+` as
  "thrust-stored". Its "host code" is an edit of main.cu, after which no tool may run: the benchmark
  fails if one does.

![Seconds by number of modules, both on logarithmic scales](relink.svg)

`)
	fmt.Fprint(&b, all.targetTable(), "\n", all.growth(), "\n", all.table())
	err = os.WriteFile(filepath.Join(root, "docs", "relink.md"), []byte(b.String()), 0o644)
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "docs", "relink.svg"), []byte(all.plot()), 0o644)
	}
	return err
}

// targets are what warpld wants to reach on a quiet machine with two cores.
var targets = []limit{
	{"64", exact, unchanged, plain, "wall", 200},
	{"256", exact, unchanged, plain, "wall", 1000},
	{"64", fast, unchanged, plain, "wall", 200},
	{"256", fast, unchanged, plain, "wall", 1000},
	{"64", fast, "a leaf", plain, "wall", 25},
	{"256", fast, "a leaf", plain, "wall", 50},
	{"64", fast, cold, best, "wall", 1.2},
	{"64", fast, cold, plain, "wall", 1.6},
	{"64", fast, cold, best, "memory", 2},
	{"64", exact, cold, plain, "wall", 1.25},
	{"256", fast, cold, best, "wall", 1.2},
	{"256", fast, cold, plain, "wall", 1.6},
	{"256", fast, cold, best, "memory", 2},
	{"256", exact, cold, plain, "wall", 1.25},
	{"thrust", fast, cold, best, "wall", 1.1},
	{"thrust", fast, cold, plain, "wall", 1.8},
	{"thrust", fast, unchanged, plain, "wall", 300},
	{"thrust", exact, unchanged, plain, "wall", 300},
}

func (all results) targetTable() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| program | linker | what changed | how many times less | than | wanted "+
		"|\n|---|---|---|---|---|---|\n")
	for _, t := range targets {
		fmt.Fprintf(&b, "| %s | %s | %s | %s %s | %s | %s |\n", title(t.program), t.linker, t.scenario,
			times(t.ratio(all)), t.metric, t.over, times(t.least))
	}
	return b.String()
}

// growth fits powers of the number of modules to the times of generated programs.
func (all results) growth() string {
	sizes := all.sizes()
	if len(sizes) < 2 {
		return ""
	}
	from, to := sizes[0], sizes[len(sizes)-1]
	if slices.Contains(sizes, 16) {
		from = 16 // below, fixed costs rule
	}
	var b strings.Builder
	fmt.Fprintf(&b, "CPU time grows from %d to %d modules with this power of their number:\n\n| linker | what "+
		"changed | power |\n|---|---|---|\n", from, to)
	for _, linker := range linkers {
		for _, scenario := range scenarios {
			a, z := all.of(strconv.Itoa(from), linker, scenario), all.of(strconv.Itoa(to), linker, scenario)
			if power := math.Log(z.CPU/a.CPU) / math.Log(float64(to)/float64(from)); !math.IsNaN(power) {
				fmt.Fprintf(&b, "| %s | %s | %.2f |\n", linker, scenario, power)
			}
		}
	}
	return b.String()
}

// sizes are the numbers of modules of the generated programs.
func (all results) sizes() []int {
	var list []int
	for _, r := range all {
		if n, err := strconv.Atoi(r.Program); err == nil && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}
