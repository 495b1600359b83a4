//go:build realtools

package slicing

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/plan"
	"github.com/warpld/warpld/internal/ptx"
	"github.com/warpld/warpld/internal/slice"
	"github.com/warpld/warpld/test/kit"
)

// TestSharedVariablesStay: a variable that another slice writes is loaded, not
// replaced by its initial value. Without the lists it is.
func TestSharedVariablesStay(t *testing.T) {
	forEach(t, func(t *testing.T, tk kit.Toolkit, arch string) {
		for _, test := range []struct {
			files     []string
			kernel    string
			variables []string
		}{
			{[]string{"writers", "readers"}, "_Z2kbPi", []string{"gw", "mg", "al64", "pad"}},
			{[]string{"writers", "readers"}, "_10_writers_cu_gw__Z3kstPi", []string{"_10_writers_cu_gw_sw"}},
			{[]string{"inline_variables"}, "_Z2q2Pi", []string{"iv", "_Z2tvIiE"}},
		} {
			r := newRig(t, tk, arch, build(t, tk, true, sources(test.files...)...))
			p := r.plan(r.oneEach())
			s := p.Slices[sliceOf(t, p, test.kernel)]
			loads := func(vector []string) (found []string) {
				text, err := r.compile(s.Modules, vector)
				r.must(err)
				for _, v := range test.variables {
					if regexp.MustCompile(`ld\.global\S* *\t%\w+, \[\w*` + v + `[+\]]`).Match(text) {
						found = append(found, v)
					}
				}
				return found
			}
			if diff := cmp.Diff(test.variables, loads(s.Vector)); diff != "" {
				t.Errorf("%s: %s", test.kernel, diff)
			}
			blind := slices.DeleteFunc(slices.Clone(s.Vector), func(o string) bool {
				return regexp.MustCompile(`^-host-ref-.[gc]=`).MatchString(o)
			})
			if found := loads(blind); found != nil {
				t.Errorf("%s: without lists %q stay all the same; this test shows nothing", test.kernel, found)
			}
		}
	})
}

// TestCodeAndMemory compares the sizes of memory, and the instructions and registers of
// each kernel, with those of the unsliced link through the same tools.
func TestCodeAndMemory(t *testing.T) {
	forEach(t, func(t *testing.T, tk kit.Toolkit, arch string) {
		r := newRig(t, tk, arch, generated(t, tk, 16))
		o := r.options()
		o.Size = 96 << 10
		p := r.plan(o)
		if len(p.Slices) < 8 || p.Amplification > 1.25 {
			t.Fatalf("%d slices, amplification %.2f", len(p.Slices), p.Amplification)
		}
		vector := r.whole.Compile
		if arch == "sm_100" {
			// For it libnvvm replaces variables that nothing writes by their values, but
			// only those that no slice shares.
			vector = joinedVector(p)
		}
		whole, err := r.compile(r.all(), vector)
		r.must(err)
		texts := r.rewritten(p)
		sliced, unsliced := r.mergeByBoth(append([][]byte{p.Data()}, texts...)...), r.merge(whole)
		// Each slice has a table of 24 bytes for sinf and its like.
		for section, literals := range map[string]int{".nv.constant3": 0, ".nv.global": 0,
			".nv.global.init": 24 * len(p.Slices)} {
			if got, want := sectionSize(t, sliced, section), sectionSize(t, unsliced, section); got > want+uint64(literals) {
				t.Errorf("%s: %d bytes, unsliced %d", section, got, want)
			}
		}
		weak := r.merge(withWeakDefinitions(texts, p.Data())...)
		if got, want := sectionSize(t, weak, ".nv.constant3"), sectionSize(t, unsliced, ".nv.constant3"); got <= want {
			t.Errorf("weak definitions in each slice take no more; this test shows nothing")
		}
		a, b := r.usage(sliced), r.usage(unsliced)
		ia, ib := instructions(t, sliced), instructions(t, unsliced)
		for _, s := range p.Slices {
			for _, k := range s.Kernels {
				if a[k] != b[k] || ia[k] != ib[k] || ia[k] == 0 {
					t.Errorf("%s: %+v in %d instructions, unsliced %+v in %d", k, a[k], ia[k], b[k], ib[k])
				}
			}
		}
	})
}

// withWeakDefinitions puts definitions into each slice, which would be simpler than a
// data object, but the linker keeps the place of each.
func withWeakDefinitions(texts [][]byte, data []byte) [][]byte {
	definition := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, ".visible "); ok {
			head, _, _ := strings.Cut(strings.TrimSuffix(rest, ";\n"), " = ")
			definition[head] = rest
		}
	}
	var changed [][]byte
	for _, text := range texts {
		var out strings.Builder
		for line := range strings.Lines(string(text)) {
			if d := definition[strings.TrimSuffix(strings.TrimPrefix(line, ".extern "), ";\n")]; d != "" {
				line = ".weak " + d
			}
			out.WriteString(line)
		}
		changed = append(changed, []byte(out.String()))
	}
	return changed
}

// TestSameCode: the code of each kernel in its slice is that of the whole program,
// if the same variables are listed for both; without lists it is not.
func TestSameCode(t *testing.T) {
	forEach(t, func(t *testing.T, tk kit.Toolkit, arch string) {
		r := newRig(t, tk, arch, generated(t, tk, 16))
		p := r.plan(r.oneEach())
		texts := r.raw(p)
		compare := func(vector []string) (different []string) {
			text, err := r.compile(r.all(), vector)
			r.must(err)
			for i, s := range p.Slices {
				for _, kernel := range s.Kernels {
					if bodyOf(t, text, kernel) != bodyOf(t, texts[i], kernel) {
						different = append(different, kernel)
					}
				}
			}
			return different
		}
		if len(p.Slices) < 16 {
			t.Fatalf("%d slices", len(p.Slices))
		}
		if different := compare(joinedVector(p)); different != nil {
			t.Errorf("other code in the slices of %q", different)
		}
		if compare(r.whole.Compile) == nil {
			t.Error("the lists change nothing; this test shows nothing")
		}
	})
}

// joinedVector is that of a slice with all kernels and all variables.
func joinedVector(p *slice.Plan) []string {
	var vector []string
	lists := map[string][]string{}
	for i, s := range p.Slices {
		for _, option := range s.Vector {
			name, values, isList := strings.Cut(option, "=")
			if !strings.HasPrefix(option, "-host-ref-") || !isList {
				if i == 0 {
					vector = append(vector, option)
				}
				continue
			}
			for _, value := range strings.Split(values, ",") {
				if !slices.Contains(lists[name], value) {
					lists[name] = append(lists[name], value)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		vector = append(vector, name+"="+strings.Join(lists[name], ","))
	}
	return vector
}

// numbered is what depends on other code: numbers, and shared memory, which is inside
// the kernel if no other uses it.
var numbered = regexp.MustCompile(`//[^\n]*|\t\.shared [^\n]*|(\$L__BB|__local_depot|prototype_)\d+|\$\d+\b`)

// bodyOf is a kernel's body without what depends on other code.
func bodyOf(t *testing.T, text []byte, kernel string) string {
	t.Helper()
	m, err := ptx.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	e := m.Symbol(kernel)
	if e == nil {
		t.Fatalf("no kernel %s", kernel)
	}
	return strings.Join(strings.Fields(numbered.ReplaceAllString(string(m.Part(e.Body)), "$1")), " ")
}

// TestCost: slices are little more work than the whole program, and each is a small
// part of it. The limits leave room for a busy machine.
func TestCost(t *testing.T) {
	for _, tk := range kit.Toolkits(t) {
		r := newRig(t, tk, "sm_80", generated(t, tk, 16))
		o := r.options()
		o.Size = 96 << 10
		p := r.plan(o)
		cost := func(modules []int, vector []string, rewrite func([]byte) ([]byte, error)) time.Duration {
			before := r.spent.Load()
			text, err := r.compile(modules, vector)
			r.must(err)
			text, err = rewrite(text)
			r.must(err)
			_, err = r.assemble(text, "-c")
			r.must(err)
			return time.Duration(r.spent.Load() - before)
		}
		whole := cost(r.all(), r.whole.Compile, func(text []byte) ([]byte, error) { return text, nil })
		var sum, longest time.Duration
		for _, s := range p.Slices {
			d := cost(s.Modules, s.Vector, s.Rewrite)
			sum, longest = sum+d, max(longest, d)
		}
		t.Logf("whole %v; %d slices: sum %v, longest %v", whole, len(p.Slices), sum, longest)
		// Twice, because the machine is busy with other tests; without them it is 1.2 to 1.4.
		if sum > whole*2 || longest > whole/3 {
			t.Errorf("%s: sum %v, longest %v, whole %v", tk.Version, sum, longest, whole)
		}
	}
}

// TestIncremental: an edit repeats the slices that can see it, and of those only the
// ones whose code has changed are assembled again.
func TestIncremental(t *testing.T) {
	for _, tk := range kit.Toolkits(t) {
		dir := filepath.Dir(generatedSources(t, 16)[0])
		before := incremental(t, tk, dir)
		for name, edit := range map[string]struct {
			from, to string
			changed  int // texts for ptxas
		}{
			"a comment": {"#include", "// here\n#include", 0},
			"a function that nobody has": {"#include \"common.h\"",
				"#include \"common.h\"\n#include <cstdio>\nstatic __device__ int once = 3;\n__device__ void fresh(int i) { " +
					"printf(\"%d\\n\", once += i); }", 0},
			"a kernel": {"out[blockIdx.x] = s", "out[blockIdx.x] = s + 1.5f", 2},
		} {
			text, err := os.ReadFile(filepath.Join(dir, "m8.cu"))
			if err != nil {
				t.Fatal(err)
			}
			edited := strings.ReplaceAll(string(text), edit.from, edit.to)
			if edited == string(text) {
				t.Fatalf("%s: there is no %q", name, edit.from)
			}
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(copied, "m8.cu"), []byte(edited), 0o644); err != nil {
				t.Fatal(err)
			}
			after := incremental(t, tk, copied)
			if diff := cmp.Diff(before.kernels, after.kernels); diff != "" {
				t.Errorf("%s moves kernels: %s", name, diff)
				continue
			}
			var changed []string
			for i, text := range after.texts {
				if !bytes.Equal(text, before.texts[i]) {
					changed = append(changed, after.kernels[i])
				}
			}
			if len(changed) > edit.changed || (edit.changed > 0 && changed == nil) {
				t.Errorf("%s: other code for %q", name, changed)
			}
		}
	}
}

// A state is what a program's slices are.
type state struct {
	kernels []string
	texts   [][]byte // for ptxas
}

func incremental(t *testing.T, tk kit.Toolkit, dir string) state {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.cu"))
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, tk, "sm_80", build(t, tk, true, files...))
	o := r.options()
	o.Size = 96 << 10
	p := r.plan(o)
	s := state{texts: append(r.rewritten(p), p.Data())}
	for _, one := range p.Slices {
		s.kernels = append(s.kernels, strings.Join(one.Kernels, " "))
	}
	s.kernels = append(s.kernels, "data")
	return s
}

// TestEngines: nvJitLink gives the same slices as libnvvm.
func TestEngines(t *testing.T) {
	forEach(t, func(t *testing.T, tk kit.Toolkit, arch string) {
		files := sources("writers", "readers", "local_names1", "local_names2", "pointer_target", "pointer_calls1",
			"pointer_calls2", "static_kernels1", "static_kernels2")
		r := newRig(t, tk, arch, build(t, tk, true, files...))
		p := r.plan(r.oneEach())
		j := newRig(t, tk, arch, build(t, tk, true, files...), "--warpld-engine=jitlink")
		if j.kind != plan.JITLink || r.kind != plan.NVVM {
			t.Fatal(r.kind, j.kind)
		}
		if q := j.plan(j.oneEach()); !bytes.Equal(p.Data(), q.Data()) {
			t.Error("another data object")
		}
		a, b := r.raw(p), j.raw(p)
		for i := range a {
			if !bytes.Equal(a[i], b[i]) {
				t.Errorf("%q: %d bytes, with libnvvm %d", p.Slices[i].Kernels, len(b[i]), len(a[i]))
			}
		}
		// And what nvcc makes unless told otherwise links.
		d := newRig(t, tk, arch, build(t, tk, false, files...))
		if d.kind != plan.JITLink {
			t.Fatal(d.kind)
		}
		d.link(d.plan(d.oneEach()))
	})
}

// TestDeterminism: the same inputs give the same bytes, in another folder and with
// slices that end in another order.
func TestDeterminism(t *testing.T) {
	forEach(t, func(t *testing.T, tk kit.Toolkit, arch string) {
		var results [2][]byte
		for i := range results {
			r := adversarial(t, tk, arch)
			p := r.plan(r.oneEach())
			texts := make([][]byte, len(p.Slices))
			r.parallel(len(texts), func(n int) error {
				if i == 1 {
					n = len(texts) - 1 - n
				}
				raw, err := r.compile(p.Slices[n].Modules, p.Slices[n].Vector)
				if err == nil {
					texts[n], err = p.Slices[n].Rewrite(raw)
				}
				return err
			})
			var err error
			results[i], err = os.ReadFile(r.merge(append([][]byte{p.Data()}, texts...)...))
			r.must(err)
		}
		if !bytes.Equal(results[0], results[1]) {
			t.Error("two links differ")
		}
	})
}
