package ptx

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDeclarations(t *testing.T) {
	text := `//
.version 9.0
.target sm_80
.address_size 64

	// .globl	_Z4livePi
.extern .func  (.param .b32 func_retval0) vprintf
(
	.param .b64 vprintf_param_0
)
;
.extern .func __assertfail
(
.visible .func  (.param .align 4 .b8 func_retval0[12]) _Z1fi(
.weak .func _Z1gv()
.func helper(
.visible .entry _Z4livePi(
	.param .u64 _Z4livePi_param_0
)
{
	.shared .align 4 .b8 inner[4];
}
.visible .global .align 4 .u32 counter = 1;
.visible .global .attribute(.managed) .align 4 .u32 managed;
.extern .const .align 4 .b8 table[16];
.global .align 1 .b8 $str[5] = {37, 100, 10, 0};
.extern .shared .align 16 .b8 dynamic[];
.weak .global .align 8 .u64 _ZTV1A[3] = {0, _Z1fi, 0};
.loc 1 2 3
`
	want := []Declaration{
		{Extern, ".func", "vprintf"}, {Extern, ".func", "__assertfail"},
		{Visible, ".func", "_Z1fi"}, {Weak, ".func", "_Z1gv"}, {Local, ".func", "helper"},
		{Visible, ".entry", "_Z4livePi"},
		{Visible, ".global", "counter"}, {Visible, ".global", "managed"}, {Extern, ".const", "table"},
		{Local, ".global", "$str"}, {Extern, ".shared", "dynamic"}, {Weak, ".global", "_ZTV1A"},
	}
	if diff := cmp.Diff(want, slices.Collect(Declarations([]byte(text)))); diff != "" {
		t.Error(diff)
	}
}

func FuzzDeclarations(f *testing.F) {
	f.Add([]byte(".extern .func (.param .b32 r) f\n.visible .global .align 4 .u32 v;\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for d := range Declarations(text) {
			if d.Name == "" || d.Kind == "" {
				t.Errorf("%+v", d)
			}
		}
	})
}
