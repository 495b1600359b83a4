package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/warpld/warpld/test/kit"
)

// A result is what a linker needed for a program.
type result struct {
	Program  string
	Modules  int
	Linker   string
	Scenario string
	kit.Usage
	// Failed is how the linker died; what it used until then counts for nothing.
	Failed string `json:",omitempty"`
}

type results []result

// The order of linkers and scenarios in tables.
var (
	linkers   = []string{plain, best, exact, fast}
	scenarios = []string{cold, twice, unchanged, hostCode, "a comment", "a leaf", "a function in between", "a kernel",
		"a library"}
)

func (all results) sort() {
	slices.SortFunc(all, func(a, b result) int {
		return cmp.Or(cmp.Compare(a.Modules, b.Modules), cmp.Compare(a.Program, b.Program),
			slices.Index(linkers, a.Linker)-slices.Index(linkers, b.Linker),
			slices.Index(scenarios, a.Scenario)-slices.Index(scenarios, b.Scenario))
	})
}

// of finds a result; what was not measured or failed has NaN for everything.
func (all results) of(program, linker, scenario string) result {
	for _, r := range all {
		if r.Failed == "" && r.is(program, linker, scenario) {
			return r
		}
	}
	nothing := math.NaN()
	return result{Program: program, Linker: linker, Scenario: scenario,
		Usage: kit.Usage{Wall: nothing, CPU: nothing, Memory: nothing}}
}

func (r result) is(program, linker, scenario string) bool {
	return r.Program == program && r.Linker == linker && r.Scenario == scenario
}

func (r result) metric(name string) float64 {
	return map[string]float64{"wall": r.Wall, "CPU": r.CPU, "memory": r.Memory}[name]
}

// table shows all, with how many times faster than nvlink each is.
func (all results) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| program | linker | what changed | wall s | CPU s | peak MB | nvlink / this "+
		"|\n|---|---|---|---|---|---|---|\n")
	for _, r := range all {
		if r.Failed != "" {
			fmt.Fprintf(&b, "| %s | %s | %s | fails after %.1f: %s | | | |\n", title(r.Program), r.Linker, r.Scenario,
				r.Wall, r.Failed)
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %.3f | %.3f | %.0f | %s |\n", title(r.Program), r.Linker, r.Scenario, r.Wall,
			r.CPU, r.Memory,
			times(all.of(r.Program, plain, cold).Wall/r.Wall))
	}
	return b.String()
}

func title(program string) string {
	if strings.Trim(program, "0123456789") == "" {
		return program + " modules"
	}
	return program
}

// times is a ratio with as many digits as it is worth.
func times(ratio float64) string {
	switch {
	case math.IsNaN(ratio):
		return "–"
	case ratio < 10:
		return fmt.Sprintf("%.2f", ratio)
	}
	return fmt.Sprintf("%.0f", ratio)
}

// addTo puts results into a file, in the place of older ones.
func (all results) addTo(path string) error {
	before, err := readResults(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, r := range before {
		again := func(now result) bool { return now.is(r.Program, r.Linker, r.Scenario) }
		if !slices.ContainsFunc(all, again) {
			all = append(all, r)
		}
	}
	all.sort()
	text, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

func readResults(path string) (all results, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	return all, err
}
