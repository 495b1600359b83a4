// Record measures what it costs to be told about a link: the CPU time that
// --warpld-record and --warpld-trace add to a link. The tools take what they take, and
// vary by more than the record costs; so the difference is measured where the tools
// do not run, in relinks with nothing changed that take turns with and without, and
// held against the CPU time of the first link. It fails above the limit.
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

// promised is how much more CPU time a link with a record may take.
const promised = 0.02

func main() {
	turns := flag.Int("turns", 9, "how often each relink is done; medians count")
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
	fmt.Printf("%-22s %10s %10s %10s %8s\n", "68 modules", "first link", "without", "with", "more")
	for _, kind := range []string{"stored", "default"} {
		objects, err := filepath.Glob(filepath.Join(os.Getenv("WARPLD_TEST_CORPUS"), toolkits[0].Release(), kind+
			"-generated", "*.o"))
		if err != nil || len(objects) == 0 {
			return fmt.Errorf("no objects of kind %s: %w", kind, err)
		}
		args := append([]string{"-dlto", "-arch=sm_80", "--warpld-cuda=" + toolkits[0].Root}, objects...)
		first, without, with, err := measure(turns, args)
		if err != nil {
			return err
		}
		more := (with - without) / first
		fmt.Printf("%-22s %8.2f s %7.0f ms %7.0f ms %6.1f %%\n", kind, first, without*1000, with*1000, more*100)
		if more > promised {
			return fmt.Errorf("a record costs %.1f %% of a link, the limit is %.0f %%", more*100, promised*100)
		}
	}
	return nil
}

// measure gives the CPU seconds of a link, and the medians of its relinks without and
// with a record.
func measure(turns int, args []string) (first, without, with float64, err error) {
	dir, err := os.MkdirTemp("", "record")
	if err != nil {
		return 0, 0, 0, err
	}
	defer os.RemoveAll(dir)
	link := func(more ...string) (kit.Usage, error) {
		c := exec.Command(os.Getenv("WARPLD_BIN"), slices.Concat(args, []string{"-o", filepath.Join(dir, "out.cubin")},
			more)...)
		c.Env = append(os.Environ(), "WARPLD_CACHE_DIR="+filepath.Join(dir, "cache"))
		return kit.Measure(c)
	}
	told := []string{"--warpld-record=" + filepath.Join(dir, "link.json"), "--warpld-trace=" +
		filepath.Join(dir, "trace.json")}
	cold, err := link()
	if err != nil {
		return 0, 0, 0, err
	}
	var all [2][]kit.Usage
	for range turns {
		for i, more := range [][]string{nil, told} {
			used, err := link(more...)
			if err != nil {
				return 0, 0, 0, err
			}
			all[i] = append(all[i], used)
		}
	}
	return cold.CPU, kit.Medians(all[0]).CPU, kit.Medians(all[1]).CPU, nil
}
