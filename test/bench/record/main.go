// Record measures what it costs to be told about a link: the CPU time of links with
// --warpld-record and --warpld-trace against that of links without, which take turns.
// It fails if the difference is above the limit.
//
//	go run ./test/bench/record [-turns N]
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/warpld/warpld/test/kit"
)

const (
	// promised is how much more CPU time a link with a record may take.
	promised = 0.02
	// noise is what the best of some runs may be off by, on a machine that does other
	// things too.
	noise = 0.03
)

func main() {
	turns := flag.Int("turns", 3, "how often each link is done; the best counts")
	flag.Parse()
	if err := run(*turns); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(turns int) error {
	toolkits, err := kit.FindToolkits()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "record")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Printf("%-22s %10s %10s %8s\n", "program", "without", "with", "more")
	for _, p := range []struct {
		name, kind, pattern string
	}{
		{"68 modules", "stored-generated", "*.o"},
		{"68 modules, compressed", "default-generated", "*.o"},
	} {
		objects, err := filepath.Glob(filepath.Join(os.Getenv("WARPLD_TEST_CORPUS"), toolkits[0].Release(), p.kind, p.pattern))
		if err != nil || len(objects) == 0 {
			return fmt.Errorf("no objects of kind %s: %w", p.kind, err)
		}
		args := append([]string{"-dlto", "-arch=sm_80", "--warpld-cuda=" + toolkits[0].Root, "--warpld-cache=off", "-o", filepath.Join(dir, "out.cubin")}, objects...)
		without, with, err := measure(turns, args, "--warpld-record="+filepath.Join(dir, "link.json"), "--warpld-trace="+filepath.Join(dir, "trace.json"))
		if err != nil {
			return err
		}
		more := with/without - 1
		fmt.Printf("%-22s %8.2f s %8.2f s %6.1f %%\n", p.name, without, with, more*100)
		if more > promised+noise {
			return fmt.Errorf("a record costs %.1f %% of a link of %s, the limit is %.0f %% and %.0f %% for noise", more*100, p.name, promised*100, noise*100)
		}
	}
	return nil
}

// measure gives the least CPU seconds of a link without and with some options.
func measure(turns int, args []string, options ...string) (without, with float64, err error) {
	var all [2][]float64
	for range turns {
		for i, more := range [][]string{nil, options} {
			used, err := kit.Measure(exec.Command(os.Getenv("WARPLD_BIN"), append(slices.Clip(args), more...)...))
			if err != nil {
				return 0, 0, err
			}
			all[i] = append(all[i], used.CPU)
		}
	}
	return slices.Min(all[0]), slices.Min(all[1]), nil
}
