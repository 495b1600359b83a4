// Command clang compares links of LLVM bitcode: what clang's own linker makes of a
// program of many modules, what warpld makes of it, and what nvcc and nvlink make of
// the same sources. It prints a table for the docs. Each link is run three times, and
// the one with the least CPU time counts.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/warpld/warpld/test/kit"
)

const (
	target    = "sm_90"
	functions = 20 // in a module
	chains    = 4  // how deep calls go
)

func main() {
	modules := flag.Int("modules", 100, "how many modules the program has")
	flag.Parse()
	if err := run(*modules); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// source is one module: a kernel and functions, which call some of other modules.
func source(i, modules, factor int) string {
	var b strings.Builder
	name := func(i, j int) string { return fmt.Sprintf("f%d_%d", i%modules, j) }
	for j := range functions {
		if j%chains != 0 {
			fmt.Fprintf(&b, "extern \"C\" __device__ float %s(float x, int n);\n", name(i+j, j-1))
		}
	}
	for j := range functions {
		fmt.Fprintf(&b, "extern \"C\" __device__ float %s(float x, int n) {\n  for (int i = 0; i < n; i++) x = x * %d.5f + sqrtf(x + i);\n", name(i, j), (i*7+j*3)%13+factor)
		if j%chains != 0 {
			fmt.Fprintf(&b, "  if (x > %d.0f) x = %s(x, n - 1) + 1.0f / x;\n", j, name(i+j, j-1))
		}
		fmt.Fprintf(&b, "  return x;\n}\n")
	}
	fmt.Fprintf(&b, "extern \"C\" __global__ void k%d(float* out, int n) { out[threadIdx.x] = %s(out[threadIdx.x], n) + %s(out[0], n + 1); }\n", i, name(i, functions-1), name(i, chains-1))
	return b.String()
}

// A bench is the program in all its forms.
type bench struct {
	toolkit kit.Toolkit
	dir     string
	modules int
}

func run(modules int) error {
	toolkits, err := kit.FindToolkits()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "warpld-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{toolkits[0], dir, modules}
	if err := b.compile(); err != nil {
		return err
	}
	return b.report()
}

// compile makes the program with both compilers.
func (b *bench) compile() error {
	for _, header := range []string{"curand_mtgp32_kernel.h", "texture_fetch_functions.h", "surface_functions.h"} {
		if err := os.WriteFile(filepath.Join(b.dir, header), nil, 0o666); err != nil {
			return err
		}
	}
	var group errgroup.Group
	group.SetLimit(2)
	for i := range b.modules {
		group.Go(func() error {
			path := filepath.Join(b.dir, fmt.Sprintf("m%03d.cu", i))
			if err := os.WriteFile(path, []byte(source(i, b.modules, 1)), 0o666); err != nil {
				return err
			}
			stem := strings.TrimSuffix(path, ".cu")
			for _, lto := range []string{"full", "thin"} {
				if err := b.clang(path, stem+"."+lto+".bc", lto); err != nil {
					return err
				}
			}
			number := strings.TrimPrefix(target, "sm_")
			return command(b.toolkit.Tool("nvcc"), "-dc", "-gencode", "arch=compute_"+number+",code=lto_"+number, path, "-o", stem+".o")
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	changed := filepath.Join(b.dir, "changed.cu")
	if err := os.WriteFile(changed, []byte(source(b.modules/2, b.modules, 2)), 0o666); err != nil {
		return err
	}
	return b.clang(changed, filepath.Join(b.dir, "changed.bc"), "thin")
}

func (b *bench) clang(source, output, lto string) error {
	return command("clang++-22", "-x", "cuda", "--cuda-path="+b.toolkit.Root, "-isystem", b.dir, "--cuda-gpu-arch="+target, "--cuda-device-only", "-fgpu-rdc", "-O2", "-w",
		"-Wno-unknown-cuda-version", "-foffload-lto="+lto, "-mllvm", "-nvvm-reflect-add=__CUDA_PREC_SQRT=1", "-c", source, "-o", output)
}

func command(name string, args ...string) error {
	_, err := timed(name, args...)
	return err
}

// A cost is what a run takes; CPU is that of all its processes.
type cost struct{ wall, cpu time.Duration }

func timed(name string, args ...string) (cost, error) {
	cmd := exec.Command(name, args...)
	start := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return cost{}, fmt.Errorf("%s %q: %w\n%s", name, args, err, out)
	}
	return cost{time.Since(start), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, nil
}

func (b *bench) files(suffix string) []string {
	var list []string
	for i := range b.modules {
		list = append(list, filepath.Join(b.dir, fmt.Sprintf("m%03d%s", i, suffix)))
	}
	return list
}

// A way is one linker with its arguments.
type way struct {
	name string
	args []string
}

func (b *bench) ways() []way {
	warpld := os.Getenv("WARPLD_BIN")
	own := []string{warpld, "-dlto", "-arch=" + target, "--warpld-cuda=" + b.toolkit.Root, "--warpld-cache=off"}
	runtime := []string{"-L" + b.toolkit.Lib(), "-lcudadevrt"} // as nvcc has it
	return []way{
		{"nvlink, LTO-IR of nvcc", slices.Concat([]string{b.toolkit.Tool("nvlink"), "-dlto", "-arch=" + target, "-nvvmpath=" + b.toolkit.NVVM()}, b.files(".o"), runtime)},
		{"warpld, LTO-IR of nvcc", slices.Concat(own, b.files(".o"), runtime)},
		{"clang-nvlink-wrapper, full LTO", append([]string{"clang-nvlink-wrapper-22", "-arch", target, "--cuda-path=" + b.toolkit.Root, "--plugin-opt=O3", "--plugin-opt=-mattr=+ptx88"}, b.files(".full.bc")...)},
		{"clang-nvlink-wrapper, ThinLTO", append([]string{"clang-nvlink-wrapper-22", "-arch", target, "--cuda-path=" + b.toolkit.Root, "--plugin-opt=O3", "--plugin-opt=thinlto", "--plugin-opt=-mattr=+ptx88"}, b.files(".thin.bc")...)},
		{"warpld, bitcode, full LTO", append(slices.Clone(own), b.files(".full.bc")...)},
		{"warpld, bitcode, ThinLTO", append(append(slices.Clone(own), "--warpld-lto=thin"), b.files(".thin.bc")...)},
	}
}

func (b *bench) report() error {
	var base map[string]usage
	fmt.Printf("%d modules, %d kernels\n\n| linker | time, CPU time | SASS instructions | against nvlink, median (worst) | registers, median | spills |\n|---|---|---|---|---|---|\n", b.modules, b.modules)
	for _, w := range b.ways() {
		output := filepath.Join(b.dir, "out.cubin")
		var best cost
		var err error
		for range 3 {
			os.Remove(output)
			var took cost
			if took, err = timed(w.args[0], append(slices.Clone(w.args[1:]), "-o", output)...); err != nil {
				break
			}
			if best.wall == 0 || took.cpu < best.cpu {
				best = took
			}
		}
		if err != nil {
			fmt.Printf("| %s | fails: %s | | | | |\n", w.name, lastLine(err.Error()))
			continue
		}
		found, err := b.usage(output)
		if err != nil {
			return err
		}
		if base == nil {
			base = found
		}
		fmt.Printf("| %s | %.2f s, %.2f s | %s |\n", w.name, best.wall.Seconds(), best.cpu.Seconds(), summary(found, base))
	}
	return b.incremental()
}

// incremental links with ThinLTO, then again after a change in one module.
func (b *bench) incremental() error {
	cache := filepath.Join(b.dir, "cache")
	link := func(files []string) (int, time.Duration, error) {
		args := append([]string{"-dlto", "-arch=" + target, "--warpld-cuda=" + b.toolkit.Root, "--warpld-lto=thin", "--warpld-verbose", "-o", filepath.Join(b.dir, "out.cubin")}, files...)
		cmd := exec.Command(os.Getenv("WARPLD_BIN"), args...)
		cmd.Env = append(os.Environ(), "WARPLD_CACHE_DIR="+cache)
		start := time.Now()
		out, err := cmd.CombinedOutput()
		ran := strings.Count(string(out), "compile-thin: /") - strings.Count(string(out), "compile-thin: from the cache")
		return ran, time.Since(start), err
	}
	files := b.files(".thin.bc")
	first, firstTime, err := link(files)
	if err != nil {
		return err
	}
	files[b.modules/2] = filepath.Join(b.dir, "changed.bc")
	second, secondTime, err := link(files)
	if err != nil {
		return err
	}
	fmt.Printf("\nThinLTO with an empty cache: %d backend actions, %.2f s; after a change in one module: %d, %.2f s\n", first, firstTime.Seconds(), second, secondTime.Seconds())
	return nil
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// A usage is what a kernel takes.
type usage struct{ instructions, registers, spills int }

var (
	functionLine = regexp.MustCompile(`Function : (\S+)`)
	codeLine     = regexp.MustCompile(`^\s+/\*[0-9a-f]{4,}\*/\s+(.*)`)
	usageLine    = regexp.MustCompile(`Function (\S+):\s*\n?\s*REG:(\d+) STACK:(\d+)`)
	localMemory  = regexp.MustCompile(`\b(LDL|STL)\b`)
)

// usage reads a cubin with cuobjdump. Functions that kernels call count for the total only.
func (b *bench) usage(cubin string) (map[string]usage, error) {
	found := map[string]usage{}
	sass, err := exec.Command(b.toolkit.Tool("cuobjdump"), "-sass", cubin).Output()
	if err != nil {
		return nil, err
	}
	function := ""
	for line := range strings.Lines(string(sass)) {
		if part := functionLine.FindStringSubmatch(line); part != nil {
			function = part[1]
		} else if part := codeLine.FindStringSubmatch(line); part != nil && !strings.HasPrefix(part[1], "NOP") {
			u := found[function]
			u.instructions++
			if localMemory.MatchString(part[1]) {
				u.spills++
			}
			found[function] = u
		}
	}
	text, err := exec.Command(b.toolkit.Tool("cuobjdump"), "-res-usage", cubin).Output()
	for _, part := range usageLine.FindAllStringSubmatch(string(text), -1) {
		u := found[part[1]]
		u.registers, _ = strconv.Atoi(part[2])
		found[part[1]] = u
	}
	return found, err
}

// summary is a row of the table, but for name and time.
func summary(found, base map[string]usage) string {
	total, spills := 0, 0
	var ratios []float64
	var registers []int
	for name, u := range found {
		total += u.instructions
		spills += u.spills
		if was := base[name]; was.instructions > 0 && strings.HasPrefix(name, "k") {
			ratios = append(ratios, float64(u.instructions)/float64(was.instructions))
			registers = append(registers, u.registers)
		}
	}
	return fmt.Sprintf("%d | %.3f (%.3f) | %d | %d", total, median(ratios), slices.Max(append(ratios, 0)), median(registers), spills)
}

func median[T cmp.Ordered](list []T) T {
	var none T
	if len(list) == 0 {
		return none
	}
	slices.Sort(list)
	return list[len(list)/2]
}
