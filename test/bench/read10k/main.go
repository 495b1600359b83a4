// Read10k measures what it takes to read many objects: one object under up to
// ten thousand names. It fails if time or memory grow faster than the number.
//
//	go run ./test/bench/read10k
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/warpld/warpld/test/kit"
)

// steeper is how much more than in proportion the cost may grow, for noise.
const steeper = 2

var counts = []int{1000, 2500, 5000, 10000}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "read10k:", err)
		os.Exit(1)
	}
}

func run() error {
	toolkits, err := kit.FindToolkits()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "read10k")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	object := filepath.Join(os.Getenv("WARPLD_TEST_CORPUS"), toolkits[0].Release(), "stored", "hostref.o")
	names := make([]string, counts[len(counts)-1])
	for i := range names {
		names[i] = fmt.Sprintf("n%d.o", i)
		if err := os.Symlink(object, filepath.Join(dir, names[i])); err != nil {
			return err
		}
	}
	costs := map[int]cost{}
	fmt.Printf("%8s %12s %12s\n", "objects", "time", "peak memory")
	for _, n := range counts {
		if costs[n], err = read(dir, names[:n]); err != nil {
			return err
		}
		fmt.Printf("%8d %12s %9d MB\n", n, costs[n].time.Round(time.Millisecond), costs[n].memory>>20)
	}
	few, many := costs[counts[1]], costs[counts[3]]
	growth := float64(counts[3]) / float64(counts[1]) * steeper
	if many.time.Seconds() > few.time.Seconds()*growth || float64(many.memory) > float64(few.memory)*growth {
		return fmt.Errorf("reading %d objects costs more than %.1f times as much as %d", counts[3], growth, counts[1])
	}
	return nil
}

type cost struct {
	time   time.Duration
	memory int64
}

// read lets warpld read the files three times and gives the median time and
// the greatest memory.
func read(dir string, names []string) (cost, error) {
	var c cost
	var all []time.Duration
	for range 3 {
		cmd := exec.Command(os.Getenv("WARPLD_BIN"), append([]string{"inspect"}, names...)...)
		cmd.Dir = dir
		start := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			return c, fmt.Errorf("warpld inspect: %w\n%.2000s", err, out)
		}
		all = append(all, time.Since(start))
		c.memory = max(c.memory, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
	}
	slices.Sort(all)
	c.time = all[1]
	return c, nil
}
