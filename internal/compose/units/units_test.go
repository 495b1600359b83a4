package units

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const head = ".version 9.0\n.target sm_80\n.address_size 64\n"

// cut cuts a text that must be covered.
func cut(t *testing.T, text string, size int) *Program {
	t.Helper()
	p, err := Cut([]byte(text), Settings{BundleSize: size})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

// names returns the kernels of the file.
func names(p *Program) string {
	var list []string
	for _, k := range p.Kernels {
		list = append(list, k.Name)
	}
	return strings.Join(list, " ")
}

// TestUnits shows whole texts: what a unit has of the program, and in which order.
func TestUnits(t *testing.T) {
	text := head + `
// a comment
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.extern .func __assertfail (.param .b64 a) .noreturn;
.func f;
.func g();
.global .align 1 .b8 text[3] = {37, 100, 0};
.visible .const .u32 c = 7; // c
.extern .shared .align 4 .b8 dynamic[];
.func f() {

	$L__BB3_1: bra $L__BB3_1;
}
.func g() { call.uni (r0), vprintf, (a, b); }
.visible .entry k1() { call.uni f; $L__BB7_2: bra $L__BB7_2; bra $L__BB7_9; }
.entry k2() { call.uni g; }
.weak .entry k3() { call.uni f; ld.global.u8 %r1, [text]; }
`
	p := cut(t, text, 0)
	if got := names(p); got != "k3 k2 k1" {
		t.Errorf("kernels %s", got)
	}
	start := head + ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n" +
		".extern .func __assertfail (.param .b64 a) .noreturn;\n"
	f := ".func f() {\n\t$L__BB0_0: bra $L__BB0_0;\n}\n"
	g := ".func g() { call.uni (r0), vprintf, (a, b); }\n"
	rest := ".visible .const .u32 c = 1;\n.extern .shared .align 4 .b8 dynamic[];\n"
	values := ".global .align 1 .b8 text[3] = {37, 100, 0};\n" + strings.Replace(rest, "1", "7", 1)
	want := []string{
		start + ".func f;\n" + values + f +
			".weak .entry k3() { call.uni f; ld.global.u8 %r1, [text]; }\n",
		start + ".func g();\n.global .align 1 .b8 text[3] = {1};\n" + rest + g +
			".entry k2() { call.uni g; }\n.weak .entry k3() { ret; }\n",
		start + ".func f;\n.global .align 1 .b8 text[3] = {1};\n" + rest + f +
			".visible .entry k1() { call.uni f; $L__BB0_0: bra $L__BB0_0; bra $L__BB0_1; }\n" +
			".entry k2() { { .param .b32 wr0_0; .param .b64 wp0_0; .param .b64 wp0_1; " +
			"call.uni (wr0_0), vprintf, (wp0_0, wp0_1); } ret; }\n.weak .entry k3() { ret; }\n",
	}
	for i, w := range want {
		if diff := cmp.Diff(w, string(p.Units[i].Text)); diff != "" {
			t.Errorf("unit %d (-want +got):\n%s", i, diff)
		}
	}
	if !slices.Equal(p.Kernels[1].Externs, []string{"vprintf"}) || p.First != 0 {
		t.Errorf("%+v", p.Kernels)
	}
	if whole := cut(t, text, 1<<20); len(whole.Units) != 1 || len(whole.Units[0].Stubs) != 0 {
		t.Errorf("%d units", len(whole.Units))
	}
}

// TestTogether: kernels that have to do with functions whose address is taken are one unit, in
// the order of the text.
func TestTogether(t *testing.T) {
	text := head + `
.func f1() { ret; }
.func f2() { ret; }
.func f3() { ret; }
.global .u64 table[2] = {f1, generic(f2)};
.global .u64 one = f1;
.global .u64 pointer = table;
.entry k1() { ret; }
.entry k2() { mov.u64 %rd1, pointer; }
.entry k3() { call.uni f1; }
.entry k4() { call.uni f3; }
.entry k5() { p: .callprototype _ (); call %rd1, (), p; }
`
	p := cut(t, text, 0)
	// The sort of a list of five with k2 and k5 first.
	if got := names(p); got != "k2 k5 k4 k3 k1" {
		t.Errorf("kernels %s", got)
	}
	if !slices.Equal(p.Units[0].Kernels, []int{0, 1, 3}) || !slices.Equal(p.Units[0].Stubs, []int{2, 4}) {
		t.Errorf("%v %v", p.Units[0].Kernels, p.Units[0].Stubs)
	}
	values := ".global .u64 table[2] = {f1, generic(f2)};\n.global .u64 one = f1;\n.global .u64 pointer = table;\n"
	want := head + ".func f1() { ret; }\n.func f2() { ret; }\n" + values + ".entry k1() { ret; }\n" +
		".entry k2() { mov.u64 %rd1, pointer; }\n.entry k3() { call.uni f1; }\n.entry k4() { ret; }\n" +
		".entry k5() { p: .callprototype _ (); call %rd1, (), p; }\n"
	if diff := cmp.Diff(want, string(p.Units[0].Text)); diff != "" {
		t.Error(diff)
	}
	want = head + ".func f3() { ret; }\n.global .u64 table[2] = {1};\n.global .u64 one = 1;\n" +
		".global .u64 pointer = 1;\n.entry k4() { call.uni f3; }\n"
	if diff := cmp.Diff(want, string(p.Units[1].Text)); diff != "" {
		t.Error(diff)
	}
}

// TestTogetherKeepsDeadCode: the unit with function pointers has all functions that name taken
// functions or pointers to them, also those that no kernel reaches.
func TestTogetherKeepsDeadCode(t *testing.T) {
	p := cut(t, head+".func f() { ret; }\n.func unrelated() { ret; }\n.global .u64 v = f;\n"+
		".func dead() { ld.global.u64 %rd1, [v]; }\n.func caller() { call.uni dead; call.uni leaf; }\n"+
		".func leaf() { ret; }\n"+
		".entry k() { p: .callprototype _ (); call %rd1, (), p; }\n", 0)
	for name, want := range map[string]bool{"f": true, "unrelated": false, "dead": true, "caller": true, "leaf": true} {
		if strings.Contains(string(p.Units[0].Text), ".func "+name+"()") != want {
			t.Errorf("%s is in the unit: %v", name, !want)
		}
	}
}

// TestExterns: which kernel is the first to use an external function.
func TestExterns(t *testing.T) {
	externs := ".extern .func x1; .extern .func x2; .extern .func x3; .extern .func x4;\n"
	for text, want := range map[string]string{
		".entry a() { call.uni x4; call.uni x1; } .entry b() { call.uni x2; } .entry c() { call.uni x3; call.uni x2; }"://
		"c[x2 x3] b[] a[x1 x4]",
		// All that taken functions use is used by the first kernel with function pointers.
		".func f() { call.uni x3; } .global .u64 v = f; .entry a() { call.uni x1; } .entry b() { call.uni x3; }" +
			".entry c() { p: .callprototype _ (); call %rd1, (), p; }": "c[x3] b[] a[x1]",
		// A kernel has function pointers if a function that it calls has.
		".func f() { ret; } .func g() { mov.u64 %rd1, f; } .entry a() { call.uni g; } .entry b() { call.uni x1; }" +
			".entry c() { ret; } .entry d() { ret; }": "a[] b[x1] d[] c[]",
	} {
		p := cut(t, head+externs+text, 0)
		var got []string
		for _, k := range p.Kernels {
			got = append(got, fmt.Sprintf("%s%v", k.Name, k.Externs))
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestValues: variables have other values in units without the first kernel.
func TestValues(t *testing.T) {
	for value, want := range map[string]string{
		".f32 x[2] = {0f00000000, 0f3F800000}":  ".f32 x[2] = {0f3F800000}",
		".f64 x = 0d0000000000000000":           ".f64 x = 0d3FF0000000000000",
		".s32 x = -1":                           ".s32 x = 1",
		".u32 /* c */ x[3] = {-1, 2}":           ".u32   x[3] = {1}",
		".u32 x[] = {1, 2}":                     ".u32 x[] = {1, 2}",
		".u32 x[2][2] = {{1, 2}, {3, 4}}":       ".u32 x[2][2] = {{1, 2}, {3, 4}}",
		".v2 .u32 x = {1, 2}":                   ".v2 .u32 x = {1, 2}",
		".b128 x = 12":                          ".b128 x = 12",
		".attribute(.managed) .align 4 .u8 x=7": ".attribute(.managed) .align 4 .u8 x=1",
	} {
		p := cut(t, head+".global "+value+";\n.entry a() { ret; }\n.entry b() { ret; }\n", 0)
		if got := strings.Split(string(p.Units[1].Text), "\n")[3]; got != ".global "+want+";" {
			t.Errorf("%s: %s", value, got)
		}
		_, value, _ = strings.Cut(value, "x")
		if got := strings.Split(string(p.Units[0].Text), "\n")[3]; !strings.Contains(got, value) {
			t.Errorf("%s: %s in the first unit", value, got)
		}
	}
}

// TestLineInfo: what is left out leaves its lines.
func TestLineInfo(t *testing.T) {
	text := head + ".file 1 \"a.cu\"\n.global .b8 x[2] = {1,\n2};\n.func f()\n{ ret; }\n// comment\n.entry k1()\n" +
		"{\n.loc 1 2 3\ncall.uni f; }\n.entry k2()\n{\n$L__BB5_1: ret;\n} // end\n"
	p := cut(t, text, 0)
	if !p.LineInfo {
		t.Error("no line numbers")
	}
	for i, w := range []string{
		head + ".file 1 \"a.cu\"\n.global .b8 x[2] = {1,\n2};\n\n\n\n\n\n\n\n.entry k2()\n{\n$L__BB5_1: ret;\n} // end\n",
		head + ".file 1 \"a.cu\"\n.global .b8 x[2] = {1}\n;\n.func f()\n{ ret; }\n// comment\n.entry k1()\n{\n" +
			".loc 1 2 3\ncall.uni f; }\n\n\n\n // end\n",
	} {
		if diff := cmp.Diff(w, string(p.Units[i].Text)); diff != "" {
			t.Errorf("unit %d (-want +got):\n%s", i, diff)
		}
		if strings.Count(text, "\n") != strings.Count(string(p.Units[i].Text), "\n") {
			t.Errorf("unit %d has other lines", i)
		}
	}
	debug := strings.ReplaceAll(string(p.DebugText()), "\x00", "|")
	if want := ".version 9.0|.target sm_80|.address_size 64||.global .b8 x[2] = {1,|2};|.func f()|{ ret; }||" +
		".entry k1()|{||call.uni f; }|.entry k2()|{|$L__BB5_1: ret;|} // end|"; debug != want {
		t.Errorf("%q\nwant %q", debug, want)
	}
}

// TestRefused: what no rule covers has a reason.
func TestRefused(t *testing.T) {
	kernel := ".entry k() { ret; }\n"
	for text, want := range map[string]Refused{
		head:                             {Reason: NoKernels},
		head + ".alias a, b;\n" + kernel: {Reason: Alias, Name: "a"},
		".version 9.0\n.target sm_80, debug\n" + kernel:                    {Reason: Debug},
		".version 9.0\n.target sm_80, texmode_unified\n" + kernel:          {Reason: TargetMode, Name: "texmode_unified"},
		head + kernel + ".section .debug_info { .b8 1 }":                   {Reason: Debug, Name: ".section"},
		head + ".pragma \"x\";" + kernel:                                   {Reason: UnknownPart, Name: ".pragma"},
		head + ".global .texref t;" + kernel:                               {Reason: Reference, Name: "t"},
		head + ".global .unheard .b8 t;" + kernel:                          {Reason: UnknownPart, Name: ".unheard"},
		head + ".extern .global .b8 v;" + kernel:                           {Reason: ExternVariable, Name: "v"},
		head + ".common .global .b8 v;" + kernel:                           {Reason: CommonVariable, Name: "v"},
		head + ".global .attribute(.unified(1,2)) .b8 v;" + kernel:         {Reason: Unified, Name: "v"},
		head + ".func f;" + kernel:                                         {Reason: Undefined, Name: "f"},
		head + kernel + kernel:                                             {Reason: Twice, Name: "k"},
		head + ".global .u64 v = k;" + kernel:                              {Reason: KernelAddress, Name: "k"},
		head + ".extern .func f; .global .u64 v = f;" + kernel:             {Reason: ExternAddress, Name: "f"},
		head + ".extern .func f; .entry k() { mov.u64 %rd1, f; }":          {Reason: ExternAddress, Name: "f"},
		head + ".entry k() { mov.u64 %rd1, k; }":                           {Reason: KernelAddress, Name: "k"},
		head + ".global .b8 v; .entry k(.param .b32 v) { ret; }":           {Reason: HiddenName, Name: "v"},
		head + ".global .b8 v; .entry k() { .reg .b32 v; }":                {Reason: HiddenName, Name: "v"},
		head + ".func v() { ret; } .entry k() { v: bra v; }":               {Reason: HiddenName, Name: "v"},
		head + ".global .b8 prototype_1; " + kernel:                        {Reason: HiddenName, Name: "prototype_1"},
		head + ".entry k() { t: .calltargets f; }":                         {Reason: UnknownPart, Name: ".calltargets"},
		head + ".entry k() { .global .b32 v; }":                            {Reason: UnknownPart, Name: ".global"},
		head + ".func f() { ret; } .global .u64 v[1][1] = {{f}};" + kernel: {Reason: TableForm, Name: "v"},
		head + ".file 1 \"a\"\n.func f() { mov.u64 %rd1, f; }" + kernel:    {Reason: LinesAndTables},
	} {
		_, err := Cut([]byte(text), Settings{})
		var refused *Refused
		if !errors.As(err, &refused) || *refused != want {
			t.Errorf("%v, want %v\n%s", err, &want, text)
		}
	}
	_, err := Cut([]byte(".func"), Settings{})
	if err == nil || !strings.HasPrefix(err.Error(), "its PTX cannot be read: PTX line 1:") {
		t.Error(err)
	}
}

// TestBundles: units are not larger than asked for, and an edit of one kernel moves no other.
func TestBundles(t *testing.T) {
	const count, size = 60, 4000
	program := func(edited, growth int) string {
		var b strings.Builder
		b.WriteString(head)
		for i := range count {
			n := 10 + i%7*5
			if i == edited {
				n += growth
			}
			fmt.Fprintf(&b, ".entry kernel%d() {%s ret; }\n", i, strings.Repeat(" add.s32 %r1, %r1, 1;", n))
		}
		return b.String()
	}
	unitOf := func(p *Program) map[string]string {
		all := map[string]string{}
		for _, u := range p.Units {
			var list []string
			for _, k := range u.Kernels {
				list = append(list, p.Kernels[k].Name)
			}
			for _, name := range list {
				all[name] = strings.Join(list, " ")
			}
		}
		return all
	}
	base := cut(t, program(-1, 0), size)
	if n := len(base.Units); n < count*700/size || n > count*2*700/size {
		t.Errorf("%d units", n)
	}
	before := unitOf(base)
	moved := 0
	for edited := range count {
		after := unitOf(cut(t, program(edited, 3), size))
		for name, unit := range before {
			if after[name] != unit {
				moved++
			}
		}
	}
	if moved > count*2 {
		t.Errorf("%d edits moved %d kernels", count, moved)
	}
	p := cut(t, program(50, 1000), size)
	k := slices.IndexFunc(p.Kernels, func(k Kernel) bool { return k.Name == "kernel50" })
	if u := p.Units[p.Kernels[k].Unit]; len(u.Kernels) != 1 {
		t.Errorf("the large kernel is with %v", u.Kernels)
	}
}

// BenchmarkCut shows the speed on a program of many kernels.
func BenchmarkCut(b *testing.B) {
	var text strings.Builder
	text.WriteString(head)
	for i := range 200 {
		fmt.Fprintf(&text, ".global .align 4 .u32 v%d = 1;\n.visible .entry kernel%d(\n\t.param .u64 p%d\n)\n{\n", i, i, i)
		for j := range 300 {
			fmt.Fprintf(&text, "\tld.global.u32 \t%%r%d, [%%rd%d+%d];\n\tadd.s32 \t%%r%d, %%r%d, 17;\n\tsetp.gt.s32 \t%%p1, "+
				"%%r%d, %%r%d;\n\t@%%p1 bra \t$L__BB%d_%d;\n\n$L__BB%d_%d:\n", j, j+1, j*4, j+2, j, j, j+1, i, j, i, j)
		}
		fmt.Fprintf(&text, "\tret;\n\t// end of kernel%d\n}\n", i)
	}
	source := []byte(text.String())
	b.SetBytes(int64(len(source)))
	for b.Loop() {
		if _, err := Cut(source, Settings{BundleSize: DefaultBundleSize}); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzCut: whatever is cut has each kernel in one unit, and units can be cut again.
func FuzzCut(f *testing.F) {
	f.Add([]byte(head+".func f() { ret; } .global .u64 t = f; .entry k() { call.uni f; } .entry l() { ret; }"), 0)
	f.Add([]byte(head+".file 1 \"a\"\n.extern .func (.param .b32 r) v (.param .b64 a);\n.entry k() { "+
		"call.uni (r), v, (a); }\n.visible .entry l()\n{ .loc 1 1 1\n ret; }"), 100)
	f.Fuzz(checkCut)
}

// checkCut cuts a text and checks what comes of it.
func checkCut(t *testing.T, text []byte, size int) {
	p, err := Cut(text, Settings{BundleSize: size})
	if err != nil {
		var refused *Refused
		if !errors.As(err, &refused) {
			t.Fatalf("%v is no refusal", err)
		}
		return
	}
	seen := 0
	for i, u := range p.Units {
		for _, k := range u.Kernels {
			if p.Kernels[k].Unit != i {
				t.Fatalf("kernel %d of unit %d is in unit %d", k, i, p.Kernels[k].Unit)
			}
			seen++
		}
		again, err := Cut(u.Text, Settings{BundleSize: 1 << 30})
		if err != nil || len(again.Kernels) != len(u.Kernels)+len(u.Stubs) {
			t.Fatalf("unit %d: %v\n%q", i, err, u.Text)
		}
	}
	if seen != len(p.Kernels) {
		t.Fatalf("%d of %d kernels", seen, len(p.Kernels))
	}
}

// TestDamaged cuts programs in which bytes are changed, dropped or doubled.
func TestDamaged(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	texts := []string{
		head + ".extern .func (.param .b32 r) v (.param .b64 a);\n.func f() { call.uni (r), v, (a); }\n" +
			".global .u64 t[2] = {f, 1};\n.entry k() { call.uni f; }\n.weak .entry l() { $L__BB1_2: bra $L__BB1_2; }",
		head + ".file 1 \"a\"\n.extern .func v;\n.entry k()\n{ call.uni v; }\n.visible .entry l()\n{ .loc 1 1 1\n ret; }",
	}
	for range 5000 {
		text := []byte(texts[random.IntN(len(texts))])
		for range 1 + random.IntN(3) {
			at := random.IntN(max(len(text)-20, 1))
			switch random.IntN(4) {
			case 0:
				text[at] = "{}();,.:$% \n=\"/*kvf1"[random.IntN(20)]
			case 1:
				text = slices.Delete(text, at, min(at+1+random.IntN(9), len(text)-20))
			case 2:
				text = slices.Insert(text, at, text[at:min(at+1+random.IntN(30), len(text))]...)
			case 3:
				text = text[:at+20]
			}
		}
		checkCut(t, text, random.IntN(2)*200)
	}
}
