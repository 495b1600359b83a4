package device

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/internal/object/objecttest"
)

// Rules that no program of the corpora needs.

// sectionOf merges and returns the contents of a section of the output.
func sectionOf(t *testing.T, name string, options Options, codes ...code) []byte {
	t.Helper()
	out, err := merge(options, codes...)
	if err != nil {
		t.Fatal(err)
	}
	f, err := cubin.Parse(out.Cubin)
	if err != nil {
		t.Fatal(err)
	}
	s := f.Section(name)
	if s == nil {
		return nil
	}
	data, err := f.Data(s, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestFeatures(t *testing.T) {
	options := plain
	options.Arch.Number, options.Release.Minor = 90, 4
	with := func(kernelName string, bits byte) code {
		row := []byte{byte(cubin.EIFMT_SVAL), byte(compatFeatures), 8, 0, bits, 0, 0, 0, 0, 0, 0, 0}
		return code{functions: []fn{kernel(kernelName)}, arch: 90, toolkit: 134,
			extra: []objecttest.Section{{Name: ".nv.compat", Type: uint32(cubin.SHT_CUDA_COMPAT_INFO), Data: row}}}
	}
	a, b := with("a", 0x03), with("b", 0x05)
	for _, test := range []struct {
		name string
		used []string
		want byte
	}{
		{"all of both", nil, 0x01},
		{"no code of the second remains", []string{"a"}, 0x03},
		{"no code of the first remains", []string{"b"}, 0x05},
	} {
		options.KernelsUsed = test.used
		rows := sectionOf(t, ".nv.compat", options, a, b)
		want := []byte{2, byte(compatSpecific), 0, 0, byte(cubin.EIFMT_SVAL), byte(compatFeatures), 8, 0, test.want, 0, 0,
			0, 0, 0, 0, 0}
		if diff := cmp.Diff(want, rows); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// Relocations that would make a YIELD a NOP are about no symbol, and are not in the
// output.
func TestYieldStays(t *testing.T) {
	for _, kind := range []cubin.Relocation{cubin.R_CUDA_YIELD_OPCODE9_0, cubin.R_CUDA_YIELD_CLEAR_PRED4_87} {
		rows := objecttest.Relocations(objecttest.Relocation{Kind: uint32(kind)})
		c := code{functions: []fn{kernel("k")}, extra: []objecttest.Section{
			{Name: ".rela.text.k", Type: uint32(elf64.Rela), Flags: elf64.InfoLink, Info: 1, EntSize: elf64.RelaSize,
				Data: rows}}}
		if rows := sectionOf(t, ".rela.text.k", plain, c); rows != nil {
			t.Errorf("%d: the output has the relocations %x", kind, rows)
		}
	}
}

// An asynchronous copy has the offset in shared memory in the upper 20 bits of the first
// word of its instruction. The bits below are the offset in global memory.
func TestCopyToShared(t *testing.T) {
	const before = 0x00140a037fae // LDGSTS.E [R3], [R10.64+0x14]
	for _, test := range []struct {
		name  string
		row   patch
		field uint64 // before the link
		want  uint64
	}{
		{"without an addend", patch{value: 0x590, rel: true}, 0, 0x590},
		{"with an addend", patch{value: 0x590, addend: 0x44}, 0, 0x5d4},
		{"with one below zero", patch{value: 8, addend: -0x10}, 0, 0xffff8},
		{"with one in the field", patch{value: 0x590, rel: true}, 4, 0x594},
		{"with one that replaces the field", patch{value: 0x590, addend: 8}, 4, 0x598},
	} {
		instruction := le.AppendUint64(nil, before|test.field<<44)
		test.row.kind = cubin.R_CUDA_ABS20_44
		test.row.apply(instruction)
		if got, want := le.Uint64(instruction), before|test.want<<44; got != want {
			t.Errorf("%s: the instruction is %#x instead of %#x", test.name, got, want)
		}
	}
}

// A copy to dynamic memory is no relocation of the output.
func TestCopyIsRelocated(t *testing.T) {
	rows := objecttest.Relocations(objecttest.Relocation{Kind: uint32(cubin.R_CUDA_ABS20_44), Symbol: 2, Addend: 12})
	c := code{functions: []fn{kernel("k")}, variables: []variable{{name: "dynamic", outside: true, shared: true}},
		extra: []objecttest.Section{{Name: ".rela.text.k", Type: uint32(elf64.Rela), Flags: elf64.InfoLink, Info: 1,
			EntSize: elf64.RelaSize, Data: rows}}}
	if rows := sectionOf(t, ".rela.text.k", plain, c); rows != nil {
		t.Errorf("the output has the relocations %x", rows)
	}
	if got := le.Uint64(sectionOf(t, ".text.k", plain, c)); got != 12<<44 {
		t.Errorf("the instruction is %#x", got)
	}
}

// infoOf returns the section with the attributes of a function.
func infoOf(name string, index uint32, rows ...byte) objecttest.Section {
	return objecttest.Section{Name: ".nv.info." + name, Type: uint32(cubin.SHT_CUDA_INFO), Flags: elf64.InfoLink,
		Info: index, Data: rows}
}

// Attributes that name instructions, and what they are for, are those of the input.
func TestInstructionAttributes(t *testing.T) {
	for name, row := range map[string][]byte{
		"WMMA":       {byte(cubin.EIFMT_NVAL), byte(cubin.EIATTR_WMMA_USED), 0, 0},
		"atomics":    {byte(cubin.EIFMT_SVAL), byte(cubin.EIATTR_ATOM16_EMUL_INSTR_REG_MAP), 4, 0, 0x10, 1, 0, 0},
		"registers":  {byte(cubin.EIFMT_SVAL), byte(cubin.EIATTR_INSTR_REG_MAP), 4, 0, 0xd0, 0, 0, 0},
		"waits":      {byte(cubin.EIFMT_SVAL), byte(cubin.EIATTR_MBARRIER_INSTR_OFFSETS), 4, 0, 0x40, 0, 0, 0},
		"mbarriers":  {byte(cubin.EIFMT_HVAL), byte(cubin.EIATTR_NUM_MBARRIERS), 2, 0},
		"clusters":   {byte(cubin.EIFMT_SVAL), byte(cubin.EIATTR_MAX_CLUSTER_RANK), 4, 0, 8, 0, 0, 0},
		"parameters": {byte(cubin.EIFMT_SVAL), byte(cubin.EIATTR_KPARAM_INFO_V2), 12, 0, 0, 0, 0, 0, 1, 0, 16, 0, 9, 9, 0, 0},
		"block size": {byte(cubin.EIFMT_SVAL), byte(cubin.EIATTR_REQNTID), 12, 0, 64, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0},
		"many of it": {byte(cubin.EIFMT_HVAL), byte(cubin.EIATTR_NUM_MBARRIERS), 0, 3},
	} {
		c := code{functions: []fn{kernel("k", "f"), {name: "f"}}, extra: []objecttest.Section{infoOf("k", 1, row...)}}
		if diff := cmp.Diff(row, sectionOf(t, ".nv.info.k", plain, c)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What a kernel needs for the functions that it reaches is added after its own rows: for the
// only kernel in a fixed order, and else in that of the functions' rows. It replaces its own
// rows where it has some.
func TestInheritedAttributes(t *testing.T) {
	third := []byte{byte(cubin.EIFMT_NVAL), byte(cubin.EIATTR_CTAIDZ_USED), 0, 0}
	barriers := []byte{byte(cubin.EIFMT_BVAL), byte(cubin.EIATTR_NUM_BARRIERS), 2, 0}
	mbarriers := func(n byte) []byte { return []byte{byte(cubin.EIFMT_HVAL), byte(cubin.EIATTR_NUM_MBARRIERS), n, 0} }
	sparse := func(mask byte) []byte {
		return []byte{byte(cubin.EIFMT_HVAL), byte(cubin.EIATTR_SPARSE_MMA_MASK), mask, 0}
	}
	registers := []byte{byte(cubin.EIFMT_HVAL), byte(cubin.EIATTR_MAXREG_COUNT), 255, 0}
	both := []fn{kernel("k", "f", "g"), {name: "f", calls: []string{"g"}}, {name: "g"}}
	for name, test := range map[string]struct {
		functions     []fn
		k, f, g, want []byte
	}{
		"only kernel": {both, registers, slices.Concat(mbarriers(2), barriers, third), nil,
			slices.Concat(registers, third, barriers, mbarriers(2))},
		"several kernels": {append(slices.Clone(both), kernel("other")), registers,
			slices.Concat(mbarriers(2), barriers, third), nil, slices.Concat(registers, mbarriers(2), barriers, third)},
		"each function once": {both, mbarriers(1), mbarriers(2), mbarriers(4), mbarriers(7)},
		"none of a number":   {both, registers, mbarriers(0), nil, slices.Concat(registers, mbarriers(0))},
		"has it already":     {both, third, third, third, third},
		"sparse":             {both, sparse(0x10), sparse(0), sparse(0x20), sparse(0x30)},
	} {
		sections := []objecttest.Section{infoOf("k", 1, test.k...)}
		for i, rows := range [][]byte{test.f, test.g} {
			if rows != nil {
				sections = append(sections, infoOf([]string{"f", "g"}[i], uint32(2+i), rows...))
			}
		}
		got := sectionOf(t, ".nv.info.k", plain, code{functions: test.functions, extra: sections})
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A function whose address is taken by an input whose definition of it lost stays
// only if a kernel of that input may call it.
func TestTakenByLoser(t *testing.T) {
	row := func(b []byte, first uint32, second int32) []byte {
		return le.AppendUint32(le.AppendUint32(b, first), uint32(second))
	}
	const k, f, prototype = 1, 2, 1
	taken := row(row(nil, 0, groupTaken), f, prototype)
	called := row(row(taken, 0, groupPotential), k, f)
	first := code{functions: []fn{kernel("first"), {name: "f", weak: true}}}
	for _, test := range []struct {
		name  string
		graph []byte
		want  []string
	}{
		{"only taken", taken, []string{"first", "k"}},
		{"taken, and a kernel may call it", called, []string{"f", "first", "k"}},
	} {
		out, err := merge(plain, first, code{functions: []fn{kernel("k"), {name: "f", weak: true}}, graph: test.graph})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, functionsOf(t, out)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// With -r the options that remove kernels have no effect.
func TestRelocatableKeepsAll(t *testing.T) {
	with := func(name string, value byte) code {
		return code{functions: []fn{kernel(name)}, extra: []objecttest.Section{
			{Name: ".nv.constant3", Type: uint32(cubin.SHT_CUDA_CONSTANT_B0) + 3, Flags: elf64.Alloc,
				Data: bytes.Repeat([]byte{value}, 16)}}}
	}
	options := plain
	options.Relocatable = true
	all, err := merge(options, with("a", 1), with("b", 2))
	if err != nil {
		t.Fatal(err)
	}
	options.KernelsUsed = []string{"a"}
	used, err := merge(options, with("a", 1), with("b", 2))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(all.Cubin, used.Cubin) {
		t.Error("-kernels-used changes the result of -r")
	}
}

// The section of common shared memory has no symbol, although it has a size in
// programs of Mercury code.
func TestCommonSharedHasNoSymbol(t *testing.T) {
	options := plain
	options.Arch.Number = 100
	out, err := merge(options, code{functions: []fn{kernel("k")}, variables: []variable{{name: "dynamic", outside: true,
		shared: true}}, mercury: true})
	if err != nil {
		t.Fatal(err)
	}
	f, err := cubin.Parse(out.Cubin)
	if err != nil {
		t.Fatal(err)
	}
	if s := f.Section(commonName); s == nil || s.Size == 0 {
		t.Fatalf("the section is %+v", s)
	}
	table, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, y := range table.All() {
		if y.Name == commonName {
			t.Errorf("there is a symbol %+v", y)
		}
	}
}
