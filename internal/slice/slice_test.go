package slice

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/message"
)

const header = ".version 9.0\n.target sm_80\n.address_size 64\n"

var vector = []string{"-arch=compute_80", "-link-lto", "-maxreg=32", "--device-c", "-has-global-host-info",
	"-ftz=1", "-host-ref-ek=k*", "-host-ref-ik=*sk"}

func scanned(t *testing.T, texts ...string) []*Module {
	t.Helper()
	var modules []*Module
	for i, text := range texts {
		m, err := Scan(fmt.Sprintf("m%d.o", i), []byte(header+text))
		if err != nil {
			t.Fatal(err)
		}
		modules = append(modules, m)
	}
	return modules
}

// oneEach cuts into single kernels.
func oneEach() Options { return Options{Vector: vector, Size: 1, Amplification: 1e9} }

func planned(t *testing.T, o Options, texts ...string) *Plan {
	t.Helper()
	p, err := Make(scanned(t, texts...), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// calls is a body that calls or reads symbols.
func calls(names ...string) string {
	text := "{\n"
	for _, name := range names {
		if strings.HasPrefix(name, "f") || strings.HasPrefix(name, "w") {
			text += "\tcall.uni " + name + ";\n"
		} else {
			text += "\tld.global.u32 \t%r1, [" + name + "];\n"
		}
	}
	return text + "\tret;\n}\n"
}

func entry(name string, uses ...string) string {
	return ".visible .entry " + name + "()\n" + calls(uses...)
}
func weak(name string, uses ...string) string { return ".weak .func " + name + "()\n" + calls(uses...) }
func strong(name string, uses ...string) string {
	return ".visible .func " + name + "()\n" + calls(uses...)
}

const (
	externF = ".extern .func f()\n;\n"
	externV = ".extern .global .align 4 .u32 v;\n"
	defineV = ".visible .global .align 4 .u32 v = 5;\n"
)

// shape is a plan for comparison.
type shape struct {
	Kernels string
	Modules []int
	Lists   string
}

func shapes(p *Plan) []shape {
	var list []shape
	for _, s := range p.Slices {
		at := slices.Index(s.Vector, hostInfo)
		list = append(list, shape{strings.Join(s.Kernels, " "), s.Modules,
			strings.ReplaceAll(strings.Join(s.Vector[at+1:], " "), hostPrefix, "")})
	}
	return list
}

func TestPlans(t *testing.T) {
	for name, test := range map[string]struct {
		modules []string
		want    []shape
	}{
		"a shared variable is listed, another is not": {
			[]string{defineV + ".global .u32 u;\n" + entry("k1", "v", "u"), externV + entry("k2", "v")},
			[]shape{{"k1", []int{0}, "ek=k1 eg=v"}, {"k2", []int{0, 1}, "ek=k2 eg=v"}},
		},
		"local kernels and variables have lists of their own": {
			[]string{".const .u32 c = 1;\n.entry a_sk()\n" + calls("c") + entry("k1", "c")},
			[]shape{{"a_sk", []int{0}, "ik=a_sk ic=c"}, {"k1", []int{0}, "ek=k1 ic=c"}},
		},
		"kernels that nobody names are left out, but not those that kernels launch": {
			[]string{entry("child") + entry("dead") + ".visible .entry k1()\n{\n\tmov.u64 %rd1, child;\n}\n" + entry("k2")},
			[]shape{{"child", []int{0}, "ek=child"}, {"k1", []int{0}, "ek=k1"}, {"k2", []int{0}, "ek=k2"}},
		},
		"functions come from the module that has them": {
			[]string{externF + entry("k1", "f"), entry("k2"), strong("f")},
			[]shape{{"k1", []int{0, 2}, "ek=k1"}, {"k2", []int{1}, "ek=k2"}},
		},
		"equal copies of a weak function: one's own does": {
			[]string{weak("w") + entry("k1", "w"), weak("w") + entry("k2", "w")},
			[]shape{{"k1", []int{0}, "ek=k1"}, {"k2", []int{1}, "ek=k2"}},
		},
		"different copies: the one that wins in the program is there": {
			[]string{weak("w") + entry("k1", "w"), externF + weak("w", "f") + entry("k2", "w"), strong("f")},
			[]shape{{"k1", []int{0}, "ek=k1"}, {"k2", []int{0, 1, 2}, "ek=k2"}},
		},
		"a strong definition wins over weak ones": {
			[]string{weak("w") + entry("k1", "w"), entry("k2"), strong("w")},
			[]shape{{"k1", []int{0, 2}, "ek=k1"}, {"k2", []int{1}, "ek=k2"}},
		},
		"a template's kernel has one place": {
			[]string{".weak .entry k1()\n" + calls(), ".weak .entry k1()\n" + calls() + entry("k2")},
			[]shape{{"k1", []int{0}, "ek=k1"}, {"k2", []int{1}, "ek=k2"}},
		},
		"kernels with a variable of an ambiguous name stay together": {
			[]string{".global .u32 n;\n" + entry("k1", "n") + entry("k2") + entry("k3", "n"),
				".global .u32 n;\n" + entry("k4", "n")},
			[]shape{{"k1 k3", []int{0}, "ek=k1,k3"}, {"k2", []int{0}, "ek=k2"}, {"k4", []int{1}, "ek=k4"}},
		},
		"so do those with a variable that points to one": {
			[]string{".global .u32 n;\n.visible .global .u64 to = generic(n);\n" + entry("k1", "to") +
				entry("k2", "n"), ".global .u32 n;\n" + entry("k3", "n")},
			[]shape{{"k1 k2", []int{0}, "ek=k1,k2"}, {"k3", []int{1}, "ek=k3"}},
		},
		"literals are nobody's": {
			[]string{".global .b8 $str[2] = {65};\n" + entry("k1", "$str") + entry("k2", "$str")},
			[]shape{{"k1", []int{0}, "ek=k1"}, {"k2", []int{0}, "ek=k2"}},
		},
	} {
		if diff := cmp.Diff(test.want, shapes(planned(t, oneEach(), test.modules...))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestVector(t *testing.T) {
	p := planned(t, oneEach(), entry("k1")+entry("k2"))
	want := []string{"-arch=compute_80", "-link-lto", "-maxreg=32", "-ftz=1", "-has-global-host-info", "-host-ref-ek=k1"}
	if diff := cmp.Diff(want, p.Slices[0].Vector); diff != "" {
		t.Error(diff)
	}
}

// TestHostReferences: what the unsliced vector says stays, stays.
func TestHostReferences(t *testing.T) {
	text := defineV + ".global .u32 u;\n.visible .func f()\n" + calls() +
		".visible .global .u64 table[1] = {f};\n" + entry("k1") + entry("x1")
	kernels := []shape{{"k1", []int{0}, "ek=k1"}, {"x1", []int{0}, "ek=x1"}}
	all := append(slices.Clip(kernels), shape{"", []int{0}, "ek=__none__ eg=table"})
	for vector, want := range map[string][]shape{
		"-has-global-host-info -host-ref-ek=k1,x1":                    kernels,
		"-has-global-host-info -host-ref-ek=*1 -host-ref-eg=t*e":      all,
		"-has-global-host-info -host-ref-ig=u":                        kernels,
		"-has-global-host-info":                                       all,
		"-has-global-host-info -host-ref-ek=*1 -host-ref-ec=table":    kernels,
		"-has-global-host-info -split-compile=4 -host-ref-ek=*k1,*x1": kernels,
	} {
		o := oneEach()
		o.Vector = strings.Fields(vector)
		if diff := cmp.Diff(want, shapes(planned(t, o, text))); diff != "" {
			t.Errorf("%s: %s", vector, diff)
		}
	}
	// A function that is called elsewhere has no name there; a kernel gets its slice.
	tables := ".visible .func f()\n" + calls() + entry("dead") +
		".visible .global .u64 table[2] = {f, dead};\n" + entry("k1", "f") + entry("k2")
	o := oneEach()
	o.Vector = append(slices.Clone(vector), "-host-ref-eg=table")
	want := []shape{{"dead", []int{0}, "ek=dead"}, {"k1", []int{0}, "ek=k1"}, {"k2", []int{0}, "ek=k2"},
		{"", []int{0}, "ek=__none__ eg=table"}}
	if diff := cmp.Diff(want, shapes(planned(t, o, tables))); diff != "" {
		t.Error(diff)
	}
	for _, vector := range []string{"-has-global-host-info", "-has-global-host-info -host-ref-ig=u -host-ref-eg=v"} {
		o := oneEach()
		o.Vector = strings.Fields(vector)
		data := string(planned(t, o, text).Data())
		for _, want := range []string{"\n.visible .global .u32 u;\n", "\n.visible .global .align 4 .u32 v = 5;\n"} {
			if !strings.Contains(data, want) {
				t.Errorf("%s: no %q in %s", vector, want, data)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	kernels := entry("k1") + entry("k2")
	big := "{\n" + strings.Repeat("\tadd.s32 %r1, %r1, 1;\n", 1000) + "}\n"
	withVector := func(vector ...string) Options {
		o := oneEach()
		o.Vector = vector
		return o
	}
	for want, test := range map[string]struct {
		options Options
		modules []string
	}{
		"slices cannot have the alias a": {oneEach(), []string{kernels + strong("f") + ".alias a, f;\n"}},
		"slices cannot have the unified symbol v": {oneEach(), []string{
			kernels + ".global .attribute(.unified(1, 2)) .u32 v;\n"}},
		"slices cannot have the common symbol v":        {oneEach(), []string{kernels + ".common .global .u32 v;\n"}},
		"'f' is defined more than once":                 {oneEach(), []string{kernels + strong("f"), strong("f")}},
		"'f' is not defined":                            {oneEach(), []string{kernels + externF}},
		"'v' is not defined":                            {oneEach(), []string{kernels + externV}},
		"the program has one kernel that host code can": {oneEach(), []string{entry("k1") + entry("x")}},
		"the kernel 'sk' cannot be told from others by": {oneEach(), []string{
			".entry sk()\n" + calls(), ".entry sk()\n" + calls()}},
		"all 2 kernels use variables that only one": {oneEach(), []string{
			".global .u32 n;\n" + entry("k1", "n") + entry("k2", "n"), ".global .u32 n;\n"}},
		"the program is too small to gain from it": {Options{Vector: vector}, []string{kernels}},
		"the program is too small to gain from it: about 16 KB": {Options{Vector: vector, Size: 20000},
			[]string{".visible .func f()\n" + big + entry("k1", "f") + entry("k2", "f")}},
		"its kernels share so much code": {Options{Vector: vector, Size: 9000},
			[]string{".visible .func f()\n" + big + entry("k1", "f") + entry("k2", "f")}},
		"modules were scanned for different targets":  {oneEach(), []string{kernels, ".version 9.1\n"}},
		"other code is linked with the result":        {withVector("--force-device-c"), []string{kernels}},
		"debug information (-g) is about one program": {withVector("-g"), []string{kernels}},
		"-split-compile-extended cuts the program":    {withVector("-split-compile-extended=2"), []string{kernels}},
		"host code refers to 'n', which cannot be told from": {
			withVector(append(vector[:6:6], "-host-ref-ek=k*", "-host-ref-ig=n")...),
			[]string{".global .u32 n;\n" + entry("k1", "n") + entry("k2"), ".global .u32 n;\n"}},
	} {
		_, err := Make(scanned(t, test.modules...), test.options)
		var m *message.Message
		if !errors.As(err, &m) || !strings.HasPrefix(m.Text, "linked without slices: "+want) || m.ID != "not-sliced" {
			t.Errorf("%v; want %s", err, want)
		}
	}
	if _, err := Scan("bad.o", []byte(".func f(")); err == nil ||
		!strings.Contains(err.Error(), "its symbols cannot be read: PTX line 1") {
		t.Errorf("%v", err)
	}
	o := oneEach()
	o.Provided = func(name string) bool { return name == "f" }
	planned(t, o, kernels+externF+".extern .func vprintf()\n;\n.extern .shared .b8 dynamic[];\n")
}

// manyModules writes many modules with two kernels each; each calls a function of its
// module and one of another.
func manyModules(modules int, size func(module int) int) []string {
	var texts []string
	for i := range modules {
		text := fmt.Sprintf(".extern .func f%d()\n;\n", (i+1)%modules)
		text += fmt.Sprintf(".visible .func f%d()\n{\n%s}\n", i, strings.Repeat("\tadd.s32 \t%r1, %r2, 17;\n", size(i)))
		for k := range 2 {
			text += entry(fmt.Sprintf("k%d_%d", i, k), fmt.Sprintf("f%d", i), fmt.Sprintf("f%d", (i+1)%modules))
		}
		texts = append(texts, text)
	}
	return texts
}

// TestStableCut: an edit moves no kernel, a new kernel few.
func TestStableCut(t *testing.T) {
	o := Options{Vector: vector, Size: 40000}
	usual := func(int) int { return 200 }
	sets := func(texts []string) (list []string) {
		for _, s := range planned(t, o, texts...).Slices {
			list = append(list, strings.Join(s.Kernels, " "))
		}
		return list
	}
	before := sets(manyModules(64, usual))
	if len(before) < 16 || len(before) > 100 {
		t.Fatalf("%d slices", len(before))
	}
	for edited := range 64 {
		after := sets(manyModules(64, func(i int) int {
			if i == edited {
				return 220
			}
			return 200
		}))
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("an edit of module %d: %s", edited, diff)
		}
	}
	for added := range 64 {
		texts := manyModules(64, usual)
		texts[added] += entry("k_new")
		moved := 0
		for _, set := range sets(texts) {
			if !slices.Contains(before, set) {
				moved++
			}
		}
		if moved > len(before)/2 {
			t.Errorf("a kernel in module %d changes %d of %d slices", added, moved, len(before))
		}
	}
}

// TestApart: the modules of one kernel bring a copy of what another one calls, and
// with it a variable that a third has: then all are in one slice.
func TestApart(t *testing.T) {
	local := ".global .u32 n;\n"
	p := &planner{options: oneEach()}
	p.rest, p.host, _ = readVector(vector)
	p.program = newProgram(scanned(t,
		weak("w")+entry("k1", "w"),
		local+weak("w", "n")+entry("k2")+entry("k3", "n"),
		local))
	if refused := p.findKernels(); refused != nil {
		t.Fatal(refused)
	}
	p.findWritten()
	p.program.pin()
	k := p.kernels
	if sets, _ := p.apart([][]*kernel{{k[0]}, {k[1]}, {k[2]}}); len(sets) != 3 {
		t.Errorf("%d sets of kernels that share nothing", len(sets))
	}
	if sets, _ := p.apart([][]*kernel{{k[0], k[1]}, {k[2]}}); len(sets) != 1 || len(sets[0]) != 3 {
		t.Errorf("%d sets of kernels that share a variable", len(sets))
	}
}
