package engine

import (
	"slices"
	"testing"

	"github.com/warpld/warpld/internal/gpu"
)

func TestIsOpen(t *testing.T) {
	tests := []struct {
		ptx  string
		want bool
	}{
		{".visible .entry k(\n)\n{\n}\n.func (.param .b32 r) f()\n{\n}\n", false},
		{".extern .func  (.param .b32 func_retval0) vprintf\n(\n", false},
		{".extern .func __assertfail\n(\n", false},
		{".extern .func  (.param .b32 func_retval0) _Z7nowherei\n(\n", true},
		{".extern .func cudaGraphSetConditional\n(\n", false},
		{".extern .func cudaFabricOpErrorStatusGet\n(\n", true}, // only later releases have it
		{".extern .func malloc_more\n(\n", true},
		{".visible .func  (.param .b32 func_retval0) _Z4flagv()\n", true},
		{".weak .func _Z1fv()\n", true},
		{"// .extern .func x\n", false},
		{"", false},
	}
	for _, test := range tests {
		if got := IsOpen([]byte(test.ptx), gpu.Release{Major: 13}); got != test.want {
			t.Errorf("IsOpen(%q) = %v", test.ptx, got)
		}
	}
}

func TestUndefinedVariables(t *testing.T) {
	const text = ".extern .func f\n(\n)\n;\n.extern .global .align 4 .b8 missing[16];\n" +
		".extern .const .align 4 .u32 table;\n.extern .shared .align 4 .b8 dynamic[];\n" +
		".weak .global .align 4 .u32 perhaps;\n.visible .global .align 4 .u32 here = 1;\n.global .u32 ours;\n" +
		".visible .entry k()\n{\n\t// .extern .global .u32 comment;\n\tret;\n}\n"
	if got, want := UndefinedVariables([]byte(text)), []string{"missing", "table"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestHas(t *testing.T) {
	const text = ".visible .global .align 4 .u32 x = 3;\n.func f()\n{\n}\n// .entry k()\n"
	if Has([]byte(text), ".entry") || !Has([]byte(text), ".entry", ".func") || !Has([]byte(text), ".global") {
		t.Error("the kinds are not those of the text")
	}
}
