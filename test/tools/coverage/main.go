// Coverage runs the unit tests and fails if they cover too little of the packages that run
// a link. A statement counts as covered if a test of any of these packages reaches it, because
// the script tests of package link go through all packages below it.
//
//	go run ./test/tools/coverage
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	module = "github.com/warpld/warpld/"
	least  = 70 // percent
)

// packages must be covered without a CUDA toolkit.
var packages = []string{
	"internal/build", "internal/command", "internal/distribute", "internal/intermediates", "internal/journal",
	"internal/link",
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "coverage:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "coverage")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	profile := filepath.Join(dir, "profile")
	args := []string{"test", "-coverprofile=" + profile, "-coverpkg=./" + strings.Join(packages, ",./"), "./cmd/..."}
	for _, name := range packages {
		args = append(args, "./"+name)
	}
	test := exec.Command("go", args...)
	if out, err := test.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	counts, err := read(profile)
	if err != nil {
		return err
	}
	low := false
	for _, name := range packages {
		c := counts[name]
		percent := 100 * float64(c.covered) / float64(max(c.statements, 1))
		fmt.Printf("%5.1f %%  of %4d statements  %s\n", percent, c.statements, name)
		low = low || percent < least
	}
	if low {
		return fmt.Errorf("the unit tests must cover at least %d %% of each package", least)
	}
	return nil
}

// A count is about one package.
type count struct{ statements, covered int }

// read reads a profile, which has a line "FILE:RANGE STATEMENTS TIMES" for each block and
// each test binary.
func read(profile string) (map[string]count, error) {
	f, err := os.Open(profile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	statements, covered := map[string]int{}, map[string]bool{}
	lines := bufio.NewScanner(f)
	lines.Scan() // the mode
	for lines.Scan() {
		block := strings.Fields(lines.Text())
		if len(block) != 3 {
			return nil, fmt.Errorf("unknown line in the profile: %q", lines.Text())
		}
		n, err := strconv.Atoi(block[1])
		if err != nil {
			return nil, err
		}
		statements[block[0]] = n
		covered[block[0]] = covered[block[0]] || block[2] != "0"
	}
	counts := map[string]count{}
	for block, n := range statements {
		file, _, _ := strings.Cut(block, ":")
		name := strings.TrimPrefix(path.Dir(file), module)
		c := counts[name]
		c.statements += n
		if covered[block] {
			c.covered += n
		}
		counts[name] = c
	}
	if len(counts) == 0 {
		return nil, errors.Join(errors.New("the profile is empty"), lines.Err())
	}
	return counts, lines.Err()
}
