package elf64_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/internal/object/objecttest"
)

var le = binary.LittleEndian

func open(data []byte) (*elf64.File, error) {
	return elf64.Open(bytes.NewReader(data), int64(len(data)))
}

func sample(extended bool) []byte {
	rows, names := objecttest.Symbols(
		objecttest.Symbol{Name: "k", Info: 1<<4 | 2, Other: 0x10, Section: 1, Value: 8, Size: 16},
		objecttest.Symbol{Name: "far", Info: 2<<4 | 1, Section: 0xffff})
	indexes := le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, 0), 0), 70000)
	return objecttest.ELF(objecttest.ELFFile{Extended: extended, Machine: 183, Flags: 0x1234,
		Sections: []objecttest.Section{
			{Name: ".text", Flags: 6, Data: []byte("code")},
			{Name: ".strtab", Type: 3, Data: names},
			{Name: ".symtab", Type: 2, Link: 2, EntSize: 24, Data: rows},
			{Name: ".other_shndx", Type: 18, Link: 9},
			{Name: ".symtab_shndx", Type: 18, Link: 3, EntSize: 4, Data: indexes},
			{Name: ".bss", Type: 8},
		}})
}

func TestOpen(t *testing.T) {
	for _, extended := range []bool{false, true} {
		f, err := open(sample(extended))
		if err != nil {
			t.Fatalf("extended %v: %v", extended, err)
		}
		if f.Machine != elf64.AArch64 || f.Type != elf64.Relocatable || f.Flags != 0x1234 {
			t.Errorf("header is %+v", f.Header)
		}
		var names []string
		for _, s := range f.Sections {
			names = append(names, s.Name)
		}
		want := []string{"", ".text", ".strtab", ".symtab", ".other_shndx", ".symtab_shndx", ".bss", ".shstrtab"}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("sections (extended %v):\n%s", extended, diff)
		}
		data, err := f.Data(f.Section(".text"), 4)
		if string(data) != "code" || err != nil {
			t.Errorf(".text holds %q, %v", data, err)
		}
		if _, err := f.Data(f.Section(".text"), 3); !errors.Is(err, elf64.ErrTooLarge) {
			t.Errorf("more than the limit gives %v", err)
		}
	}
}

func TestManySections(t *testing.T) {
	sections := make([]objecttest.Section, 0xff10)
	for i := range sections {
		sections[i] = objecttest.Section{Name: ".text"}
	}
	sections[0xff08] = objecttest.Section{Name: "__nv_relfatbin", Data: []byte("x")}
	f, err := open(objecttest.ELF(objecttest.ELFFile{Extended: true, Sections: sections}))
	if err != nil {
		t.Fatal(err)
	}
	if s := f.Section("__nv_relfatbin"); s == nil || s.Index != 0xff09 {
		t.Errorf("found %+v", s)
	}
}

func TestSymbols(t *testing.T) {
	f, err := open(sample(false))
	if err != nil {
		t.Fatal(err)
	}
	table, err := f.Symbols(f.Section(".symtab"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var got []elf64.Symbol
	for _, y := range table.All() {
		got = append(got, y)
	}
	want := []elf64.Symbol{
		{},
		{Name: "k", Binding: elf64.Global, Type: elf64.Function, Other: 0x10, Section: 1, Value: 8, Size: 16},
		{Name: "far", Binding: elf64.Weak, Type: elf64.Object, Section: 70000},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// change makes a copy of the sample in which some bytes are others.
func change(at int, with ...byte) []byte {
	data := sample(false)
	copy(data[at:], with)
	return data
}

func TestDamage(t *testing.T) {
	whole := sample(false)
	table := int(le.Uint64(whole[40:]))
	const huge = "\xff\xff\xff\xff\xff\xff\xff\xff"
	tests := []struct {
		name string
		data []byte
		want error
	}{
		{"empty", nil, elf64.ErrTruncated},
		{"half a header", whole[:40], elf64.ErrTruncated},
		{"not ELF", change(0, 'M', 'Z'), elf64.ErrFormat},
		{"32-bit", change(4, 1), elf64.ErrFormat},
		{"big-endian", change(5, 2), elf64.ErrFormat},
		{"no section table", whole[:table], elf64.ErrTruncated},
		{"half a section table", whole[:table+100], elf64.ErrTruncated},
		{"section table at the end of the address space", change(40, []byte(huge)...), elf64.ErrTruncated},
		{"small section headers", change(58, 40), elf64.ErrFormat},
		{"names in no section", change(62, 99, 0), elf64.ErrFormat},
		{"name outside", change(table+64, 0xff, 0xff), elf64.ErrFormat},
		{"names outside of the file", change(table+7*64+24, []byte(huge)...), elf64.ErrTruncated},
		{"names without end", change(table+7*64+32, 5), elf64.ErrFormat},
		{"extended count without end", append(change(60, 0, 0)[:table+32], append([]byte(huge), whole[table+40:]...)...),
			elf64.ErrTooLarge},
	}
	for _, test := range tests {
		if _, err := open(test.data); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

func TestDamagedSections(t *testing.T) {
	table := int(le.Uint64(sample(false)[40:]))
	symtab := table + 3*64
	tests := []struct {
		name string
		data []byte
		want error
	}{
		{"beyond the end", change(symtab+24, 0xff, 0xff, 0xff), elf64.ErrTruncated},
		{"offset and size overflow", change(symtab+24, bytes.Repeat([]byte{0xff}, 16)...), elf64.ErrTruncated},
		{"half a symbol", change(symtab+32, 70), elf64.ErrFormat},
		{"other rows", change(symtab+56, 16), elf64.ErrFormat},
		{"names in no section", change(symtab+40, 77), elf64.ErrFormat},
		{"names are code", change(symtab+40, 1), elf64.ErrFormat},
		{"too few indexes", change(symtab+2*64+32, 8), elf64.ErrFormat},
	}
	for _, test := range tests {
		f, err := open(test.data)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if _, err := f.Symbols(f.Section(".symtab"), 1<<20); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

// Names that share their bytes must not make opening a small file slow.
func TestOverlappingNames(t *testing.T) {
	long := append(bytes.Repeat([]byte{'n'}, 1<<20), 0)
	rows := make([]byte, 24*10000)
	f, err := open(objecttest.ELF(objecttest.ELFFile{Sections: []objecttest.Section{
		{Name: ".strtab", Type: 3, Data: long},
		{Name: ".symtab", Type: 2, Link: 1, EntSize: 24, Data: rows},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Symbols(f.Section(".symtab"), 1<<30); !errors.Is(err, elf64.ErrTooLarge) {
		t.Errorf("10000 names of a MiB give %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(sample(false))
	f.Add(sample(true))
	f.Add(objecttest.Cubin(objecttest.CubinFile{Arch: 80, Kernels: []string{"k"}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := open(data)
		if err != nil {
			return
		}
		for i := range file.Sections {
			s := &file.Sections[i]
			contents, err := file.Data(s, 1<<20)
			if err == nil && len(contents) > len(data) {
				t.Fatalf("section %d has %d bytes in a file of %d", i, len(contents), len(data))
			}
			table, err := file.Symbols(s, 1<<20)
			if err != nil {
				continue
			}
			for _, y := range table.All() {
				if len(y.Name) > len(data) {
					t.Fatalf("name of %d bytes", len(y.Name))
				}
			}
		}
	})
}
