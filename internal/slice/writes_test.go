package slice

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// statics are variables as nvcc names those of functions.
const statics = ".weak .global .align 4 .u32 _ZZ1avE1v = 5;\n.global .align 4 .u32 _ZZ1bvE1v = 5;\n" +
	".weak .global .align 4 .b8 w[4];\n"

// TestLocalStatics: kernels that share a static variable of a function stay together if
// some live function writes it. One that is only read is shared as others are.
func TestLocalStatics(t *testing.T) {
	writer := func(name, variable string) string {
		return ".visible .entry " + name + "()\n{\n\tmov.u64 %rd1, " + variable + ";\n\tst.global.u32 [%rd1], 1;\n}\n"
	}
	apart := []shape{
		{"k1", []int{0}, "ek=k1 eg=_ZZ1avE1v"}, {"k3", []int{0}, "ek=k3"}, {"k2", []int{0}, "ek=k2 eg=_ZZ1avE1v"},
	}
	together := []shape{{"k1 k2", []int{0}, "ek=k1,k2"}, {"k3", []int{0}, "ek=k3"}}
	reader := statics + entry("k1", "_ZZ1avE1v") + entry("k3")
	readers := reader + entry("k2", "_ZZ1avE1v")
	host := oneEach()
	host.Vector = append(host.Vector[:len(host.Vector):len(host.Vector)], "-host-ref-eg=p")
	for name, test := range map[string]struct {
		options Options
		text    string
		want    []shape
	}{
		"nobody writes":         {oneEach(), readers, apart},
		"a kernel writes":       {oneEach(), reader + writer("k2", "_ZZ1avE1v"), together},
		"a dead kernel writes":  {oneEach(), readers + writer("x", "_ZZ1avE1v"), apart},
		"another variable":      {oneEach(), readers[:len(readers)-2] + "\tst.global.u32 [w], %r1;\n}\n", apart},
		"an initializer has it": {host, readers + ".visible .global .u64 p = generic(_ZZ1avE1v);\n", nil},
	} {
		p, err := Make(scanned(t, test.text), test.options)
		if (err != nil) != (test.want == nil) {
			t.Errorf("%s: %v", name, err)
		} else if err == nil {
			if diff := cmp.Diff(test.want, shapes(p)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
	local := ".global .align 4 .u32 _ZZ1bvE1v = 5;\n" + entry("k1", "_ZZ1bvE1v") + writer("k2", "_ZZ1bvE1v") + entry("k3")
	if diff := cmp.Diff(together, shapes(planned(t, oneEach(), local))); diff != "" {
		t.Errorf("a local variable: %s", diff)
	}
}

// TestOnlyReads: what a function does with the address of a variable. What the tracer
// does not know counts as writing.
func TestOnlyReads(t *testing.T) {
	pass := "\tst.param.b64 [param0+0], %rd2;\n\tcall.uni (retval0), FUNCTION, (param0);\n" +
		"\tld.param.b64 %rd3, [retval0+0];\n"
	to := func(function string) string { return strings.Replace(pass, "FUNCTION", function, 1) }
	const functions = `.extern .func (.param .b64 r) unknown(.param .b64 unknown_param_0);
.func (.param .b64 func_retval0) reads(.param .b64 reads_param_0)
{
	ld.param.u64 %rd1, [reads_param_0];
	ld.u32 %r1, [%rd1+4];
	st.param.b64 [func_retval0+0], %r1;
}
.func (.param .b64 func_retval0) ignores(.param .b64 ignores_param_0) { ret; }
.func (.param .b64 func_retval0) passes(.param .b64 passes_param_0)
{
	ld.param.u64 %rd2, [passes_param_0];
	setp.eq.s64 %p1, %rd2, 0;
	{ st.param.b64 [param0+0], %rd2; call.uni (retval0), passes, (param0); }
	{ st.param.b64 [param0+0], %rd2; call.uni (retval0), reads, (param0); }
}
.func (.param .b64 func_retval0) writes(.param .b64 writes_param_0)
{
	ld.param.u64 %rd1, [writes_param_0];
	st.u32 [%rd1], 7;
}
.func (.param .b64 func_retval0) returns(.param .b64 returns_param_0)
{
	ld.param.u64 %rd1, [returns_param_0];
	st.param.b64 [func_retval0+0], %rd1;
}
.func (.param .b64 func_retval0) addresses(.param .align 8 .b8 addresses_param_0[8])
{
	mov.b64 %rd1, addresses_param_0;
	ld.local.u64 %rd2, [%rd1];
}
.func (.param .b64 func_retval0) two(.param .b64 two_param_0, .param .b64 two_param_1) { ret; }
`
	for code, only := range map[string]bool{
		"":                                    true,
		"ld.u32 %r1, [%rd2];":                 true,
		"ld.global.nc.v2.u32 {%r1,%r2}, [w];": true,
		"@!%p1 ld.u32 %r1, [%rd2+4];":         true,
		"setp.ne.s64 %p1, %rd2, 0;":           true,
		"add.s64 %rd4, %rd2, 4; ld.u32 %r1, [%rd4];":                     true,
		"add.s64 %rd4, %rd2, 4; st.u32 [%rd4], %r1;":                     false,
		"st.u32 [%rd9], 1; selp.b64 %rd9, %rd8, %rd2, %p1;":              false, // in a loop
		"st.u32 [%rd2], 5;":                                              false,
		"st.u64 [%rd8], %rd2;":                                           false,
		"st.global.u32 [w], 5;":                                          false,
		"red.global.add.u32 [%rd2], 1;":                                  false,
		"atom.add.u32 %r1, [%rd2], 1;":                                   false,
		"xor.b64 %rd4, %rd2, 5;":                                         false,
		"st.param.b64 [func_retval0+0], %rd2;":                           false,
		"st.param.b64 [param0+0], %rd2;":                                 false, // and no call
		"st.param.b64 [param0+0], %rd2; call.uni two, (param1, param2);": false,
		to("reads"):     true,
		to("ignores"):   true,
		to("passes"):    true,
		to("writes"):    false,
		to("returns"):   false,
		to("addresses"): false,
		to("unknown"):   false,
		to("two"):       false, // too few arguments
		to("%rd7"):      false,
		"st.param.b64 [param0+0], %rd2;\n\tcall (retval0), %rd7, (param0), prototype_0;": false,
	} {
		kernel := ".visible .entry k1()\n{\n\tmov.u64 %rd1, w;\n\tcvta.global.u64 %rd2, %rd1;\n\t" + code + "\n}\n"
		m := scanned(t, statics+functions+kernel)[0]
		if got := len(m.symbols[m.index["k1"]].readings) == 1; got != only {
			t.Errorf("%q: only reads: %v, want %v", code, got, only)
		}
	}
}

// TestTrustedCopies: a function that only reads its argument in this module may be
// replaced by another module's copy that writes.
func TestTrustedCopies(t *testing.T) {
	reads := ".weak .func g(.param .b64 g_param_0)\n{\n\tld.param.u64 %rd1, [g_param_0];\n\tld.u32 %r1, [%rd1];\n}\n"
	writes := strings.Replace(reads, "ld.u32 %r1, [%rd1]", "st.u32 [%rd1], 1", 1)
	passes := func(name string) string {
		return ".visible .entry " + name + "()\n{\n" +
			"\tmov.u64 %rd1, _ZZ1avE1v;\n\tst.param.b64 [param0], %rd1;\n\tcall g, (param0);\n}\n"
	}
	for name, test := range map[string]struct {
		other string
		want  int // slices
	}{"equal copies": {reads, 3}, "different copies": {writes, 2}} {
		caller := ".visible .entry k3()\n{\n\tcall g, (param0);\n}\n"
		p := planned(t, oneEach(), statics+reads+passes("k1")+passes("k2"), test.other+caller)
		if len(p.Slices) != test.want {
			t.Errorf("%s: %+v", name, shapes(p))
		}
	}
}

// TestAbsent: the compiler may leave out or make local only listed variables that no code
// writes.
func TestAbsent(t *testing.T) {
	reads := func(name string) string { return entry(name, "w", "_ZZ1avE1v", "_ZZ1bvE1v") }
	stores := func(name string) string {
		return ".visible .entry " + name + "()\n{\n\tmov.u64 %rd1, %w;\n\tst.u64 [%rd2], %rd1;\n}\n"
	}
	written := statics + reads("k1") + strings.Replace(reads("k2"), "ret", "st.global.u32 [w], 1", 1)
	absent, local := header+entry("k1"), header+".global .align 4 .b8 w[4];\n"+entry("k1", "w")
	for name, test := range map[string]struct{ program, result, want string }{
		"read and absent": {statics + reads("k1") + reads("k2"), absent, ""},
		"read and local":  {statics + reads("k1") + reads("k2"), local, ""},
		"written and absent": {written, absent,
			"the compiler has removed the variable 'w', which is in a list"},
		"written and local": {written, local,
			"the compiler has made the variable 'w' local, which is in a list"},
		"a vtable that is stored": {strings.ReplaceAll(statics, " w[4]", " _ZTV1A[4]") +
			strings.ReplaceAll(stores("k1")+stores("k2"), "%w", "_ZTV1A"), absent, ""},
		"an address that is stored": {statics + strings.ReplaceAll(stores("k1")+stores("k2"), "%w", "w"), absent,
			"the compiler has removed the variable 'w', which is in a list"},
		"strong and absent": {defineV + entry("k1", "v") + entry("k2", "v"), absent,
			"the compiler has removed the variable 'v', which is in a list"},
	} {
		_, err := planned(t, oneEach(), test.program).Slices[0].Rewrite([]byte(test.result))
		if (err == nil) != (test.want == "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
