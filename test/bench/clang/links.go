package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// A way is one linker with its arguments, but for inputs and output.
type way struct {
	name string
	form string // of the inputs
	args []string
}

// Names of ways that others are compared with.
const (
	byNvlink = "nvlink, LTO-IR of nvcc"
	ofNvcc   = "warpld, LTO-IR of nvcc"
	byWarpld = "warpld, full LTO"
	later    = "warpld, full LTO, -nogpulib"
	byThin   = "warpld, ThinLTO"
)

func (b *bench) ways() []way {
	wrapper := func(options ...string) []string {
		return append([]string{"clang-nvlink-wrapper-22", "-arch", target, "--cuda-path=" + b.toolkit.Root,
			"--plugin-opt=O3", "--plugin-opt=-mattr=+ptx88"}, options...)
	}
	own := func(options ...string) []string {
		return append([]string{b.warpld, "-dlto", "-arch=" + target, "--warpld-cuda=" + b.toolkit.Root,
			"--warpld-cache=off"}, options...)
	}
	runtime := []string{"-L" + b.toolkit.Lib(), "-lcudadevrt"} // as nvcc has it
	return []way{
		{byNvlink, "o", append([]string{b.toolkit.Tool("nvlink"), "-dlto", "-arch=" + target, "-nvvmpath=" +
			b.toolkit.NVVM()}, runtime...)},
		{ofNvcc, "o", own(runtime...)},
		{byWarpld, "full.bc", own()},
		{later, "later.bc", own()},
		{byThin, "thin.bc", own("--warpld-lto=thin")},
		{"clang-nvlink-wrapper, full LTO", "full.bc", wrapper()},
		{"clang-nvlink-wrapper, ThinLTO", "thin.bc", wrapper("--plugin-opt=thinlto")},
		{"clang-nvlink-wrapper, ThinLTO, -funified-lto", unified, wrapper("--plugin-opt=thinlto")},
	}
}

// A linked program is what one way made of it.
type linked struct {
	way   string
	err   error
	cost  cost
	usage map[string]usage
}

// link links a program in one way, several times.
func (b *bench) link(p *program, w way) (*linked, error) {
	l := &linked{way: w.name}
	output := filepath.Join(b.dir, "out.cubin")
	args := slices.Concat(w.args[1:], p.files(w.form), []string{"-o", output})
	for range b.turns {
		os.Remove(output)
		took, err := timed("", w.args[0], args...)
		if err != nil {
			l.err = err
			return l, nil
		}
		if l.cost.wall == 0 || took.cpu < l.cost.cpu {
			l.cost = took
		}
	}
	var err error
	l.usage, err = b.usage(output)
	return l, err
}

// linkAll links a program in all ways.
func (b *bench) linkAll(p *program) ([]*linked, error) {
	var all []*linked
	for _, w := range b.ways() {
		if w.form == p.without {
			continue
		}
		l, err := b.link(p, w)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// A usage is what a function takes.
type usage struct{ instructions, registers, spills int }

var (
	usageLine   = regexp.MustCompile(`Function (\S+):\s*\n?\s*REG:(\d+) STACK:(\d+)`)
	localMemory = regexp.MustCompile(`\b(LDL|STL)\b`)
)

// usage reads a cubin with cuobjdump.
func (b *bench) usage(cubin string) (map[string]usage, error) {
	found := map[string]usage{}
	err := b.toolkit.EachInstruction(cubin, func(function, instruction string) {
		u := found[function]
		u.instructions++
		if localMemory.MatchString(instruction) {
			u.spills++
		}
		found[function] = u
	})
	if err != nil {
		return nil, err
	}
	text, err := exec.Command(b.toolkit.Tool("cuobjdump"), "-res-usage", cubin).Output()
	for _, part := range usageLine.FindAllStringSubmatch(string(text), -1) {
		u := found[part[1]]
		u.registers, _ = strconv.Atoi(part[2])
		found[part[1]] = u
	}
	return found, err
}
