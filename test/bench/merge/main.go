// Merge measures what it takes to merge many cubins, with nvlink and with
// warpld's own merger, whose outputs must be the same. It fails if the time of
// ours grows faster than the number.
//
//	go run ./test/bench/merge [COUNT...]
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/warpld/warpld/test/kit"
)

// steeper is how much more than in proportion the cost may grow, for noise.
const steeper = 3

const target = "sm_80"

// sources are the parts of a program: a kernel, functions that call the next one,
// and the last of them. OWNED and OTHER become numbers.
var sources = []string{
	`extern "C" { __device__ int fOTHER(int); __global__ void kOWNED(int *p) { __shared__ int s[8]; s[p[1] & 7] = *p; __syncthreads(); *p = fOTHER(s[0]); } }`,
	`extern "C" { __device__ int fOTHER(int); __device__ int vOWNED = 7; __device__ __noinline__ int fOWNED(int x) { return fOTHER(x) + vOWNED; } }`,
	`extern "C" { __device__ __noinline__ int fOWNED(int x) { int a[9]; for (int i = 0; i < 9; i++) a[i] = x * i; return a[x & 7]; } }`,
}

// chain is how many parts a kernel reaches.
const chain = 10

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "merge:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	counts := []int{10, 100, 1000}
	if len(args) > 0 {
		counts = nil
	}
	for _, text := range args {
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		counts = append(counts, n)
	}
	toolkits, err := kit.FindToolkits()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "merge")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := writeParts(toolkits[0], dir, slices.Max(counts)); err != nil {
		return err
	}
	fmt.Printf("%8s %24s %24s\n", "cubins", "nvlink", "warpld")
	costs := map[int]cost{}
	for _, n := range counts {
		theirs, ours, err := compare(toolkits[0], dir, n)
		if err != nil {
			return err
		}
		costs[n] = ours
		fmt.Printf("%8d %12s %8d MB %12s %8d MB\n", n, theirs.time.Round(time.Millisecond), theirs.memory>>20, ours.time.Round(time.Millisecond), ours.memory>>20)
	}
	few, many := counts[len(counts)/2], counts[len(counts)-1]
	if growth := float64(many) / float64(few) * steeper; costs[many].time.Seconds() > costs[few].time.Seconds()*growth {
		return fmt.Errorf("merging %d cubins takes more than %.1f times as long as %d", many, growth, few)
	}
	return nil
}

// writeParts makes cubins that differ in their names only, which are all of the
// same length.
func writeParts(tk kit.Toolkit, dir string, count int) error {
	var parts [][]byte
	for i, text := range sources {
		source, out := filepath.Join(dir, fmt.Sprintf("source%d.cu", i)), filepath.Join(dir, "source.cubin")
		if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
			return err
		}
		if text, err := exec.Command(tk.Tool("nvcc"), "-arch="+target, "-rdc=true", "-cubin", source, "-o", out).CombinedOutput(); err != nil {
			return fmt.Errorf("nvcc: %w\n%s", err, text)
		}
		data, err := os.ReadFile(out)
		if err != nil {
			return err
		}
		parts = append(parts, data)
	}
	for i := range count {
		kind := 1
		switch i % chain {
		case 0:
			kind = 0
		case chain - 1:
			kind = 2
		}
		data := bytes.ReplaceAll(parts[kind], []byte("OWNED"), fmt.Appendf(nil, "%05d", i))
		data = bytes.ReplaceAll(data, []byte("OTHER"), fmt.Appendf(nil, "%05d", i+1))
		if err := os.WriteFile(filepath.Join(dir, name(i)), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func name(i int) string { return fmt.Sprintf("p%05d.cubin", i) }

type cost struct {
	time   time.Duration
	memory int64
}

// compare merges the first parts with both linkers.
func compare(tk kit.Toolkit, dir string, count int) (theirs, ours cost, err error) {
	args := []string{"-arch=" + target}
	for i := range count {
		args = append(args, name(i))
	}
	if theirs, err = measure(dir, tk.Tool("nvlink"), append(slices.Clone(args), "-o", "theirs")...); err != nil {
		return theirs, ours, err
	}
	if ours, err = measure(dir, os.Getenv("WARPLD_BIN"), append(args, "-o", "ours", "--warpld-cuda="+tk.Root,
		"--warpld-cache=off", "--warpld-merge=own", "--warpld-exact-bytes")...); err != nil {
		return theirs, ours, err
	}
	a, errA := os.ReadFile(filepath.Join(dir, "theirs"))
	b, errB := os.ReadFile(filepath.Join(dir, "ours"))
	if err := errors.Join(errA, errB); err != nil {
		return theirs, ours, err
	}
	if !bytes.Equal(a, b) {
		return theirs, ours, fmt.Errorf("the outputs for %d cubins differ", count)
	}
	return theirs, ours, nil
}

// measure runs a linker three times and gives the median time and the greatest
// memory of one process.
func measure(dir, exe string, args ...string) (cost, error) {
	var c cost
	var all []time.Duration
	for range 3 {
		cmd := exec.Command(exe, args...)
		cmd.Dir = dir
		start := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			return c, fmt.Errorf("%s: %w\n%.2000s", exe, err, out)
		}
		all = append(all, time.Since(start))
		c.memory = max(c.memory, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
	}
	slices.Sort(all)
	c.time = all[1]
	return c, nil
}
