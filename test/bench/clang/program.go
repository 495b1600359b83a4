package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/warpld/warpld/test/kit"
)

const target = "sm_90"

// A bench is where programs are compiled and linked, and what was found.
type bench struct {
	toolkit  kit.Toolkit
	dir      string
	compiled string // the folder of what is compiled
	turns    int
	warpld   string
	found    findings
}

// A unit is one module: its source, and the flags that make it different from others.
type unit struct {
	source string
	flags  []string
}

// A program is compiled in all forms but one: STEM.FORM for each of its stems.
type program struct {
	name    string
	stems   []string
	without string
}

// forms are clang's flags for each form of bitcode. libdevice is linked at once, as clang
// does by itself, but for the form "later", in which warpld does that.
var forms = map[string][]string{
	"full.bc":  {"-foffload-lto=full", preciseRoots},
	"later.bc": {"-foffload-lto=full", "-nogpulib"},
	"thin.bc":  {"-foffload-lto=thin", "-fno-split-lto-unit", preciseRoots},
	unified:    {"-foffload-lto=thin", "-fno-split-lto-unit", "-funified-lto", preciseRoots},
}

// unified is the form that clang's own linker asks for where it is to do ThinLTO.
const unified = "unified.bc"

// preciseRoots makes clang's square roots those of nvcc.
const preciseRoots = "-mllvm=-nvvm-reflect-add=__CUDA_PREC_SQRT=1"

var kinds = []string{"loops", "reduce", "tiles", "shapes", "bodies", "counts", "stencil", "words", "newton",
	"table", "chains"}

// generated is the program of many modules.
func generated(modules int) []unit {
	var units []unit
	for i := range modules {
		define := func(name string, value int) string { return fmt.Sprintf("-D%s=%d", name, value) }
		units = append(units, unit{filepath.Join("test", "bench", "clang", "kernels", kinds[i%len(kinds)]+".cu"),
			[]string{define("ID", i), define("NEAR", (i+3)%modules), define("FAR", (i+1)%modules), define("SEED", 2+i%7)}})
	}
	return units
}

// compile makes a program of units with both compilers, but for one form of bitcode.
func (b *bench) compile(name string, units []unit, but string) (*program, error) {
	p := &program{name: name, without: but}
	var group errgroup.Group
	group.SetLimit(2)
	for i, u := range units {
		stem := filepath.Join(b.compiled, fmt.Sprintf("%s-%03d", strings.ReplaceAll(name, " ", "-"), i))
		p.stems = append(p.stems, stem)
		for form := range forms {
			if form == but {
				continue
			}
			group.Go(func() error { return b.clang(u, form, stem+"."+form) })
		}
		group.Go(func() error {
			number := strings.TrimPrefix(target, "sm_")
			args := append([]string{"-dc", "-w", "-gencode", "arch=compute_" + number + ",code=lto_" + number, u.source},
				u.flags...)
			return produce(stem+".o", func(part string) error {
				_, err := timed("", b.toolkit.Tool("nvcc"), append(args, "-o", part)...)
				return err
			})
		})
	}
	return p, group.Wait()
}

func (b *bench) clang(u unit, form, output string) error {
	return produce(output, func(part string) error {
		_, err := b.toolkit.Clang("clang++-22", filepath.Dir(part), u.source, filepath.Base(part),
			slices.Concat([]string{"--cuda-device-only", "-fwhole-program-vtables"}, forms[form], u.flags)...)
		return err
	})
}

// produce makes a file unless an earlier run has.
func produce(output string, compile func(output string) error) error {
	if _, err := os.Stat(output); err == nil {
		return nil
	}
	part := output + ".part"
	if err := compile(part); err != nil {
		return err
	}
	return os.Rename(part, output)
}

func (p *program) files(form string) []string {
	var list []string
	for _, stem := range p.stems {
		list = append(list, stem+"."+form)
	}
	return list
}

// A cost is what a run takes; CPU is that of all its processes.
type cost struct{ wall, cpu time.Duration }

func (c cost) String() string {
	return fmt.Sprintf("%.2f s, %.2f s", c.wall.Seconds(), c.cpu.Seconds())
}

func timed(dir, name string, args ...string) (cost, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	start := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return cost{}, fmt.Errorf("%s %q: %w\n%s", name, args, err, out)
	}
	return cost{time.Since(start), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, nil
}
