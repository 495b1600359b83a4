package slice

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const shared = `.visible .func f()
{
	ret;
}
.global .align 1 .b8 $str[3] = {65, 66};
.visible .global .align 4 .u32 v = 5;
.visible .global .align 8 .u64 table[2] = {f, generic($str)};
.weak .global .u32 unused;
`

// two kernels use all of shared, and one launches the other.
const both = shared + `.visible .entry k1()
{
	ld.global.u32 %r1, [v];
	ld.global.u64 %rd1, [table];
	mov.u64 %rd2, unused;
	mov.u64 %rd3, k2;
}
.visible .entry k2()
{
	ld.global.u32 %r1, [v];
	ld.global.u64 %rd1, [table];
	mov.u64 %rd2, unused;
}
`

// compiled is what a compiler makes of k1's slice.
const compiled = header + `
	// .globl	k1
.func f()
;
.global .align 1 .b8 $str$7[3] = {65, 66};
.global .align 1 .b8 $str$9[3] = {65, 66};
.visible .global .align 4 .u32 v = 5;
.visible .global .align 8 .u64 table[2] = {f, generic($str$9)};

.func f()
{
	ret;
}
.func dead()
{
	ret;
}
.visible .entry k1(
	.param .u64 k1_param_0
)
{
	.local .align 8 .b8 	__local_depot10[8];
	ld.global.u32 %r1, [v];
	@%p1 bra 	$L__BB10_2; // comment
$L__BB10_2:
	mov.u64 %rd1, $str$7;
	ld.global.u64 %rd1, [table];
	prototype_4 : .callprototype ();
	call %rd1, (), prototype_4;
	mov.u64 %rd3, k2;
	mov.u64 %rd3, k3;
}
.visible .entry k2(
	.param .u64 k2_param_0
)
{
	call dead;
}
.entry k3()
{
}
`

func TestRewrite(t *testing.T) {
	p := planned(t, oneEach(), both+".entry k3()\n"+calls()+strings.Replace(entry("kx"), "ret", "mov.u64 %rd1, k3", 1))
	s := p.Slices[0]
	if s.Kernels[0] != "k1" {
		t.Fatal(s.Kernels)
	}
	text := strings.Replace(compiled, "\tmov.u64 %rd3, k3;\n", "", 1)
	text = text[:strings.Index(text, ".entry k3()")]
	got, err := s.Rewrite([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := `.version 9.0
.target sm_80
.address_size 64
.weak .func f()
;
.global .align 1 .b8 $str_LITERAL[3] = {65, 66};
.extern .global .align 4 .u32 v;
.extern .global .align 8 .u64 table[2];
.weak .func f()
{
	ret;
}
.visible .entry k1(
	.param .u64 k1_param_0
)
{
	.local .align 8 .b8 	__local_depot[8];
	ld.global.u32 %r1, [v];
	@%p1 bra 	$L__BB_2;` + "  " + `
$L__BB_2:
	mov.u64 %rd1, $str_LITERAL;
	ld.global.u64 %rd1, [table];
	prototype_0 : .callprototype ();
	call %rd1, (), prototype_0;
	mov.u64 %rd3, k2;
}
.extern .entry k2(
	.param .u64 k2_param_0
);
`
	literal := string(got[strings.Index(string(got), "$str_")+5:][:16])
	if diff := cmp.Diff(strings.ReplaceAll(want, "LITERAL", literal), string(got)); diff != "" {
		t.Error(diff)
	}
	data := strings.ReplaceAll(`.version 9.0
.target sm_80
.address_size 64
.extern .func f();
.visible .global .align 4 .u32 v = 5;
.global .align 1 .b8 $str_LITERAL[3] = {65, 66};
.visible .global .align 8 .u64 table[2] = {f, generic($str_LITERAL)};
.visible .global .u32 unused;
`, "LITERAL", literal)
	if diff := cmp.Diff(data, string(p.Data())); diff != "" {
		t.Error(diff)
	}
}

// TestCanonical: numbers that other code has changed do not change the result.
func TestCanonical(t *testing.T) {
	s := planned(t, oneEach(), both).Slices[0]
	text := strings.Replace(compiled[:strings.Index(compiled, ".entry k3()")], "\tmov.u64 %rd3, k3;\n", "", 1)
	first, err := s.Rewrite([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	other := strings.NewReplacer("$str$7", "$str", "$str$9", "$str$123", "__local_depot10", "__local_depot3",
		"$L__BB10_", "$L__BB3_",
		"prototype_4", "prototype_0", "// comment", "// callseq 5, 0", ".func dead()\n{\n",
		".func dead2()\n{\n", "call dead", "call dead2").Replace(text)
	second, err := s.Rewrite([]byte(other))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(first), string(second)); diff != "" {
		t.Error(diff)
	}
	third, err := s.Rewrite([]byte(strings.Replace(text, "$str$7[3] = {65, 66}", "$str$7[3] = {65, 67}", 1)))
	if err != nil || string(third) == string(first) {
		t.Errorf("another literal gives the same text: %v", err)
	}
}

// TestNamesakes: local symbols of an ambiguous name stay local, under canonical names.
func TestNamesakes(t *testing.T) {
	module := ".global .u32 n = 1;\n.func fl()\n" + calls() +
		".visible .entry %()\n{\n\tld.global.u32 %r1, [n];\n\tmov.u64 %rd1, fl;\n}\n"
	p := planned(t, oneEach(), strings.Replace(module, "%(", "k1(", 1), strings.Replace(module, "%(", "k2(", 1))
	got, err := p.Slices[1].Rewrite([]byte(header +
		strings.NewReplacer("%(", "k2(", " n ", " n$4 ", "[n]", "[n$4]", "fl", "fl$2").Replace(module)))
	if err != nil {
		t.Fatal(err)
	}
	if want := header + strings.Replace(module, "%(", "k2(", 1); string(got) != want {
		t.Error(cmp.Diff(want, string(got)))
	}
}

func TestViolations(t *testing.T) {
	hidden := ".visible .global .u32 hidden;\n" + entry("k3", "hidden") + entry("k4", "hidden")
	s := planned(t, oneEach(), both+hidden, strong("f2")).Slices[0]
	good := header + shared[strings.Index(shared, ".global"):] + ".func f()\n" + calls() + entry("k1", "v", "table")
	if _, err := s.Rewrite([]byte(good)); err != nil {
		t.Fatal(err)
	}
	replaced := func(from, to string) string { return strings.Replace(good, from, to, 1) }
	without := strings.ReplaceAll(replaced(defineV, ""), "[v]", "[x]")
	taken := replaced("[v];\n", "[v];\n\tmov.u64 %rd9, fresh;\n")
	for want, text := range map[string]string{
		"the compiler has removed the kernel 'k1'":                              replaced("k1", "k2"),
		"the compiler has kept the kernel 'k3', which belongs to another slice": good + entry("k3"),
		"the slice lacks the function 'f2', which is in m1.o":                   good + ".extern .func f2()\n;\n",
		"the compiler has left the slice open: the function 'f' is visible":     replaced(".func f", ".visible .func f"),
		"the slice lacks the variable 'v'":                                      replaced(defineV, externV),
		"the slice lacks the variable 'hidden'":                                 good + ".extern .global .u32 hidden;\n",
		"the compiler has removed the variable 'v', which is in a list":         without,
		"the compiler has changed the variable 'v'":                             replaced("v = 5", "v = 6"),
		"the compiler has changed the variable 'table'":                         replaced("{65, 66}", "{65, 67}"),
		"the compiler has kept the variable 'hidden', which is in no list":      good + ".visible .global .u32 hidden;\n",
		"the compiler uses the variable 'hidden', which the plan has not found": good + ".global .u32 hidden;\n",
		"slices cannot have .alias 'a'":                                         good + ".alias a, f;\n",
		"the compiler's result cannot be read: PTX line 4":                      header + "nonsense",
		"the compiler uses the address of 'fresh', which the program does not": taken +
			".func fresh()\n{\n}\n",
	} {
		_, err := s.Rewrite([]byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "linked without slices: "+want) {
			t.Errorf("%v; want %s\n%s", err, want, text)
		}
	}
}

// TestUnlisted: a variable that two slices reach must be in the lists; a plan that
// forgets it is caught.
func TestUnlisted(t *testing.T) {
	s := planned(t, oneEach(), defineV+entry("k1", "v")+entry("k2", "v")).Slices[0]
	delete(s.listed, "v")
	_, err := s.Rewrite([]byte(header + strings.Replace(defineV, ".visible ", "", 1) + entry("k1", "v")))
	if err == nil || !strings.Contains(err.Error(), "the variable 'v' is used by several slices but in no list") {
		t.Error(err)
	}
}

// FuzzSlice: whatever the tools print, planning and rewriting end without a crash.
func FuzzSlice(f *testing.F) {
	f.Add(both, compiled)
	f.Add(shared+entry("k1", "v")+entry("k2", "$str"), header+shared+entry("k1", "table"))
	f.Add(weak("w")+".global .u64 a = b;\n.global .u64 b = a;\n"+entry("k1", "w", "a")+entry("k2", "b"), entry("k1"))
	f.Fuzz(func(t *testing.T, module, result string) {
		var modules []*Module
		for _, text := range []string{module, result} {
			if m, err := Scan("m.o", []byte(text)); err == nil {
				modules = append(modules, m)
			}
		}
		if len(modules) == 0 {
			return
		}
		p, err := Make(modules, Options{Vector: []string{"-link-lto"}, Size: 1, Amplification: 1e9})
		if err != nil {
			return
		}
		p.Data()
		for _, s := range p.Slices {
			s.Rewrite([]byte(result))
		}
	})
}
