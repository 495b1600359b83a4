//go:build realtools

package slicing

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/ptx"
	"github.com/warpld/warpld/internal/slice"
	"github.com/warpld/warpld/test/kit"
	"github.com/warpld/warpld/test/programs/crossslice"
)

// longEnv makes TestRandomPrograms check 300 programs.
const longEnv = "WARPLD_TEST_CROSS_SLICE_LONG"

// crossTargets are the targets whose compilers differ most.
var crossTargets = []string{"sm_80", "sm_100"}

// An outcome is how a kernel of a sliced link compares with the unsliced link.
type outcome string

const (
	equal  outcome = ""
	listed outcome = "as in an unsliced link with the same lists"
	other  outcome = "other code"
	// accessed is other code that reads and writes the same memory.
	accessed outcome = "the same accesses"
	refused  outcome = "refused"
)

// outcomes compares the code of every kernel, with all that it calls, when each kernel has
// a slice of its own unless the plan says otherwise.
func (r *rig) outcomes(p *slice.Plan) map[string]outcome {
	r.Helper()
	whole, withLists := r.parsed(r.all(), r.whole.Compile), r.parsed(r.all(), joinedVector(p))
	found := map[string]outcome{}
	for i, text := range r.raw(p) {
		_, err := p.Slices[i].Rewrite(text)
		m, failed := ptx.Parse(text)
		r.must(failed)
		for _, kernel := range p.Slices[i].Kernels {
			if err != nil {
				found[kernel] = refused
				continue
			}
			found[kernel] = compare(codeOf(r.T, m, kernel), codeOf(r.T, whole, kernel), codeOf(r.T, withLists, kernel))
		}
	}
	return found
}

// compare compares the code of a kernel in its slice with that of two unsliced links.
func compare(got, whole, withLists code) outcome {
	switch {
	case got.text == whole.text:
		return equal
	case got.text == withLists.text:
		return listed
	case got.accesses() == whole.accesses() || got.accesses() == withLists.accesses():
		return accessed
	}
	return other
}

// parsed compiles modules and parses the result.
func (r *rig) parsed(modules []int, vector []string) *ptx.Module {
	r.Helper()
	text, err := r.compile(modules, vector)
	r.must(err)
	m, err := ptx.Parse(text)
	r.must(err)
	return m
}

// A code is that of a kernel and of the functions that it names.
type code struct {
	// text has the bodies, without what depends on other code.
	text string
	// variables are those that the code names, in the order of the text.
	variables []string
}

// codeOf returns the code of a kernel.
func codeOf(t *testing.T, m *ptx.Module, kernel string) code {
	t.Helper()
	var c code
	seen := map[string]bool{}
	for todo := []string{kernel}; len(todo) > 0; todo = todo[1:] {
		e := m.Symbol(todo[0])
		if e == nil || seen[e.Name] {
			continue
		}
		seen[e.Name] = true
		if !e.IsFunction() {
			c.variables = append(c.variables, e.Name)
			continue
		}
		body := numbered.ReplaceAllString(string(m.Part(e.Body)), "$1")
		c.text += strings.Join(strings.Fields(body), " ") + "\n"
		refs, _, err := m.Refs(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, ref := range refs {
			todo = append(todo, ref.Name)
		}
	}
	return c
}

// memory matches the opcode of an instruction that reads or writes memory.
var memory = regexp.MustCompile(`\b(?:ld|st|atom|red)\.[\w.:]+`)

// accesses returns the instructions that read or write memory, and the variables that the
// code names, both sorted. Loads of constants count as other loads.
func (c code) accesses() string {
	operations := memory.FindAllString(strings.ReplaceAll(c.text, ".nc.", "."), -1)
	slices.Sort(operations)
	return strings.Join(append(operations, slices.Sorted(slices.Values(c.variables))...), " ")
}

// A difference is a known one that does no harm.
type difference struct {
	kernels string
	// where is the target, or release and target as in "13.0/sm_100". Without it the
	// difference is everywhere.
	where   string
	outcome outcome
	reason  string
}

// differences are those of the hand programs. A listed variable is one that host code might
// write, so the compiler knows less of it; the code is right.
var differences = []difference{
	{"A_boo B_boo", "", listed, "one constant is stored: unsliced, the variable becomes a byte"},
	{"A_same B_same", "", listed, "the initial value is stored: unsliced, the variable is a constant"},
	{"A_rng", "sm_100", listed, "unsliced, the compiler knows the range of the stored values"},
	{"A_fp0 B_fp0 C_icall", "", listed, "one function is stored: unsliced, it is called directly"},
	{"A_fpt B_fpt", "", listed, "nobody writes the table: unsliced, its functions are called directly"},
	{"A_con B_con B_cona A_now B_now A_m3", "", listed, "nobody writes: unsliced, the value is a constant"},
	{"A_nowa B_nowa A_nowz B_nowz B_m2", "", listed, "nobody writes: unsliced, loads are those of constants"},
	{"A_m2", "sm_80", listed, "nobody writes: unsliced, loads are those of constants"},
	{"A_m2", "13.4/sm_100", listed, "nobody writes: unsliced, loads are those of constants"},
	{"A_m A_m2", "13.0/sm_100", accessed, "an address is computed once more, because the other kernel is missing"},
	{"A_dead B_dead A_nfun A_nvar", "", listed, "the code that writes never runs: unsliced, the value is a constant"},
	{"A_ntid", "sm_100", listed, "the code that writes never runs: unsliced, the value is a constant"},
	{"A_wo B_wo", "", listed, "nobody reads: unsliced, the stores are deleted"},
	{"B_ali", "", listed, "unsliced, the array is aligned to four bytes and accessed so"},
	{"A_ali", "sm_80", listed, "unsliced, the array is aligned to four bytes and accessed so"},
	{"A_ali", "13.0/sm_100", listed, "unsliced, the array is aligned to four bytes and accessed so"},
	{"A_acc B_acc A_c1 B_c1", "", other, "each slice has its own copy of the function, with a constant argument"},
	{"A_c2", "", other, "the slice has its own copy of the function, without a result that it does not use"},
	{"A_shm2", "", other, "the kernel reads shared memory that it has not written, which is undefined"},
	{"B_am", "sm_80", refused, "the slice raises the array's alignment; the link falls back to the unsliced one"},
	{"B_am", "13.0/sm_100", refused, "the slice raises the array's alignment; the link falls back to the unsliced one"},
}

// TestHandPrograms: each kernel of the hand programs has the code of the unsliced link, or a
// difference that is known.
func TestHandPrograms(t *testing.T) {
	crossEach(t, func(t *testing.T, tk kit.Toolkit, arch string) {
		r, p := handPrograms(t, tk, arch)
		got := r.outcomes(p)
		want := map[string]outcome{}
		for _, d := range differences {
			for _, kernel := range strings.Fields(d.kernels) {
				if strings.HasSuffix(tk.Release()+"/"+arch, d.where) {
					want[kernel] = d.outcome
				}
			}
		}
		if len(got) < 140 {
			t.Errorf("%d kernels", len(got))
		}
		for _, kernel := range slices.Sorted(maps.Keys(got)) {
			if got[kernel] != want[kernel] {
				t.Errorf("%s: %q, want %q", kernel, got[kernel], want[kernel])
			}
		}
	})
}

// handPrograms compiles and plans the hand programs.
func handPrograms(t *testing.T, tk kit.Toolkit, arch string) (*rig, *slice.Plan) {
	t.Helper()
	files, err := crossslice.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, tk, arch, build(t, tk, true, files...))
	return r, r.plan(r.oneEach())
}

// TestUnpinned is the control of TestHandPrograms: if the kernels that share a written static
// variable of a function were compiled apart, with the variable in a list, the comparison
// would find other code. A static variable that nobody writes keeps no kernels together.
func TestUnpinned(t *testing.T) {
	for _, tk := range kit.Toolkits(t) {
		r, p := handPrograms(t, tk, "sm_80")
		whole := r.parsed(r.all(), r.whole.Compile)
		lists := r.staticLists()
		var different []string
		for _, s := range p.Slices {
			if len(s.Kernels) < 2 {
				continue
			}
			for _, kernel := range s.Kernels {
				alone := r.parsed(s.Modules, unpinned(s, kernel, lists))
				if codeOf(t, alone, kernel).text != codeOf(t, whole, kernel).text {
					different = append(different, kernel)
				}
			}
		}
		for _, kernel := range strings.Fields("A_l1 B_l1 A_l3 B_l3 A_l4 B_l4 A_l6 B_l6 A_l8 A_u A_loc B_loc") {
			if !slices.Contains(different, kernel) {
				t.Errorf("%s: %s has the same code in a slice of its own", tk.Version, kernel)
			}
		}
		if sliceOf(t, p, "A_lt") == sliceOf(t, p, "B_lt") || sliceOf(t, p, "A_lo") == sliceOf(t, p, "B_lo") {
			t.Errorf("%s: kernels that share a table which nobody writes are in one slice", tk.Version)
		}
	}
}

// staticLists returns lists with all static variables of functions.
func (r *rig) staticLists() []string {
	r.Helper()
	lists := map[string][]string{}
	for _, m := range r.all() {
		text, err := r.compile([]int{m}, slice.ScanOptions(strings.TrimPrefix(r.whole.Compile[0], "-arch=")))
		r.must(err)
		for d := range ptx.Declarations(text) {
			if d.Kind == ".global" && strings.HasPrefix(d.Name, "_ZZ") {
				list := "-host-ref-eg="
				if d.Linkage == ptx.Local {
					list = "-host-ref-ig="
				}
				lists[list] = append(lists[list], d.Name)
			}
		}
	}
	var options []string
	for _, list := range slices.Sorted(maps.Keys(lists)) {
		options = append(options, list+strings.Join(lists[list], ","))
	}
	return options
}

// unpinned returns the vector of a slice with other lists and only one of its kernels.
func unpinned(s *slice.Slice, kernel string, lists []string) []string {
	vector := slices.DeleteFunc(slices.Clone(s.Vector), func(option string) bool {
		return strings.HasPrefix(option, "-host-ref-")
	})
	return append(append(vector, "-host-ref-ek="+kernel), lists...)
}

// TestRandomPrograms: each kernel of random programs has the code of an unsliced link, with
// the lists of that link or with those of the slices. For sm_100 the compiler may compute an
// address in another way if kernels are missing; then the accesses to memory are the same.
func TestRandomPrograms(t *testing.T) {
	modules, programs := 1, 16
	if os.Getenv(longEnv) != "" {
		modules, programs = 10, 30
	}
	crossEach(t, func(t *testing.T, tk kit.Toolkit, arch string) {
		count := map[outcome]int{}
		for seed := range modules {
			path, err := crossslice.WriteRandom(t.TempDir(), uint64(seed), programs)
			if err != nil {
				t.Fatal(err)
			}
			r := newRig(t, tk, arch, build(t, tk, true, path))
			all := r.outcomes(r.plan(r.oneEach()))
			for kernel, found := range all {
				number := kernel[1:]
				if all["A"+number] == refused || all["B"+number] == refused || all["C"+number] == refused {
					found = refused // one slice is refused, so the program is linked without slices
				}
				count[found]++
				if found == other {
					t.Errorf("seed %d: %s has other code", seed, kernel)
				}
			}
		}
		t.Logf("%d kernels: %d equal, %d %s, %d with the same accesses, %d refused", modules*programs*3,
			count[equal], count[listed], listed, count[accessed], count[refused])
		if count[equal] < programs || count[listed] == 0 {
			t.Error("the programs show nothing")
		}
	})
}

// TestStaticsLinked links a program with a static variable of a template in fast mode: each
// kernel loads and stores as often as in the exact link.
func TestStaticsLinked(t *testing.T) {
	for _, tk := range kit.Toolkits(t) {
		objects := build(t, tk, true, sources("template_variable")...)
		counts := map[string]map[string]int{}
		for _, mode := range []string{"exact", "fast"} {
			got := link(t, tk, "sm_80", t.TempDir(), "--warpld-mode="+mode+" --warpld-slice-size=0", objects)
			if got.Exit != 0 || got.Stderr != "" {
				t.Fatalf("%s: exit code %d: %s", mode, got.Exit, got.Stderr)
			}
			path := filepath.Join(t.TempDir(), "linked")
			if err := os.WriteFile(path, got.Files["linked"], 0o644); err != nil {
				t.Fatal(err)
			}
			count := map[string]int{}
			counts[mode] = count
			err := tk.EachInstruction(path, func(function, instruction string) {
				if opcode := regexp.MustCompile(`\b(LDG|STG)\b`).FindString(instruction); opcode != "" {
					count[function+" "+opcode]++
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		want := map[string]int{"reader LDG": 1, "reader STG": 1, "writer STG": 2, "alone STG": 1}
		if diff := cmp.Diff(want, counts["exact"]) + cmp.Diff(want, counts["fast"]); diff != "" {
			t.Errorf("%s: %s", tk.Version, diff)
		}
	}
}

// crossEach runs a test with every toolkit and for the targets of this file.
func crossEach(t *testing.T, test func(t *testing.T, tk kit.Toolkit, arch string)) {
	for _, tk := range kit.Toolkits(t) {
		for _, arch := range crossTargets {
			t.Run(tk.Release()+"/"+arch, func(t *testing.T) { test(t, tk, arch) })
		}
	}
}
