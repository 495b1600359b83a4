package jitlink

import (
	"slices"
	"testing"
)

func TestOpen(t *testing.T) {
	tests := []struct {
		ptx  string
		want bool
	}{
		{".visible .entry k(\n)\n{\n}\n.func (.param .b32 r) f()\n{\n}\n", false},
		{".extern .func  (.param .b32 func_retval0) vprintf\n(\n", false},
		{".extern .func __assertfail\n(\n", false},
		{".extern .func  (.param .b32 func_retval0) _Z7nowherei\n(\n", true},
		{".extern .func malloc_more\n(\n", true},
		{".visible .func  (.param .b32 func_retval0) _Z4flagv()\n", true},
		{".weak .func _Z1fv()\n", true},
		{"// .extern .func x\n", false},
		{"", false},
	}
	for _, test := range tests {
		if got := open([]byte(test.ptx)); got != test.want {
			t.Errorf("open(%q) = %v", test.ptx, got)
		}
	}
}

func TestShards(t *testing.T) {
	const (
		first  = "//\n// Generated\n//\n\n.version 9.0\n.func f() // .version 1\n{\n}\n// end\n\n"
		second = "// Generated\n.version 9.0\n"
	)
	tests := []struct {
		text string
		want []int64
	}{
		{"", nil},
		{first, nil},
		{first + second, []int64{int64(len(first)), int64(len(second))}},
		{second + first + second, []int64{int64(len(second)), int64(len(first)), int64(len(second))}},
	}
	for _, test := range tests {
		if got := shards([]byte(test.text)); !slices.Equal(got, test.want) {
			t.Errorf("shards(%q) = %d, want %d", test.text, got, test.want)
		}
	}
}
