package toolkit

import (
	"slices"
	"testing"
)

func TestVersionOf(t *testing.T) {
	tests := []struct {
		name string
		tree tree
		want Version
	}{
		{"list of the installer", versionList("13.0.88"), Version{13, 0, 88}},
		{"list without nvcc", tree{"version.json": `{"cuda": {"version": "13.0.2"}}`,
			"include/cuda.h": "#define CUDA_VERSION 13000\n"}, Version{13, 0, 0}},
		{"text of a tool", tree{"bin/bin2c": "\x00\x7fCuda compilation tools, release 13.4, V13.4.92\x00V1.2.3"},
			Version{13, 4, 92}},
		{"text of a tool, Debian", tree{"lib/nvidia-cuda-toolkit/bin/bin2c": "release 12.4, V12.4.131"}, Version{12, 4, 131}},
		{"name of a library", tree{"lib64/libnvJitLink.so.12.8.61": "library"}, Version{12, 8, 61}},
		{"header", tree{"include/cuda.h": "#define CUDA_VERSION 13040 // 13.4\n"}, Version{13, 4, 0}},
		{"header in targets", tree{target + "/include/cuda.h": "#define CUDA_VERSION 12090\n"}, Version{12, 9, 0}},
		{"nothing", tree{"include/cuda.h": "#define CUDA_VERSION x\n"}, Version{}},
		{"absurd", tree{"version.json": `{"cuda_nvcc": {"version": "99999999999999999999.1"}}`}, Version{}},
	}
	for _, test := range tests {
		if got := versionOf(test.tree.grow(t)); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

func TestVersionCompare(t *testing.T) {
	v := Version{13, 0, 88}
	if !v.SameRelease(Version{13, 0, 0}) || v.SameRelease(Version{13, 4, 88}) || (Version{}).SameRelease(Version{}) {
		t.Error("SameRelease")
	}
}

func TestCompareNumbers(t *testing.T) {
	names := []string{"x.so.4", "x.so.13", "x.so.13.0.9", "x.so", "x.so.13.0.88"}
	slices.SortFunc(names, compareNumbers)
	if want := []string{"x.so", "x.so.4", "x.so.13", "x.so.13.0.9", "x.so.13.0.88"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}

func FuzzVersion(f *testing.F) {
	f.Add([]byte(`{"cuda_nvcc": {"version": "13.0.88"}}`))
	f.Add([]byte("release 13.0, V13.0.88"))
	f.Add([]byte("#define CUDA_VERSION 13000\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, v := range []Version{parseVersionList(data), parseVersion(printedVersion(), string(data)), parseHeader(data)} {
			if v.Major < 0 || v.Minor < 0 || v.Patch < 0 {
				t.Errorf("negative version %#v", v)
			}
		}
	})
}

func FuzzShimRecord(f *testing.F) {
	f.Add([]byte(`{"toolkit": "/usr/local/cuda"}`))
	f.Add([]byte(`{"toolkit": "relative"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := parseShim(data); err == nil && (s.Toolkit == "" || s.Toolkit[0] != '/') {
			t.Errorf("accepted %q", s.Toolkit)
		}
	})
}
