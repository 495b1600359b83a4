package device

import (
	"fmt"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/internal/object/objecttest"
)

// weakData is a cubin with a kernel k and 24 bytes of variables: symbol 1 is that of their
// section, and the others are given.
func weakData(number int, rows []objecttest.Relocation, variables ...objecttest.Symbol) []byte {
	kernel := fmt.Sprintf("k%d", number)
	symbols := []objecttest.Symbol{{Name: ".nv.global.init", Info: 3, Section: 2}}
	for _, v := range variables {
		v.Section, v.Other = 2, cubin.STO_CUDA_GLOBAL
		symbols = append(symbols, v)
	}
	symbols = append(symbols, objecttest.Symbol{Name: kernel, Info: bindGlobal | 2, Other: cubin.STO_CUDA_ENTRY,
		Section: 1, Size: 32})
	table, names := objecttest.Symbols(symbols...)
	data := []byte(strings.Repeat(string(rune('a'+number)), 24))
	return objecttest.ELF(objecttest.ELFFile{Machine: 190, ABIVersion: 8, Flags: 80<<8 | 4,
		Sections: []objecttest.Section{
			{Name: ".text." + kernel, Flags: elf64.Alloc | elf64.Exec, Info: uint32(len(symbols)), Data: make([]byte, 32)},
			{Name: ".nv.global.init", Type: uint32(cubin.SHT_CUDA_GLOBAL_INIT), Flags: elf64.Alloc | elf64.Write, Data: data},
			{Name: ".rela.text." + kernel, Type: uint32(elf64.Rela), Flags: elf64.InfoLink, Info: 1, Link: 6,
				EntSize: elf64.RelaSize, Data: objecttest.Relocations(rows...)},
			{Name: ".note.nv.cuinfo", Type: uint32(elf64.Note), Flags: 0x1000000,
				Data: noteRecord(1000, []byte{2, 0, 80, 0, 130, 0, 0, 0})},
			{Name: ".strtab", Type: uint32(elf64.Strtab), Data: names},
			{Name: ".symtab", Type: uint32(elf64.Symtab), Link: 5, EntSize: elf64.SymbolSize, Data: table},
		}})
}

func TestWeakDataOnce(t *testing.T) {
	weak := func(name string, value, size uint64) objecttest.Symbol {
		return objecttest.Symbol{Name: name, Info: bindWeak | byte(cubin.STT_CUDA_OBJECT), Value: value, Size: size}
	}
	local := func(name string, value, size uint64) objecttest.Symbol {
		return objecttest.Symbol{Name: name, Info: byte(cubin.STT_CUDA_OBJECT), Value: value, Size: size}
	}
	first := weakData(0, nil, weak("x", 0, 8), weak("y", 8, 16))
	for name, test := range map[string]struct {
		second []byte
		want   string // what comes after the first
	}{
		"all":        {weakData(1, nil, weak("x", 0, 8), weak("y", 8, 16)), ""},
		"the first":  {weakData(1, nil, weak("x", 0, 8), local("z", 8, 16)), "bbbbbbbbbbbbbbbb"},
		"the last":   {weakData(1, nil, local("z", 0, 8), weak("y", 8, 16)), "bbbbbbbb"},
		"the middle": {weakData(1, nil, local("z", 0, 4), weak("x", 4, 8), local("w", 12, 12)), "bbbbbbbbbbbbbbbb"},
		"by name": {weakData(1, []objecttest.Relocation{{Kind: uint32(cubin.R_CUDA_ABS32_LO_32), Symbol: 2, Addend: 8}},
			weak("x", 0, 8), local("z", 8, 16)), "bbbbbbbbbbbbbbbb"},
		"beyond": {weakData(1, []objecttest.Relocation{{Kind: uint32(cubin.R_CUDA_ABS32_LO_32), Symbol: 3,
			Addend: 17}}, weak("x", 0, 8), local("z", 8, 16)), strings.Repeat("b", 24)},
		"before": {weakData(1, []objecttest.Relocation{{Kind: uint32(cubin.R_CUDA_ABS32_LO_32), Symbol: 3,
			Addend: -8}}, weak("x", 0, 8), local("z", 8, 16)), strings.Repeat("b", 24)},
		"not named":   {weakData(1, nil, weak("x", 0, 8), local("z", 8, 8)), strings.Repeat("b", 24)},
		"overlapping": {weakData(1, nil, weak("x", 0, 8), local("z", 4, 20)), strings.Repeat("b", 24)},
	} {
		for _, once := range []bool{false, true} {
			options := plain
			options.DedupWeakData = once
			out, err := Merge([]Input{{Name: "a.o", Cubin: first}, {Name: "b.o", Cubin: test.second}}, options)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			want := test.want
			if !once {
				want = strings.Repeat("b", 24)
			}
			if got := dataOf(t, out.Cubin, ".nv.global.init"); got != strings.Repeat("a", 24)+want ||
				out.DedupedBytes != uint64(24-len(want)) {
				t.Errorf("%s, once: %v: the variables are %q, and %d bytes are left out", name, once, got, out.DedupedBytes)
			}
		}
	}
}

// TestSectionSymbolKeepsData: the rules have no relocation on the section of variables, and
// neither has one that was cut.
func TestSectionSymbolKeepsData(t *testing.T) {
	x := objecttest.Symbol{Name: "x", Info: bindWeak | byte(cubin.STT_CUDA_OBJECT), Size: 24}
	rows := []objecttest.Relocation{{Kind: uint32(cubin.R_CUDA_ABS32_LO_32), Symbol: 1, Addend: 4}}
	in := &Input{Name: "b.o", Cubin: weakData(1, rows, x)}
	options := plain
	options.DedupWeakData = true
	rules, err := newRules(options)
	if err != nil {
		t.Fatal(err)
	}
	out := newOutput(rules, nil)
	for _, in := range []*Input{{Name: "a.o", Cubin: weakData(0, nil, x)}, in} {
		o, err := readObject(in, rules)
		if err != nil {
			t.Fatal(err)
		}
		if err := dedupSections(out.rules, out.symbols, o); err != nil || len(o.dedupedSections) > 0 {
			t.Errorf("%s: %v, %v", in.Name, o.dedupedSections, err)
		}
		if err := mergeVariables(out, o); err != nil {
			t.Fatal(err)
		}
	}
}

func dataOf(t *testing.T, file []byte, name string) string {
	t.Helper()
	f, err := cubin.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Name == name {
			return string(file[s.Offset:][:s.Size])
		}
	}
	return ""
}
