package toolkit

import (
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	root := at("cuda", tree{"bin/ptxas": "program", "bin/nvlink": "program", "lib/libnvvm.so.3": "text",
		"lib/libnvvm.so.4": "library", "include/cuda.h": "#define CUDA_VERSION 13000\n"}).grow(t)
	tk := find(t, root, Query{}, map[string]string{"CUDA_HOME": "$/cuda"})
	var out strings.Builder
	if err := tk.Describe(&out); err != nil {
		t.Fatal(err)
	}
	// Columns are padded, so lines are compared by their words.
	lines := map[string]bool{}
	for _, l := range strings.Split(strings.ReplaceAll(out.String(), root, ""), "\n") {
		lines[strings.Join(strings.Fields(l), " ")] = true
	}
	for _, want := range []string{
		"CUDA toolkit 13.0 in /cuda (CUDA_HOME)",
		"libnvvm.so /cuda/lib/libnvvm.so.4 CUDA_HOME",
		"libnvJitLink.so not found",
		"nvvm yes compiles LTO-IR that is stored readable (nvcc -no-compress)",
		"jitlink no, needs libnvJitLink.so compiles any LTO-IR, whole programs only",
		"vendor yes does the whole link as NVIDIA's nvlink",
		"--warpld-cuda not set",
		"CUDA_HOME /cuda/nvvm/lib64/libnvvm.so not found",
		"CUDA_HOME /cuda/lib/libnvvm.so.4 found",
		"Debian /usr/lib/nvidia-cuda-toolkit not found",
	} {
		if !lines[want] {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
	}
}
