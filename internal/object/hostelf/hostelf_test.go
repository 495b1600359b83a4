package hostelf_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/internal/object/objecttest"
)

func read(data []byte) (*hostelf.File, error) {
	return hostelf.Read(bytes.NewReader(data), int64(len(data)))
}

func TestRead(t *testing.T) {
	refs := objecttest.NoRefs()
	refs[".nvHRKE"] = "_Z1k*\x00_Z2kk*"
	refs[".nvHRKI"] = "__nv_static_*3kis*"
	refs[".nvHRDE"] = "gvar"
	refs[".nvHRCI"] = "__nv_static_*c"
	data := objecttest.HostObject([]byte("fat binary"), "_1_a_cu", refs)
	f, err := read(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Relocatable) != 1 || f.Machine != elf64.X8664 {
		t.Fatalf("%+v", f)
	}
	span := f.Relocatable[0]
	if got := string(data[span.Offset : span.Offset+span.Size]); got != "fat binary" {
		t.Errorf("the fat binary is %q", got)
	}
	if diff := cmp.Diff([]string{"_1_a_cu"}, f.ModuleIDs); diff != "" {
		t.Error(diff)
	}
	want := hostelf.HostRefs{
		Kernels:   hostelf.Refs{External: []string{"_Z1k*", "_Z2kk*"}, Internal: []string{"__nv_static_*3kis*"}},
		Devices:   hostelf.Refs{External: []string{"gvar"}, Internal: []string{}},
		Constants: hostelf.Refs{External: []string{}, Internal: []string{"__nv_static_*c"}},
	}
	if diff := cmp.Diff(want, f.Refs); diff != "" {
		t.Error(diff)
	}
}

// "ld -r" and device links leave module ids of several kinds in one section,
// with padding between them.
func TestModuleIDs(t *testing.T) {
	data := objecttest.HostObject([]byte("x"), "_1_a_cu\x00\x00\x00\x00__NV_MODULE_ID\x00def _3_c_cu\x00_2_b_cu", nil)
	f, err := read(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"_1_a_cu", "_2_b_cu"}, f.ModuleIDs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"_3_c_cu"}, f.LinkedIDs); diff != "" {
		t.Error(diff)
	}
}

func TestMissingRefs(t *testing.T) {
	for _, name := range objecttest.RefSections {
		refs := objecttest.NoRefs()
		delete(refs, name)
		f, err := read(objecttest.HostObject([]byte("x"), "", refs))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{name}, f.Refs.Missing); diff != "" {
			t.Error(diff)
		}
		if want := name != ".nvHRKE"; f.Refs.Known() != want {
			t.Errorf("without %s: known %v, want %v", name, !want, want)
		}
	}
	empty := objecttest.ELF(objecttest.ELFFile{Sections: []objecttest.Section{{Name: ".nvHRKE"}}})
	if f, err := read(empty); err != nil || f.Refs.Known() {
		t.Errorf("a section without bytes counts (%v)", err)
	}
}

func TestOverlappingSections(t *testing.T) {
	sections := make([]objecttest.Section, 100)
	for i := range sections {
		sections[i] = objecttest.Section{Name: "__nv_relfatbin"}
	}
	sections[0].Data = make([]byte, 1000)
	data := objecttest.ELF(objecttest.ELFFile{Sections: sections})
	f, err := elf64.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	table := len(data) - 64*len(f.Sections)
	for i := 2; i <= 100; i++ { // all of them become the first
		copy(data[table+64*i:table+64*(i+1)], data[table+64:table+128])
	}
	if _, err := read(data); !errors.Is(err, elf64.ErrFormat) {
		t.Errorf("got %v", err)
	}
}

func FuzzRead(f *testing.F) {
	refs := objecttest.NoRefs()
	refs[".nvHRKE"] = "_Z1k*"
	f.Add(objecttest.HostObject([]byte("fat binary"), "_1_a_cu", refs))
	f.Add(objecttest.HostObject(nil, "def _1_a_cu", nil))
	f.Add(objecttest.ClangObject([]byte("container"), []string{"kernel"}, []string{"variable"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := read(data)
		if err != nil {
			return
		}
		for _, s := range slices.Concat(file.Relocatable, file.Linked, file.Offloading) {
			_ = data[s.Offset : s.Offset+s.Size]
		}
	})
}

func TestClang(t *testing.T) {
	section := objecttest.Offloading(objecttest.OffloadImage{Kind: 2, Triple: "nvptx64-nvidia-cuda", Arch: "sm_90",
		Data: []byte("code")})
	data := objecttest.ClangObject(section, []string{"k1", "k2"}, []string{"v"})
	f, err := read(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Offloading) != 1 || !bytes.Equal(data[f.Offloading[0].Offset:][:f.Offloading[0].Size], section) {
		t.Errorf("the containers are at %v", f.Offloading)
	}
	want := hostelf.HostRefs{
		Kernels:   hostelf.Refs{External: []string{"k1", "k2"}},
		Devices:   hostelf.Refs{External: []string{"v"}},
		Constants: hostelf.Refs{External: []string{"v"}},
	}
	if diff := cmp.Diff(want, f.Refs); diff != "" || !f.Refs.Known() {
		t.Error(diff)
	}
	f, err = read(objecttest.ClangObject(section, nil, nil))
	if err != nil || !f.Refs.Known() || len(f.Refs.Kernels.External) != 0 {
		t.Errorf("an object without entries: %+v, %v", f, err)
	}
}
