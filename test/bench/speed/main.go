// Speed measures warpld against nvlink, the two taking turns in one run, so
// that whatever else the machine does hits both. The cache is off.
//
//	go run ./test/bench/speed
//
// It reads the same environment as the tests do; .ci/run sets it.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/warpld/warpld/test/kit"
)

// A benchmark is one link, with the limit it has to keep.
type benchmark struct {
	name   string
	kind   string // folder of the corpus
	files  []string
	turns  int
	metric string // which of the two ratios is limited: wall or CPU
	limit  float64
}

func benchmarks() []benchmark {
	var list []benchmark
	for _, form := range []string{"stored", "default"} {
		list = append(list,
			benchmark{"two files, " + form, form, []string{"a.o", "b.o"}, 40, "wall", 1.3},
			benchmark{"64 modules, " + form, form + "-generated", nil, 3, "CPU", 1.05})
	}
	return list
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "speed:", err)
		os.Exit(1)
	}
}

func run() error {
	toolkits, err := kit.FindToolkits()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "speed")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	warpld := filepath.Join(work, "nvlink")
	if err := os.Symlink(os.Getenv("WARPLD_BIN"), warpld); err != nil {
		return err
	}
	fmt.Printf("%-8s %-22s %23s %23s %14s\n", "", "medians in seconds", "nvlink (wall, CPU)", "warpld (wall, CPU)",
		"ratio (limit)")
	for _, tk := range toolkits {
		for _, b := range benchmarks() {
			if err := b.measure(tk, work, warpld); err != nil {
				return err
			}
		}
	}
	return nil
}

// measure runs both linkers in turn and prints the medians.
func (b benchmark) measure(tk kit.Toolkit, work, warpld string) error {
	args, err := b.arguments(tk)
	if err != nil {
		return err
	}
	var theirs, ours times
	for range b.turns {
		if err := theirs.add(work, tk.Tool("nvlink"), args); err != nil {
			return err
		}
		if err := ours.add(work, warpld, args); err != nil {
			return err
		}
	}
	ratio := ours.median(b.metric) / theirs.median(b.metric)
	verdict := "ok"
	if ratio > b.limit {
		verdict = "over"
	}
	fmt.Printf("%-8s %-22s %11.3f %11.3f %11.3f %11.3f   %s %.2f (%.2f) %s\n", tk.Version, b.name,
		theirs.median("wall"), theirs.median("CPU"), ours.median("wall"), ours.median("CPU"), b.metric, ratio, b.limit,
		verdict)
	return nil
}

func (b benchmark) arguments(tk kit.Toolkit) ([]string, error) {
	dir := filepath.Join(os.Getenv("WARPLD_TEST_CORPUS"), tk.Release(), b.kind)
	args := []string{"-arch=sm_80", "-dlto", "-nvvmpath=" + tk.NVVM()}
	paths, err := filepath.Glob(filepath.Join(dir, "*.o"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("no objects in %s (%v); test/tools/buildcorpus builds them, and .ci/run tells where", dir, err)
	}
	for _, path := range paths {
		if b.files == nil || slices.Contains(b.files, filepath.Base(path)) {
			args = append(args, path)
		}
	}
	return append(args, "-L"+tk.Lib(), "-lcudadevrt", "-o", "linked"), nil
}

// times are the runs of one linker, by metric, in seconds.
type times map[string][]float64

// add runs the linker once.
func (t *times) add(dir, exe string, args []string) error {
	cmd := exec.Command(exe, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "WARPLD_FLAGS=--warpld-cache=off")
	used, err := kit.Measure(cmd)
	if err != nil {
		return err
	}
	if *t == nil {
		*t = times{}
	}
	(*t)["wall"] = append((*t)["wall"], used.Wall)
	(*t)["CPU"] = append((*t)["CPU"], used.CPU)
	return nil
}

func (t times) median(metric string) float64 {
	sorted := slices.Sorted(slices.Values(t[metric]))
	return sorted[len(sorted)/2]
}
