package cubin_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/internal/object/objecttest"
)

func open(data []byte) (*cubin.File, error) {
	return cubin.Parse(data)
}

func mustOpen(t *testing.T, f objecttest.CubinFile) *cubin.File {
	t.Helper()
	c, err := open(objecttest.Cubin(f))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestArch(t *testing.T) {
	tests := []struct {
		file objecttest.CubinFile
		want string
	}{
		{objecttest.CubinFile{Arch: 80}, "sm_80"},
		{objecttest.CubinFile{Arch: 90, Specific: true}, "sm_90a"},
		{objecttest.CubinFile{Arch: 100, Options: []string{"-arch sm_100f -m 64 -c  "}}, "sm_100f"},
		{objecttest.CubinFile{Arch: 103, Options: []string{"-arch sm_103 ", "-arch sm_100f -m 64 -c  "}}, "sm_103"},
	}
	for _, test := range tests {
		if got := mustOpen(t, test.file).Arch.String(); got != test.want {
			t.Errorf("%+v is for %s, want %s", test.file, got, test.want)
		}
	}
	old, err := open(objecttest.ELF(objecttest.ELFFile{Machine: 190, ABIVersion: 7, Flags: 0x5a0d5a}))
	if err != nil || old.Arch.String() != "sm_90a" {
		t.Errorf("code of CUDA 12 is for %v, %v", old.Arch, err)
	}
}

func TestContents(t *testing.T) {
	f := mustOpen(t, objecttest.CubinFile{Arch: 80, Kernels: []string{"k1", "k2"},
		Options: []string{"-v ", "-arch sm_80 "}})
	if f.Toolkit != 130 || !f.Relocatable() {
		t.Errorf("toolkit %d, relocatable %v", f.Toolkit, f.Relocatable())
	}
	want := []cubin.Tool{
		{Name: "ptxas", Version: "release 13.0", Build: "Build 1", Options: "-v "},
		{Name: "ptxas", Version: "release 13.0", Build: "Build 1", Options: "-arch sm_80 "},
	}
	if diff := cmp.Diff(want, f.Tools); diff != "" {
		t.Error(diff)
	}
	kernels, err := f.Kernels()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"k1", "k2"}, kernels); diff != "" {
		t.Error(diff)
	}
	if mustOpen(t, objecttest.CubinFile{Linked: true}).Relocatable() {
		t.Error("linked code can be linked")
	}
}

func TestResources(t *testing.T) {
	const tables = 0x70000000
	rows, names := objecttest.Symbols(
		objecttest.Symbol{Name: "k", Info: 1<<4 | 2, Other: 0x10, Section: 1, Size: 8},
		objecttest.Symbol{Name: "f", Info: 1<<4 | 2, Section: 1, Size: 4},
		objecttest.Symbol{Name: "other", Info: 1<<4 | 2, Other: 0x10, Section: 1, Size: 16})
	row := func(id, symbol, value byte) string {
		return string([]byte{4, id, 8, 0, symbol, 0, 0, 0, value, 0, 0, 0})
	}
	of := func(info, kernelInfo string) ([]cubin.Resources, error) {
		f, err := open(objecttest.ELF(objecttest.ELFFile{Type: 2, Machine: 190, Sections: []objecttest.Section{
			{Name: ".text.k", Data: []byte("code")},
			{Name: ".strtab", Type: 3, Data: names},
			{Name: ".symtab", Type: 2, Link: 2, EntSize: 24, Data: rows},
			{Name: ".nv.info", Type: tables, Data: []byte(info)},
			{Name: ".nv.info.k", Type: tables, Data: []byte(kernelInfo)},
			{Name: ".nv.shared.k", Data: make([]byte, 48)},
			{Name: ".nv.shared.f", Data: make([]byte, 99)},
			{Name: ".nv.constant2.k", Data: make([]byte, 20)},
			{Name: ".nv.constant0.k", Data: make([]byte, 32)},
			{Name: ".nv.constant3", Data: make([]byte, 7)},
			{Name: ".nv.constant77.k", Data: make([]byte, 7)},
		}}))
		if err != nil {
			t.Fatal(err)
		}
		return f.Resources()
	}
	got, err := of(row(0x2f, 1, 40)+row(0x2f, 2, 99)+row(0x12, 1, 16)+row(0x11, 1, 8)+row(0x2f, 77, 1)+row(0x66, 1, 1),
		"\x03\x1b\xff\x00\x02\x4c\x03\x00")
	if err != nil {
		t.Fatal(err)
	}
	want := []cubin.Resources{
		{Kernel: "k", Code: 8, Registers: 40, Stack: 16, Frame: 8, Barriers: 3, Shared: 48,
			Constant: []cubin.BankUsage{{Bank: 0, Bytes: 32}, {Bank: 2, Bytes: 20}}},
		{Kernel: "other", Code: 16},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := of("\x04\x2f\x08\x00abc", ""); !errors.Is(err, elf64.ErrFormat) {
		t.Errorf("a row that is cut off gives %v", err)
	}
}

// References of textures and the like are relocations of a kernel's code, or of its
// parameters in linked code.
func TestImages(t *testing.T) {
	rows, names := objecttest.Symbols(
		objecttest.Symbol{Name: "k", Info: 1<<4 | 2, Other: 0x10, Section: 1, Size: 4},
		objecttest.Symbol{Name: "tx", Info: 1<<4 | 10}, objecttest.Symbol{Name: "tx2", Info: 1<<4 | 10},
		objecttest.Symbol{Name: "sp", Info: 1<<4 | 11}, objecttest.Symbol{Name: "sf", Info: 1<<4 | 12},
		objecttest.Symbol{Name: "unused", Info: 1<<4 | 12}, objecttest.Symbol{Name: "v", Info: 1<<4 | 13})
	var relocations []objecttest.Relocation
	for i, symbol := range []uint32{2, 3, 2, 4, 5, 7, 99} {
		relocations = append(relocations, objecttest.Relocation{Place: uint64(4 * i), Symbol: symbol})
	}
	for target, want := range map[uint32]cubin.Images{1: {Textures: 2, Surfaces: 1, Samplers: 1},
		2: {Textures: 2, Surfaces: 1, Samplers: 1}, 3: {}, 99: {}} {
		f, err := open(objecttest.ELF(objecttest.ELFFile{Type: 2, Machine: 190, Sections: []objecttest.Section{
			{Name: ".text.k", Data: []byte("code")},
			{Name: ".nv.constant0.k", Data: make([]byte, 32)},
			{Name: ".text.f", Data: []byte("code")},
			{Name: ".rela", Type: 4, Link: 6, Info: target, EntSize: 24, Data: objecttest.Relocations(relocations...)},
			{Name: ".strtab", Type: 3, Data: names},
			{Name: ".symtab", Type: 2, Link: 5, EntSize: 24, Data: rows},
		}}))
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Resources()
		if err != nil || len(got) != 1 || got[0].Images != want {
			t.Errorf("relocations of section %d: %+v, %v, want %+v", target, got, err, want)
		}
	}
}

func TestDamage(t *testing.T) {
	host := objecttest.HostObject(nil, "", nil)
	if _, err := open(host); !errors.Is(err, cubin.ErrNotDevice) {
		t.Errorf("a host object gives %v", err)
	}
	for _, note := range []string{"short", "\x04\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00",
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00abcd",
		"\x00\x00\x00\x00\x1c\x00\x00\x00\x00\x00\x00\x00" + strings.Repeat("\xff", 28)} {
		data := objecttest.ELF(objecttest.ELFFile{Machine: 190,
			Sections: []objecttest.Section{{Name: ".note.nv.tkinfo", Type: 7, Data: []byte(note)}}})
		if _, err := open(data); !errors.Is(err, elf64.ErrFormat) {
			t.Errorf("note %q gives %v", note, err)
		}
	}
}

func TestCompare(t *testing.T) {
	base := objecttest.CubinFile{Arch: 80, Kernels: []string{"k"}, Options: []string{"-v "}, Text: []byte("0123456789")}
	changed := func(change func(*objecttest.CubinFile)) objecttest.CubinFile {
		f := base
		change(&f)
		return f
	}
	tests := []struct {
		name  string
		other objecttest.CubinFile
		exact bool
		want  []string
	}{
		{"equal", base, true, nil},
		{"another command line", changed(func(f *objecttest.CubinFile) { f.Options = []string{"-w "} }), false, nil},
		{"another command line, exactly", changed(func(f *objecttest.CubinFile) { f.Options = []string{"-w "} }), true,
			[]string{
				"file: contents from 0x111: [76 20 00 0c 00 00 00 08 00 00 00 d0 07 00 00 4e] and [77 20 00 0c 00 00 00 08 " +
					"00 00 00 d0 07 00 00 4e]",
				"section .note.nv.tkinfo: contents from 0x4d: [76 20 00] and [77 20 00]"}},
		{"another architecture", changed(func(f *objecttest.CubinFile) { f.Arch = 86 }), false,
			[]string{"header: flags: 0x5004 and 0x5604",
				"section .note.nv.cuinfo: contents from 0x1a: [50 00 82 00 00 00] and [56 00 82 00 00 00]"}},
		{"other code", changed(func(f *objecttest.CubinFile) { f.Text = []byte("01234x6789") }), false,
			[]string{"section .text.k: contents from 0x5: [35 36 37 38 39] and [78 36 37 38 39]"}},
	}
	for _, test := range tests {
		var got []string
		for _, d := range cubin.Compare(mustOpen(t, base), mustOpen(t, test.other), test.exact) {
			got = append(got, d.String())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s:\n%s", test.name, diff)
		}
	}
}

func TestCompareSections(t *testing.T) {
	with := func(names ...string) *cubin.File {
		e := objecttest.ELFFile{Machine: 190}
		for _, name := range names {
			e.Sections = append(e.Sections, objecttest.Section{Name: name})
		}
		f, err := open(objecttest.ELF(e))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	find := func(differences []cubin.Difference) string {
		for _, d := range differences {
			if d.Where == "sections" {
				return d.String()
			}
		}
		return ""
	}
	a := with(".x", ".y", ".x")
	if got, want := find(cubin.Compare(a, with(".x", ".x", ".y"), false)),
		"sections: order from 2: .y and .x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := find(cubin.Compare(a, with(".x", ".y", ".z"), false)),
		"sections: only in one: [.x] and [.z]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReferences(t *testing.T) {
	const symtab, rela, strtab, data = 2, 4, 3, 13
	rows, names := objecttest.Symbols(
		objecttest.Symbol{Name: "k", Info: 1<<4 | 2, Other: 0x10, Section: 3, Size: 64},
		objecttest.Symbol{Name: "table", Info: 1<<4 | data, Section: 4, Value: 8, Size: 8},
		objecttest.Symbol{Name: "first", Info: 1<<4 | data, Section: 4, Size: 8},
		objecttest.Symbol{Name: "f", Info: 1<<4 | 2})
	file, err := open(objecttest.ELF(objecttest.ELFFile{Machine: 190, ABIVersion: 8, Flags: 80 << 8,
		Sections: []objecttest.Section{
			{Name: ".strtab", Type: strtab, Data: names},
			{Name: ".symtab", Type: symtab, Link: 1, EntSize: 24, Data: rows},
			{Name: ".text.k", Flags: 6, Data: make([]byte, 64)},
			{Name: ".nv.global.init", Data: make([]byte, 16)},
			{Name: ".rela.text.k", Type: rela, Link: 2, Info: 3, Data: objecttest.Relocations(
				objecttest.Relocation{Place: 16, Symbol: 2}, objecttest.Relocation{Place: 32, Symbol: 2},
				objecttest.Relocation{Place: 99, Symbol: 3})},
			{Name: ".rela.nv.global.init", Type: rela, Link: 2, Info: 4,
				Data: objecttest.Relocations(objecttest.Relocation{Place: 8, Symbol: 4},
					objecttest.Relocation{Place: 8, Symbol: 77})},
		}}))
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	got, err := file.References(symbols)
	if want := map[int][]int{1: {2}, 2: {4}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(objecttest.Cubin(objecttest.CubinFile{Arch: 90, Specific: true, Kernels: []string{"k"},
		Options: []string{"-arch sm_90a "}, Text: []byte("text")}))
	f.Add(objecttest.Cubin(objecttest.CubinFile{Arch: 80, Linked: true}))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := open(data)
		if err != nil {
			return
		}
		file.Kernels()
		file.Resources()
		if symbols, err := file.Symbols(); err == nil {
			file.References(symbols)
		}
		if len(file.Sections) < 1000 {
			again, _ := open(data)
			for _, d := range cubin.Compare(file, again, true) {
				if d.What != "contents" { // both cannot be read
					t.Fatalf("differs from itself: %v", d)
				}
			}
		}
	})
}
