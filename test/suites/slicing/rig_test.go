//go:build realtools

// Package slicing runs sliced links with the real tools, one kernel a slice or as
// the planner cuts, and holds them against unsliced ones. What slices must show:
//
//	 1 the code of each kernel is that of the whole program   TestSameCode
//	 2 variables that slices share are not folded             TestSharedVariablesStay, TestHandPrograms,
//	                                                          TestUnpinned, TestRandomPrograms, TestStaticsLinked
//	 3 memory is not multiplied                               TestCodeAndMemory, TestMemoryIsNotMultiplied
//	 4 strings of one name stay apart                         TestStrings
//	 5 function pointers cross slices                         TestFunctionPointers, TestFunctionsHaveOneAddress
//	 6 constants at one place in all objects of ptxas -ewp    nothing: warpld has no such back end
//	 7 vtables, launched kernels, templates, namesakes        TestLink, TestMemoryIsNotMultiplied, TestNamesakes,
//	                                                          TestKernelPointer
//	 8 mistakes in a plan are found, errors are the genuine   TestViolations, TestRefusals, TestErrors
//	 9 an edit repeats little, to the same result             TestIncremental, TestLargeProgram
//	10 the cut is worth it, or is not made                    TestSharedCodeIsNotCut, TestCost, TestLargeProgram
//	11 every target and toolkit, both engines and mergers     TestLinker, TestEngines, TestLink, TestCodeAndMemory,
//	                                                          forEach in most others
//	12 the same bytes in any folder and any order             TestDeterminism, TestLinker
package slicing

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/local"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/plan"
	"github.com/warpld/warpld/internal/slice"
	"github.com/warpld/warpld/test/kit"
)

var archs = []string{"sm_80", "sm_90", "sm_100"}

// forEach runs a test with every toolkit and for every target.
func forEach(t *testing.T, test func(t *testing.T, tk kit.Toolkit, arch string)) {
	for _, tk := range kit.Toolkits(t) {
		for _, arch := range archs {
			t.Run(tk.Release()+"/"+arch, func(t *testing.T) { test(t, tk, arch) })
		}
	}
}

// sources are those in src.
func sources(names ...string) []string {
	var files []string
	for _, name := range names {
		files = append(files, filepath.Join("src", name+".cu"))
	}
	return files
}

// build compiles sources to objects. stored IR can be read by libnvvm, other IR by
// nvJitLink only.
func build(t *testing.T, tk kit.Toolkit, stored bool, files ...string) []string {
	t.Helper()
	options := kit.LTO
	if stored {
		options = kit.Stored
	}
	objects, err := tk.Compile(options, files...)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// A rig is a program and the tools to link it with.
type rig struct {
	*testing.T
	tk     kit.Toolkit
	arch   string
	kind   plan.Engine
	whole  *plan.Plan // the unsliced link
	tools  engine.Tools
	runner *local.Runner
	// runtime: the device runtime takes part.
	runtime bool
	spent   atomic.Int64 // CPU time of the engine and of ptxas, in ns
}

// newRig plans the unsliced link of objects.
func newRig(t *testing.T, tk kit.Toolkit, arch string, objects []string, args ...string) *rig {
	t.Helper()
	r := &rig{T: t, tk: tk, arch: arch}
	report := func(m *message.Message) {
		if m.Severity > message.Info {
			t.Errorf("%s", m.Text)
		}
	}
	o, err := options.Parse(append(append([]string{"-arch=" + arch, "-dlto", "-m64"}, args...), objects...), "",
		os.ReadFile, report)
	r.must(err)
	inputs, err := object.ReadAll(object.Inputs{Files: o.Inputs, Libraries: o.Libraries,
		LibraryPath: o.LibraryPaths, LTO: true}, report)
	r.must(err)
	var release gpu.Release
	fmt.Sscanf(tk.Version, "%d.%d", &release.Major, &release.Minor)
	r.whole, err = plan.Make(plan.Input{Options: o, Objects: inputs, Release: release})
	r.must(err)
	r.kind, r.runtime = r.whole.Engine, len(o.Libraries) > 0
	r.tools = engine.Tools{Self: kit.Binary(t), Library: filepath.Join(tk.NVVM(), "lib64", "libnvvm.so"),
		PTXAS: tk.Tool("ptxas")}
	if r.kind == plan.JITLink {
		r.tools.Library = filepath.Join(tk.Lib(), "libnvJitLink.so")
	}
	r.runner, err = local.New(t.TempDir(), false)
	r.must(err)
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		var all []string
		for _, m := range message.Of(err) {
			all = append(all, m.Text+" "+strings.Join(m.Notes, " "))
		}
		r.Fatal(strings.Join(all, "\n"))
	}
}

// compile runs the engine over some modules of the program.
func (r *rig) compile(places []int, vector []string) ([]byte, error) {
	var modules []engine.Module
	for _, i := range places {
		piece := r.whole.IR[i]
		load := piece.Module.Data
		if r.kind == plan.JITLink {
			load = piece.Module.Container
		}
		modules = append(modules, engine.Module{Origin: piece.Object.Origin.String(), Content: action.Content{Load: load}})
	}
	a, err := engine.Compile(r.kind, r.tools, modules, r.whole.EngineOptions(vector))
	if err != nil {
		return nil, err
	}
	result, err := r.runner.Run(context.Background(), a)
	if err != nil {
		return nil, err
	}
	r.spent.Add(int64(result.Usage.CPU))
	outcome, err := engine.ParseResult(r.kind, modules, result)
	if err != nil {
		return nil, err
	}
	if outcome.Relocatable && !strings.Contains(strings.Join(vector, " "), "--device-c") {
		return nil, fmt.Errorf("the slice is not closed: %q", vector)
	}
	return outcome.PTX.Read()
}

// all are the places of all modules.
func (r *rig) all() []int {
	var places []int
	for i := range r.whole.IR {
		places = append(places, i)
	}
	return places
}

// parallel runs something for 0..n-1.
func (r *rig) parallel(n int, do func(i int) error) {
	r.Helper()
	var group errgroup.Group
	group.SetLimit(2)
	for i := range n {
		group.Go(func() error { return do(i) })
	}
	r.must(group.Wait())
}

// scan reads the symbols of all modules.
func (r *rig) scan() []*slice.Module {
	r.Helper()
	target := strings.TrimPrefix(r.whole.Compile[0], "-arch=")
	modules := make([]*slice.Module, len(r.whole.IR))
	r.parallel(len(modules), func(i int) error {
		text, err := r.compile([]int{i}, slice.ScanOptions(target))
		if err == nil {
			modules[i], err = slice.Scan(filepath.Base(r.whole.IR[i].Object.Origin.String()), text)
		}
		return err
	})
	return modules
}

// oneEach are the options that give every kernel a slice of its own.
func (r *rig) oneEach() slice.Options {
	o := r.options()
	o.Size, o.Amplification = 1, 1e9
	return o
}

func (r *rig) options() slice.Options {
	o := slice.Options{Vector: r.whole.Compile}
	if r.runtime {
		o.Provided = func(name string) bool { return strings.HasPrefix(name, "__cudaCDP2") }
	}
	return o
}

// raw compiles all slices.
func (r *rig) raw(p *slice.Plan) [][]byte {
	r.Helper()
	texts := make([][]byte, len(p.Slices))
	r.parallel(len(texts), func(i int) (err error) {
		texts[i], err = r.compile(p.Slices[i].Modules, p.Slices[i].Vector)
		return err
	})
	return texts
}

// rewritten compiles all slices and rewrites them.
func (r *rig) rewritten(p *slice.Plan) [][]byte {
	r.Helper()
	texts := r.raw(p)
	for i, s := range p.Slices {
		var err error
		texts[i], err = s.Rewrite(texts[i])
		r.must(err)
	}
	return texts
}

// assemble runs ptxas -c, and gives the cubin's path.
func (r *rig) assemble(text []byte, args ...string) (string, error) {
	a := engine.Assemble(r.tools, action.Bytes(text), append(args, "-arch", r.arch, "-m", "64"))
	result, err := r.runner.Run(context.Background(), a)
	if err != nil {
		return "", err
	}
	r.spent.Add(int64(result.Usage.CPU))
	cubin, _, err := engine.ParseAssemblyResult(result)
	return cubin.Path, err
}

// merge assembles the texts and lets nvlink merge them in their order.
func (r *rig) merge(texts ...[]byte) string {
	r.Helper()
	return r.mergeByNVLink(r.assembleAll(texts...))
}

// assembleAll gives the paths of the cubins.
func (r *rig) assembleAll(texts ...[]byte) []string {
	r.Helper()
	cubins := make([]string, len(texts))
	r.parallel(len(texts), func(i int) (err error) {
		cubins[i], err = r.assemble(texts[i], "-c")
		return err
	})
	return cubins
}

func (r *rig) mergeByNVLink(cubins []string) string {
	r.Helper()
	out := filepath.Join(r.TempDir(), "out.cubin")
	args := append([]string{"-arch=" + r.arch, "-ignore-host-info", "-o", out, "-suppress-stack-size-warning"},
		r.library()...)
	// The names of files count in nothing but messages, so they are short.
	dir := r.TempDir()
	for i, cubin := range cubins {
		name := fmt.Sprintf("%05d.cubin", i)
		r.must(os.Symlink(cubin, filepath.Join(dir, name)))
		args = append(args, name)
	}
	cmd := exec.Command(r.tk.Tool("nvlink"), args...)
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil || len(said) > 0 {
		r.Fatalf("merge: %v\n%s", err, said)
	}
	return out
}

func (r *rig) library() []string {
	if !r.runtime {
		return nil
	}
	return []string{"-L" + r.tk.Lib(), "-lcudadevrt"}
}

// link does the whole sliced link.
func (r *rig) link(p *slice.Plan) string {
	r.Helper()
	return r.merge(append([][]byte{p.Data()}, r.rewritten(p)...)...)
}

// plan scans and plans.
func (r *rig) plan(o slice.Options) *slice.Plan {
	r.Helper()
	p, err := slice.Make(r.scan(), o)
	r.must(err)
	return p
}

// sliceOf gives the slice with a kernel, whose name may be cut in front.
func sliceOf(t *testing.T, p *slice.Plan, kernel string) int {
	t.Helper()
	for i, s := range p.Slices {
		for _, name := range s.Kernels {
			if strings.HasSuffix(name, kernel) {
				return i
			}
		}
	}
	t.Fatalf("no slice has the kernel %s", kernel)
	return -1
}

// output runs a tool of the toolkit.
func (r *rig) output(tool string, args ...string) string {
	r.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(r.tk.Tool(tool), args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.Fatalf("%s: %v\n%s", tool, err, stderr.String())
	}
	return string(out)
}
