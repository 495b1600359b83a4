package object

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/object/fatbin"
	"github.com/warpld/warpld/internal/object/objecttest"
)

var (
	gpuBitcode  = objecttest.Bitcode(objecttest.BitcodeFile{CPU: "sm_90"})
	hostBitcode = objecttest.Bitcode(objecttest.BitcodeFile{Triple: "x86_64-linux-gnu"})
	clang       = objecttest.ClangObject(objecttest.Offloading(clangImage("sm_90", gpuBitcode)), []string{"kernel"}, nil)
	brokenClang = objecttest.ClangObject(objecttest.Offloading(clangImage("sm_90", gpuBitcode[:60])), nil, nil)
	amdClang    = objecttest.ClangObject(objecttest.Offloading(
		objecttest.OffloadImage{Kind: 2, Triple: "amdgcn-amd-amdhsa", Arch: "gfx90a"}), nil, nil)
)

func clangImage(arch string, bitcode []byte) objecttest.OffloadImage {
	return objecttest.OffloadImage{Kind: 2, Triple: "nvptx64-nvidia-cuda", Arch: arch, Data: bitcode}
}

// An object that "ld -r" made of two has each architecture twice. Of each part the
// link takes what fits best.
func TestClangObject(t *testing.T) {
	cubin := objecttest.OffloadImage{Kind: 3, Triple: "nvptx64-nvidia-cuda", Arch: "sm_100", Data: []byte("code")}
	joined := objecttest.Offloading(clangImage("sm_80", gpuBitcode), clangImage("sm_90", gpuBitcode),
		clangImage("sm_80", gpuBitcode), cubin)
	t.Chdir(write(t, map[string][]byte{"a.o": objecttest.ClangObject(joined, []string{"k"}, []string{"v"})}))
	objects, err := Read("a.o", true, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objects {
		if o.HostRefs == nil || !cmp.Equal(o.HostRefs.Kernels.External, []string{"k"}) {
			t.Errorf("host references: %+v", o.HostRefs)
		}
		for _, number := range []int{75, 80, 90, 100} {
			m, found := o.Choose(Target{Arch: gpu.Arch{Number: number}, LTO: true, Release: gpu.Release{Major: 13, Minor: 0}})
			if !found {
				got = append(got, "nothing")
				continue
			}
			got = append(got, m.String())
		}
	}
	want := []string{"nothing", "bitcode for sm_80", "bitcode for sm_90", "bitcode for sm_90",
		"nothing", "bitcode for sm_80", "bitcode for sm_80", "bitcode for sm_80"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	code, err := objects[1].Modules[1].Container()
	if err != nil || !fatbin.IsContainer(code) || !bytes.Contains(code, []byte("code")) {
		t.Errorf("the cubin for the merger is %q, %v", code, err)
	}
}

func TestBitcodeFiles(t *testing.T) {
	split := objecttest.Bitcode(objecttest.BitcodeFile{Modules: 2})
	one := objecttest.Bitcode(objecttest.BitcodeFile{})
	t.Chdir(write(t, map[string][]byte{"a.bc": split,
		"lib.a": objecttest.Archive(objecttest.File{Name: "m.o", Data: gpuBitcode})}))
	objects, err := Read("a.bc", true, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := objects[0].Modules[0].BitcodeFiles()
	if diff := cmp.Diff([][]byte{one, one}, files); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	objects, err = Read("lib.a", true, nil)
	if err != nil || len(objects) != 1 || objects[0].Kind != Bitcode ||
		objects[0].Modules[0].Arch != (gpu.Arch{Number: 90}) {
		t.Errorf("from an archive: %+v, %v", objects, err)
	}
}
