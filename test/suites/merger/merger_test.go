//go:build realtools

// Package merger holds the merger against the toolkit's nvlink: the same
// cubins are linked by both, and all that a caller sees must be the same.
package merger

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/merge/device"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/internal/object/fatbin"
	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/test/kit"
)

// archs are the targets of a run in CI. WARPLD_TEST_MERGER_ARCHS names others; the
// whole list is sm_75,sm_80,sm_86,sm_87,sm_88,sm_89,sm_90,sm_90a,sm_100,sm_103,sm_110,sm_120,sm_121.
var archs = []string{"sm_80", "sm_90"}

// mercury is the target with Mercury code that a run in CI has beside these, by
// toolkit.
var mercury = map[string]string{"13.0": "sm_100", "13.1": "sm_120", "13.2": "sm_100", "13.3": "sm_120",
	"13.4": "sm_120"}

// randomLinks is how many random programs are linked for every target, unless
// WARPLD_TEST_MERGER_RANDOM says otherwise.
const randomLinks = 60

func TestMain(m *testing.M) {
	code := m.Run()
	fmt.Print(counted.table(), &counted.links)
	os.Exit(code)
}

// targets are those to test.
func targets() []string {
	if text := os.Getenv("WARPLD_TEST_MERGER_ARCHS"); text != "" {
		return strings.Split(text, ",")
	}
	return archs
}

func forEachSetting(t *testing.T, do func(t *testing.T, s setting)) {
	for _, tk := range kit.Toolkits(t) {
		for _, a := range targets() {
			t.Run(tk.Release()+"/"+a, func(t *testing.T) { do(t, setting{tk, a}) })
		}
	}
}

// andMercury is forEachSetting with the target for Mercury code, too.
func andMercury(t *testing.T, do func(t *testing.T, s setting)) {
	forEachSetting(t, do)
	if os.Getenv("WARPLD_TEST_MERGER_ARCHS") != "" {
		return
	}
	for _, tk := range kit.Toolkits(t) {
		a := mercury[tk.Release()]
		t.Run(tk.Release()+"/"+a, func(t *testing.T) { do(t, setting{tk, a}) })
	}
}

// A program is the names of its cubins, and options that both linkers get.
type program struct {
	names   []string
	options []string
	// launched are the kernels that the host code of a cubin launches. It is nil if
	// the cubins come by themselves.
	launched map[string][]string
}

func (p program) String() string {
	text := strings.Join(append(slices.Clone(p.names), p.options...), "+")
	if p.launched != nil {
		text += fmt.Sprint(p.launched)
	}
	return text
}

// file is the name under which a linker sees a cubin.
func (p program) file(name string) string {
	if p.launched != nil {
		return name + ".o"
	}
	return name + ".cubin"
}

// A linked is what a link left: as nvlink's, or a reason to leave it to nvlink.
type linked struct {
	kit.Result
	reason string
}

// nvlink links with the toolkit's own. Mutants of the merger are held against answers
// that were given before.
func (s setting) nvlink(t *testing.T, p program, built map[string]string) kit.Result {
	t.Helper()
	dir := t.TempDir()
	args := append([]string{"-arch=" + s.arch}, p.options...)
	for _, name := range p.names {
		path := filepath.Join(dir, p.file(name))
		file := built[name]
		if p.launched != nil {
			file = s.writeObject(t, built[name], p.launched[name])
		}
		if err := os.Symlink(file, path); err != nil {
			t.Fatal(err)
		}
		args = append(args, p.file(name))
	}
	job := kit.Job{Dir: dir, Args: append(args, "-o", "out")}
	if os.Getenv(mutantVariable) != "" {
		return s.tk.Reference(t, job)
	}
	r, err := s.tk.Nvlink().Run(job)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// writeObject makes a host object that carries a cubin and launches kernels.
// Names of static kernels are those that say so.
func (s setting) writeObject(t *testing.T, code string, launched []string) string {
	t.Helper()
	data, err := os.ReadFile(code)
	if err != nil {
		t.Fatal(err)
	}
	target, _ := gpu.Parse(s.arch)
	var refs hostelf.HostRefs
	refs.Kernels.External, refs.Kernels.Internal = byLinkage(launched)
	path := filepath.Join(t.TempDir(), "host.o")
	if err := os.WriteFile(path, hostelf.Carry(fatbin.Stored(data, target), "_id", &refs), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// byLinkage splits patterns as nvcc does.
func byLinkage(launched []string) (external, internal []string) {
	for _, p := range launched {
		if strings.HasPrefix(p, "__nv_static_") {
			internal = append(internal, p)
		} else {
			external = append(external, p)
		}
	}
	return external, internal
}

// versions are what the toolkits' nvlinks say of themselves, by toolkit.
var versions sync.Map

var versionText = regexp.MustCompile(`(?m)^(Cuda compilation tools.*)\n(Build .*)$`)

// record is what nvlink writes about itself.
func (s setting) record(t *testing.T, p program) cubin.Tool {
	t.Helper()
	said, known := versions.Load(s.tk.Root)
	if !known {
		text, err := exec.Command(s.tk.Tool("nvlink"), "--version").Output()
		if err != nil {
			t.Fatalf("nvlink --version: %v", err)
		}
		said = string(text)
		versions.Store(s.tk.Root, said)
	}
	m := versionText.FindStringSubmatch(said.(string))
	if m == nil {
		t.Fatalf("nvlink --version says %s", said)
	}
	tool := cubin.Tool{Name: "nvlink", Version: m[1], Build: m[2]}
	options := "-arch " + s.arch + " "
	if slices.Contains(p.options, "-g") {
		var files []string
		for _, name := range p.names {
			files = append(files, p.file(name))
		}
		tool.Output, options = "out", strings.Join(files, ",")+" -o out -g  "+options
	}
	for _, o := range p.options {
		if name, value, _ := strings.Cut(o, "="); name != "-g" {
			options += name + " " + value + " "
		}
	}
	tool.Options = options
	return tool
}

// own links with our merger.
func (s setting) own(t *testing.T, p program, built map[string]string) linked {
	t.Helper()
	return result(s.mergeWith(t, p, built, func(*device.Options) {}))
}

// mergeWith links with our merger and other options.
func (s setting) mergeWith(t *testing.T, p program, built map[string]string, change func(*device.Options)) (
	*device.Output, error) {
	t.Helper()
	target, ok := gpu.Parse(s.arch)
	if !ok {
		t.Fatalf("no target %s", s.arch)
	}
	release, err := strconv.Atoi(strings.Replace(s.tk.Release(), ".", "", 1))
	if err != nil {
		t.Fatal(err)
	}
	options := device.Options{Arch: target, Release: gpu.ReleaseNumbered(release), Record: s.record(t, p)}
	for _, o := range p.options {
		setOption(t, &options, o)
	}
	change(&options)
	var inputs []device.Input
	for _, name := range p.names {
		data, err := os.ReadFile(built[name])
		if err != nil {
			t.Fatal(err)
		}
		in := device.Input{Name: p.file(name), Cubin: data}
		if p.launched != nil {
			in.Host = device.HostKnown
			in.LaunchedExternal, in.LaunchedInternal = byLinkage(p.launched[name])
		}
		inputs = append(inputs, in)
	}
	return device.Merge(inputs, options)
}

func setOption(t *testing.T, options *device.Options, text string) {
	t.Helper()
	name, value, _ := strings.Cut(text, "=")
	switch name {
	case "-kernels-used":
		options.KernelsUsed = strings.Split(value, ",")
	case "-variables-used":
		options.VariablesUsed = strings.Split(value, ",")
	case "-ignore-host-info":
		options.IgnoreHostInfo = true
	case "-g":
		options.Debug = true
	case "-v":
		options.Verbose = true
	default:
		t.Fatalf("the test does not know the option %s", text)
	}
}

// result turns what the merger returns into what a process would leave.
func result(out *device.Output, err error) linked {
	var u *device.Unsupported
	if errors.As(err, &u) {
		return linked{reason: u.What}
	}
	log := message.NewLog(&strings.Builder{}, message.Style{})
	r := linked{Result: kit.Result{Files: map[string][]byte{}}}
	if out != nil {
		for _, m := range out.Messages {
			log.Report(m)
		}
		r.Files["out"] = out.Cubin
	}
	log.Fail(err)
	for _, m := range log.Messages() {
		if m.Extra {
			continue // nvlink does not have it
		}
		r.Stderr += message.Style{}.Render(m)
	}
	r.Exit = log.ExitCode()
	return r
}

// compare links a program with both.
func (s setting) compare(t *testing.T, p program, built map[string]string) {
	t.Helper()
	want, got := s.nvlink(t, p, built), s.own(t, p, built)
	if got.reason != "" {
		counted.add(s, "left to nvlink: "+got.reason)
		return
	}
	differences := kit.Differences(want, got.Result)
	if len(differences) > 0 {
		counted.add(s, "different")
		t.Errorf("%s:\n%s", p, strings.Join(differences, "\n"))
		if dir := os.Getenv("WARPLD_TEST_MERGER_KEEP"); dir != "" {
			keep(t, dir, s.arch+"."+p.String(), want.Files["out"], got.Files["out"])
		}
		return
	}
	if want.Exit != 0 {
		counted.add(s, "refused by both")
		return
	}
	counted.add(s, "equal")
}

// keep leaves what differs in a folder, to be looked at.
func keep(t *testing.T, dir, name string, want, got []byte) {
	t.Helper()
	for suffix, data := range map[string][]byte{".want": want, ".got": got} {
		if err := os.WriteFile(filepath.Join(dir, name+suffix), data, 0o644); err != nil {
			t.Error(err)
		}
	}
}

// TestPrograms links every source by itself, the programs that are meant to
// be programs, and random ones.
func TestPrograms(t *testing.T) {
	andMercury(t, func(t *testing.T, s setting) {
		built := s.buildAll(t, names(t))
		for _, p := range append(singles(t), programs()...) {
			t.Run(p.String(), func(t *testing.T) { s.compare(t, p, built) })
			for _, option := range []string{"-v", "-g"} {
				p.options = []string{option}
				t.Run(p.String(), func(t *testing.T) { s.compare(t, p, built) })
			}
		}
	})
}

// randomProgram is one of two to five cubins. Many of the sources define the same
// names; three of four programs avoid that, so that most can be linked.
func randomProgram(t *testing.T, r *rand.Rand, all []string, built map[string]string) program {
	t.Helper()
	list, size, fitting := slices.Clone(all), 2+r.IntN(4), r.IntN(4) > 0
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	defined := map[string]bool{}
	var p program
	for _, name := range list {
		own := globals(t, built[name])
		if fitting && slices.ContainsFunc(own, func(y string) bool { return defined[y] }) {
			continue
		}
		for _, y := range own {
			defined[y] = true
		}
		if p.names = append(p.names, name); len(p.names) == size {
			break
		}
	}
	return p
}

var globalsOf = map[string][]string{} // of files that were read already

// globals are the names that a cubin defines for all others.
func globals(t *testing.T, path string) []string {
	t.Helper()
	if list, ok := globalsOf[path]; ok {
		return list
	}
	list := []string{}
	for _, y := range parse(t, read(t, path)).symbols {
		if y.Binding == elf64.Global && y.Section != elf64.Undefined {
			list = append(list, y.Name)
		}
	}
	globalsOf[path] = list
	return list
}

func TestRandomPrograms(t *testing.T) {
	andMercury(t, func(t *testing.T, s setting) {
		all := names(t)
		built := s.buildAll(t, all)
		r := rand.New(rand.NewPCG(7, uint64(kit.Number(t, "WARPLD_TEST_MERGER_SEED", 7))))
		for range kit.Number(t, "WARPLD_TEST_MERGER_RANDOM", randomLinks) {
			p := randomProgram(t, r, all, built)
			if r.IntN(4) == 0 {
				p.options = []string{"-g"}
			}
			t.Run(p.String(), func(t *testing.T) { s.compare(t, p, built) })
		}
	})
}

// names are those of all cubins: the sources, and some of them in variants.
func names(t *testing.T) []string {
	found := sources(t)
	maps.DeleteFunc(found, func(_, path string) bool { return filepath.Dir(path) == "features" })
	list := slices.Sorted(maps.Keys(found))
	for _, variant := range []string{"li", "g"} {
		for _, name := range []string{"a", "b", "w1", "w2", "r1_calls", "r2_def", "r4_virt", "weak2", "weak4"} {
			list = append(list, variant+"."+name)
		}
	}
	return list
}

// TestFeatures links the sources of features, each alone and with a program that has
// nothing of the kind.
func TestFeatures(t *testing.T) {
	paths, err := filepath.Glob("features/*.cu")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	andMercury(t, func(t *testing.T, s setting) {
		all := []string{"a", "b"}
		for _, path := range paths {
			all = append(all, strings.TrimSuffix(filepath.Base(path), ".cu"))
		}
		built := s.buildAll(t, all)
		for _, name := range all[2:] {
			for _, p := range []program{{names: []string{name}}, {names: []string{"a", name, "b"}}} {
				t.Run(p.String(), func(t *testing.T) { s.compare(t, p, built) })
			}
		}
	})
}

func singles(t *testing.T) []program {
	var list []program
	for _, name := range names(t) {
		list = append(list, program{names: []string{name}})
	}
	return list
}

func programs() []program {
	var list []program
	for _, line := range strings.Split(strings.TrimSpace(together), "\n") {
		list = append(list, program{names: strings.Fields(line)})
	}
	return list
}

// together are sets of cubins that make programs, or that clash.
const together = `
a b
b a
r1_calls r2_def
r2_def r1_calls
w1 w2
w2 w1
lay1 lay2
lay2 lay1
ind ind2
ind2 ind
many1 many2
many2 many1
bigsm bigsm2
hostref a b
r3_printf r4_virt r5_shared
r4_virt r3_printf
r8_math w1 w2
r5_shared w1 w2
r1_calls a b r2_def
call_constants1 call_constants2
call_constants2 call_constants1
shared1 shared2
shared2 shared1
indirect_prototypes ind
shared3 shared4
shared4 shared3
externals2 externals3
externals3 externals2
externals2 externals3 externals1
li.a li.b
li.b li.a
li.w1 li.w2
li.r1_calls li.r2_def
li.a b
a li.b
li.r4_virt li.a li.b
g.a g.b
g.b g.a
g.w1 g.w2
g.r1_calls g.r2_def
g.a b
g.r4_virt g.a g.b
weak1 weak2
weak2 weak1
weak3 weak1
weak3 weak1 weak2
weak1 weak4
weak4 weak1
weak3 weak4
weak4 weak2 weak3
weak1 weak3
function_pointer1 function_pointer2
function_pointer2 function_pointer1
dynamic_only function_pointer1
dynamic_only shared6
call_constants3 call_constants4
call_constants4 call_constants3
ind ind2 indirect_prototypes
sized_array1 sized_array2
sized_array2 sized_array1
sized_array1 sized_array3
sized_array3 sized_array1
sized_array3 sized_array2 sized_array1
externs_shared1 externs_shared2
externs_shared3 externs_shared2 externs_shared1
call_constants5 call_constants6
call_constants6 call_constants5 call_constants1
barriers1 barriers2
barriers2 barriers1
externals10 externals11
externals11 externals10
equal_constants1 equal_constants2
equal_constants1 equal_constants3
equal_constants2 equal_constants1 equal_constants3
equal_constants1 equal_constants2 equal_constants3 equal_constants4
address_constants1 address_constants2
address_constants2 address_constants1
equal_constants1 address_constants1 address_constants2
loop_stack2 loop_stack3
loop_stack3 loop_stack2
li.weak4 li.weak2
g.weak4 g.weak2
g.weak2 g.weak4
`

// TestLowerTargets links code for lower targets of the family, and code that was
// written for one.
func TestLowerTargets(t *testing.T) {
	all := sources(t)
	for _, tk := range kit.Toolkits(t) {
		s, lower := setting{tk, "sm_86"}, setting{tk, "sm_80"}
		built := map[string]string{}
		for name, from := range map[string]setting{"a": lower, "b": s, "w1": s, "w2": lower} {
			path, err := from.cubin(name, all)
			if err != nil {
				t.Fatal(err)
			}
			built[name] = path
		}
		for _, names := range [][]string{{"a", "b"}, {"b", "a"}, {"w1", "w2"}, {"w2"}, {"a", "b", "w1", "w2"}} {
			s.compare(t, program{names: names}, built)
		}
	}
}
