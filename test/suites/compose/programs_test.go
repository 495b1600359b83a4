//go:build realtools

package compose

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/warpld/warpld/test/kit"
)

// A program is the PTX of a whole program.
type program struct {
	name  string
	text  []byte
	since int // the lowest architecture that it can be assembled for, as a number
}

// archs are the targets.
var archs = []string{"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_103", "sm_120"}

var targetLine = regexp.MustCompile(`(?m)^\.target +sm_(\d+)a?`)

// textFor is the program's text for a target. Code for sm_80 that uses nothing of it is
// assembled for sm_75 too.
func (p *program) textFor(arch string) []byte {
	number, err := strconv.Atoi(strings.Trim(arch, "sm_af"))
	if err != nil || number < p.since {
		return nil
	}
	if m := targetLine.FindSubmatch(p.text); m != nil {
		if of, err := strconv.Atoi(string(m[1])); err == nil && of > number {
			return targetLine.ReplaceAll(p.text, []byte(".target "+arch))
		}
	}
	return p.text
}

// handWritten are the programs in ptx.
func handWritten(t *testing.T) (list []program) {
	t.Helper()
	paths, err := filepath.Glob("ptx/*.ptx")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, program{name: strings.TrimSuffix(filepath.Base(path), ".ptx"), text: text})
	}
	return list
}

// A source is compiled with nvcc.
type source struct {
	name    string
	options []string
	since   int
}

var sources = []source{
	{"features", []string{"-arch=compute_75"}, 75},
	{"features", []string{"-arch=compute_75", "-lineinfo"}, 75},
	{"tables", []string{"-arch=compute_75"}, 75},
	{"clusters", []string{"-arch=compute_90"}, 90},
}

// compiled are the programs in src, compiled as programs that are not linked.
func compiled(t *testing.T, toolkit kit.Toolkit) (list []program) {
	t.Helper()
	for _, s := range sources {
		objects, err := toolkit.Compile(append([]string{"-ptx", "-std=c++17"}, s.options...), "src/"+s.name+".cu")
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(objects[0])
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, program{strings.Join(append([]string{s.name}, s.options[1:]...), ""), text, s.since})
	}
	return list
}

// linked is the PTX that nvlink makes of objects of the corpus.
func linked(t *testing.T, toolkit kit.Toolkit, kind string, objects ...string) program {
	t.Helper()
	var paths []string
	for _, o := range objects {
		paths = append(paths, toolkit.Object(t, kind, o+".o"))
	}
	return linkedFrom(t, toolkit, strings.Join(objects, "+"), paths)
}

func linkedFrom(t *testing.T, toolkit kit.Toolkit, name string, paths []string) program {
	t.Helper()
	args := []string{"-arch=sm_80", "-dlto", "-nvvmpath=" + toolkit.NVVM(), "-emit-ptx", "-o", "out.ptx",
		"-L" + toolkit.Lib(), "-lcudadevrt"}
	for _, path := range paths {
		args = append(args, filepath.Base(path))
	}
	result := toolkit.Reference(t, kit.NewJob(t, paths, args...))
	if result.Exit != 0 {
		t.Fatalf("nvlink: %s", result.Stderr)
	}
	return program{name: name, text: result.Files["out.ptx"], since: 75}
}

// corpus are programs of test/programs/corpus, linked with LTO.
var corpus = [][]string{{"r1_calls", "r2_def"}, {"r4_virt"}, {"lay1", "lay2"}, {"r3_printf", "r5_shared"}, {"a", "b"},
	{"r6_tex", "names"}, {"w1", "w2"}, {"r7_cg", "r8_math"}, {"ind", "ind2"}, {"hostref"}, {"dup"}}

// A variant is how a program is assembled.
type variant struct {
	options []string
	bundle  int
}

var variants = []variant{{nil, 0}, {nil, 3000}, {[]string{"-maxrregcount=32"}, 0}, {[]string{"-O1"}, 3000},
	{[]string{"--fmad=false"}, 0}}

// everyth is which share of all combinations CI takes.
const everyth = 24

// TestPrograms composes programs for all targets, toolkits and variants. In CI each program is
// composed in some of the combinations, others with another WARPLD_TEST_SEED; WARPLD_TEST_FULL=1
// takes all.
func TestPrograms(t *testing.T) {
	total, seed := newTally(), kit.Number(t, "WARPLD_TEST_SEED", 0)
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	place := 0
	for _, toolkit := range kit.Toolkits(t) {
		list := append(handWritten(t), compiled(t, toolkit)...)
		for _, objects := range corpus {
			list = append(list, linked(t, toolkit, "stored", objects...))
		}
		list = append(list, linked(t, toolkit, "stored-lineinfo", "w1", "w2"))
		for i := range list {
			for _, arch := range archs {
				for _, v := range variants {
					p := &list[i]
					text := p.textFor(arch)
					if text == nil {
						continue
					}
					if place++; (place+seed)%everyth != 0 && !kit.Full() {
						continue
					}
					a := &assembler{toolkit, arch, v.options}
					group.Go(func() error {
						t.Run(fmt.Sprintf("%s/%s/%s%s%d", toolkit.Release(), arch, p.name, strings.Join(v.options, ""), v.bundle),
							func(t *testing.T) { a.check(t, total, text, v.bundle) })
						return nil
					})
				}
			}
		}
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	total.report(t, "programs")
	if total.equal == 0 {
		t.Error("nothing was composed")
	}
}

// TestGenerated composes programs of test/programs/gencorpus. WARPLD_TEST_COMPOSE_PROGRAMS is how
// many, and WARPLD_TEST_SEED the first seed.
func TestGenerated(t *testing.T) {
	total := newTally()
	count, seed := kit.Number(t, "WARPLD_TEST_COMPOSE_PROGRAMS", 1), kit.Number(t, "WARPLD_TEST_SEED", 1)
	toolkits := kit.Toolkits(t)
	for i := range count {
		random := rand.New(rand.NewPCG(uint64(seed+i), 2))
		toolkit, arch := toolkits[random.IntN(len(toolkits))], archs[random.IntN(len(archs))]
		v := variants[random.IntN(len(variants))]
		t.Run(fmt.Sprintf("%d/%s/%s", seed+i, toolkit.Release(), arch), func(t *testing.T) {
			p := generated(t, toolkit, random, seed+i)
			a := &assembler{toolkit, arch, v.options}
			a.check(t, total, p.textFor(arch), v.bundle)
		})
	}
	total.report(t, "generated programs")
	if total.equal == 0 {
		t.Error("nothing was composed")
	}
}

// generated makes a program of test/programs/gencorpus.
func generated(t *testing.T, toolkit kit.Toolkit, random *rand.Rand, seed int) program {
	t.Helper()
	paths, err := kit.Generate(t.TempDir(), "--modules", strconv.Itoa(1+random.IntN(3)), "--kernels", "3",
		"--functions", "4", "--libs", "1", "--size", "6", "--seed", strconv.Itoa(seed))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := toolkit.Compile(kit.Stored, paths...)
	if err != nil {
		t.Fatal(err)
	}
	return linkedFrom(t, toolkit, "generated", objects)
}
