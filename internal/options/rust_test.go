package options

import (
	"strings"
	"testing"
)

func TestFromRust(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"--export-symbol k --export-symbol v a.rcgu.o libcore.rlib -L /x --target nvptx64-nvidia-cuda --target-cpu sm_90 " +
			"-o k.ptx -O3 --debug --warpld-llvm=22 h.bc",
			"-dlto a.rcgu.o libcore.rlib -L /x -arch=sm_90 -o k.ptx -emit-ptx -Xnvvm=-opt=3 --warpld-llvm=22 h.bc " +
				"-kernels-used=k,v -variables-used=k,v"},
		{"a.o -o k.cubin -Oz", "-dlto a.o -o k.cubin -Xnvvm=-opt=2"},
	} {
		got, err := FromRust(strings.Fields(test.args))
		if text := strings.Join(got, " "); err != nil || text != test.want {
			t.Errorf("%s: %s, %v; want %s", test.args, text, err, test.want)
		}
	}
	for _, wrong := range []string{"-o", "--target amdgcn-amd-amdhsa", "--frobnicate"} {
		if _, err := FromRust(strings.Fields(wrong)); err == nil || !strings.Contains(err.Error(), "does not take '") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
