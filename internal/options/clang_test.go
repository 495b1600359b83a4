package options

import (
	"strings"
	"testing"
)

func TestFromClang(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"-o out.img -arch sm_90 a.o b.bc -plugin /x/LLVMgold.so -plugin-opt=mcpu=sm_90 --plugin-opt=-mattr=+ptx42 -L/x -lm",
			"-dlto -o out.img -arch sm_90 a.o b.bc -L/x -lm"},
		{"--arch=sm_80 --cuda-path=/cuda -mllvm -inline-threshold=5 -g -v",
			"-dlto -arch sm_80 --warpld-cuda=/cuda --warpld-llvm-options=-inline-threshold=5 -g --warpld-verbose"},
		{"--plugin-opt=O2 --plugin-opt=thinlto --plugin-opt=jobs=4 --plugin-opt=-x=1 --relocatable",
			"-dlto -Xnvvm=-opt=2 --warpld-lto=thin --warpld-llvm-options=-x=1 -r"},
		{"--warpld-llvm=22 -kernels-used=k,l --save-temps", "-dlto --warpld-llvm=22 -kernels-used=k,l --verbose-keep"},
	} {
		got, err := FromClang(strings.Fields(test.args))
		if text := strings.Join(got, " "); err != nil || text != test.want {
			t.Errorf("%s: %s, %v; want %s", test.args, text, err, test.want)
		}
	}
	for _, wrong := range []string{"-u sym", "--lto-emit-llvm", "-o", "--frobnicate", "--plugin-opt=dwo_dir=x"} {
		if _, err := FromClang(strings.Fields(wrong)); err == nil || !strings.Contains(err.Error(), "does not take '") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
