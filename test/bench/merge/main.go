// Merge measures what it takes to merge many cubins, or large ones, with nvlink and
// with warpld's own merger, whose outputs must be the same: the median of the time and
// of the processor time, with the turns of both mixed, and the greatest memory.
//
//	go run ./test/bench/merge [-turns N] [-large MEGABYTES] [COUNT...]
//
// It fails if the processor time of ours grows faster than the number, or if it is
// several times that of nvlink for the greatest number.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/warpld/warpld/test/kit"
)

// Bounds that noise does not reach: how much more than in proportion the cost may
// grow, and how much more it may be than nvlink's.
const (
	steeper = 2
	dearer  = 4
)

const target = "sm_80"

// sources are the parts of a program: a kernel, functions that call the next one,
// and the last of them. OWNED and OTHER become numbers.
var sources = []string{
	`extern "C" { __device__ int fOTHER(int); __global__ void kOWNED(int *p) { __shared__ int s[8]; s[p[1] & 7] = ` +
		`*p; __syncthreads(); *p = fOTHER(s[0]); } }`,
	`extern "C" { __device__ int fOTHER(int); __device__ int vOWNED = 7; __device__ __noinline__ int fOWNED(int x) ` +
		`{ return fOTHER(x) + vOWNED; } }`,
	`extern "C" { __device__ __noinline__ int fOWNED(int x) { int a[9]; for (int i = 0; i < 9; i++) a[i] = x * i; ` +
		`return a[x & 7]; } }`,
}

// chain is how many parts a kernel reaches.
const chain = 10

func main() {
	turns := flag.Int("turns", 3, "how often each link is measured")
	large := flag.Int("large", 0, "how many megabytes to merge in large cubins, too")
	flag.Parse()
	if err := run(*turns, *large, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "merge:", err)
		os.Exit(1)
	}
}

func run(turns, large int, args []string) error {
	counts := []int{10, 100, 1000, 4000}
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
	fmt.Printf("%16s   %-27s %-27s %s\n", "cubins", "nvlink: time, CPU, memory", "warpld: time, CPU, memory",
		"time, CPU of warpld to nvlink")
	all := map[int]costs{}
	for _, n := range counts {
		all[n], err = compare(toolkits[0], dir, strconv.Itoa(n), names(n), turns)
		if err != nil {
			return err
		}
	}
	if large > 0 {
		if err := compareLarge(toolkits[0], dir, large, turns); err != nil {
			return err
		}
	}
	return judge(counts, all)
}

// judge holds the costs against the bounds.
func judge(counts []int, all map[int]costs) error {
	most := counts[len(counts)-1]
	if c := all[most]; c.ours.CPU > dearer*c.theirs.CPU {
		return fmt.Errorf("merging %d cubins takes more than %d times the processor time of nvlink", most, dearer)
	}
	if len(counts) < 2 {
		return nil
	}
	few := counts[len(counts)-2]
	if growth := float64(most) / float64(few) * steeper; all[most].ours.CPU > all[few].ours.CPU*growth {
		return fmt.Errorf("merging %d cubins takes more than %.1f times the processor time of %d", most, growth, few)
	}
	return nil
}

// largest is the size of a large cubin, in megabytes.
const largest = 64

// compareLarge merges cubins with variables that take up that many megabytes.
func compareLarge(tk kit.Toolkit, dir string, megabytes, turns int) error {
	count := (megabytes + largest - 1) / largest
	source := fmt.Sprintf(`extern "C" { __device__ int vOWNED[%d << 18] = {1}; __global__ void kOWNED(int *p) { *p `+
		`= vOWNED[p[1]]; } }`, largest)
	part, err := compile(tk, dir, source)
	if err != nil {
		return err
	}
	var files []string
	for i := range count {
		files = append(files, fmt.Sprintf("large%05d.cubin", i))
		data := bytes.ReplaceAll(part, []byte("OWNED"), fmt.Appendf(nil, "%05d", i))
		if err := os.WriteFile(filepath.Join(dir, files[i]), data, 0o644); err != nil {
			return err
		}
	}
	_, err = compare(tk, dir, fmt.Sprintf("%d of %d MB", count, largest), files, turns)
	return err
}

// writeParts makes cubins that differ in their names only, which are all of the
// same length.
func writeParts(tk kit.Toolkit, dir string, count int) error {
	var parts [][]byte
	for _, text := range sources {
		part, err := compile(tk, dir, text)
		if err != nil {
			return err
		}
		parts = append(parts, part)
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

// compile gives the cubin of a source.
func compile(tk kit.Toolkit, dir, text string) ([]byte, error) {
	source, out := filepath.Join(dir, "source.cu"), filepath.Join(dir, "source.cubin")
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		return nil, err
	}
	if text, err := exec.Command(tk.Tool("nvcc"), "-arch="+target, "-rdc=true", "-cubin", source,
		"-o", out).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("nvcc: %w\n%s", err, text)
	}
	return os.ReadFile(out)
}

func name(i int) string { return fmt.Sprintf("p%05d.cubin", i) }

func names(count int) []string {
	var list []string
	for i := range count {
		list = append(list, name(i))
	}
	return list
}

// costs are those of one link.
type costs struct{ theirs, ours kit.Usage }

// compare merges files with both linkers, in turns, and prints the costs.
func compare(tk kit.Toolkit, dir, what string, files []string, turns int) (costs, error) {
	args := append([]string{"-arch=" + target}, files...)
	var theirs, ours []kit.Usage
	for range turns {
		c, err := measure(dir, tk.Tool("nvlink"), append(slices.Clone(args), "-o", "theirs")...)
		if err != nil {
			return costs{}, err
		}
		theirs = append(theirs, c)
		c, err = measure(dir, os.Getenv("WARPLD_BIN"), append(slices.Clone(args), "-o", "ours", "--warpld-cuda="+tk.Root,
			"--warpld-merge=own", "--warpld-exact-bytes")...)
		if err != nil {
			return costs{}, err
		}
		ours = append(ours, c)
	}
	if out, err := exec.Command("cmp", filepath.Join(dir, "theirs"),
		filepath.Join(dir, "ours")).CombinedOutput(); err != nil {
		return costs{}, fmt.Errorf("the outputs for %s cubins differ: %s", what, out)
	}
	c := costs{kit.Medians(theirs), kit.Medians(ours)}
	fmt.Printf("%16s   %s   %s   %.2f, %.2f\n", what, show(c.theirs), show(c.ours), c.ours.Wall/c.theirs.Wall,
		c.ours.CPU/c.theirs.CPU)
	return c, os.Remove(filepath.Join(dir, "ours"))
}

func show(u kit.Usage) string {
	return fmt.Sprintf("%8.1f %7.1f ms %5.0f MB", u.Wall*1e3, u.CPU*1e3, u.Memory)
}

// measure runs a linker. An output of before would have to be taken apart first.
func measure(dir, exe string, args ...string) (kit.Usage, error) {
	if err := os.Remove(filepath.Join(dir, args[slices.Index(args, "-o")+1])); err != nil &&
		!errors.Is(err, fs.ErrNotExist) {
		return kit.Usage{}, err
	}
	cmd := exec.Command(exe, args...)
	cmd.Dir = dir
	return kit.Measure(cmd)
}
