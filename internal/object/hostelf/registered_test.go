package hostelf_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/internal/object/objecttest"
)

// registering is an object whose code loads the names "k" and "v", some more than
// once, and calls the runtime with them. adjust is what relocations of the machine
// count beside the place.
func registering(machine uint16, kind, call uint32, adjust int64) []byte {
	const symtab, rela, strtab = 2, 4, 3
	const write, execute = 1, 4
	rows, names := objecttest.Symbols(
		objecttest.Symbol{Info: 3, Section: 2}, // the names
		objecttest.Symbol{Name: "__cudaRegisterFunction"}, objecttest.Symbol{Name: "__cudaRegisterVar"},
		objecttest.Symbol{Name: "puts"},
		objecttest.Symbol{Name: "shadow", Section: 3})
	return objecttest.ELF(objecttest.ELFFile{Machine: machine, Sections: []objecttest.Section{
		{Name: ".text", Flags: execute, Data: make([]byte, 64)},
		{Name: ".rodata", Data: []byte("other\x00k\x00v\x00")},
		{Name: ".data", Flags: write, Data: []byte("no name\x00")},
		{Name: ".rela.text", Type: rela, Link: 5, Info: 1, EntSize: 24, Data: objecttest.Relocations(
			objecttest.Relocation{Place: 40, Kind: call, Symbol: 3, Addend: adjust}, // calls are not in order of their places
			objecttest.Relocation{Place: 0, Kind: kind, Symbol: 1, Addend: adjust},
			objecttest.Relocation{Place: 4, Kind: kind, Symbol: 4, Addend: adjust},
			objecttest.Relocation{Place: 8, Kind: kind, Symbol: 1, Addend: 6 + adjust},
			objecttest.Relocation{Place: 12, Kind: kind, Symbol: 1, Addend: 6 + adjust},
			objecttest.Relocation{Place: 16, Kind: call, Symbol: 2, Addend: adjust},
			objecttest.Relocation{Place: 20, Kind: kind, Symbol: 1, Addend: 8 + adjust},
			objecttest.Relocation{Place: 24, Kind: kind, Symbol: 5, Addend: adjust},
			objecttest.Relocation{Place: 28, Kind: kind, Symbol: 99},
		)},
		{Name: ".symtab", Type: symtab, Link: 6, EntSize: 24, Data: rows},
		{Name: ".strtab", Type: strtab, Data: names},
	}})
}

func TestRegistered(t *testing.T) {
	for name, data := range map[string][]byte{"x86-64": registering(62, 2, 4, -4),
		"aarch64": registering(183, 277, 283, 0)} {
		r, err := hostelf.ReadRegistered(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(r.Kernels, []string{"k"}) || !slices.Equal(r.Variables, []string{"v"}) {
			t.Errorf("%s: kernels %q, variables %q", name, r.Kernels, r.Variables)
		}
	}
}

// constant is an object that registers a constant variable: its value, which is where the
// host's address leads to, is read-only data like the name, and is loaded last.
func constant(machine uint16, value string, loads []load, call uint32, adjust int64) []byte {
	const symtab, rela, strtab = 2, 4, 3
	const execute = 4
	rows, names := objecttest.Symbols(
		objecttest.Symbol{Info: 3, Section: 2},
		objecttest.Symbol{Name: "__cudaRegisterVar"})
	var code []byte
	var relocations []objecttest.Relocation
	for _, l := range loads {
		code = append(code, l.code...)
		relocations = append(relocations, objecttest.Relocation{Place: uint64(len(code) - 4), Kind: l.kind,
			Symbol: 1, Addend: l.target + l.adjust})
	}
	relocations = append(relocations, objecttest.Relocation{Place: uint64(len(code)), Kind: call, Symbol: 2,
		Addend: adjust})
	return objecttest.ELF(objecttest.ELFFile{Machine: machine, Sections: []objecttest.Section{
		{Name: ".text", Flags: execute, Data: append(code, 0, 0, 0, 0)},
		{Name: ".rodata", Data: append([]byte("_ZL5kmask\x00"), value...)},
		{Name: ".rela.text", Type: rela, Link: 4, Info: 1, EntSize: 24, Data: objecttest.Relocations(relocations...)},
		{Name: ".symtab", Type: symtab, Link: 5, EntSize: 24, Data: rows},
		{Name: ".strtab", Type: strtab, Data: names},
	}})
}

// A load is an instruction of constant, of which the last four bytes are relocated.
type load struct {
	code           []byte
	kind           uint32
	target, adjust int64
}

func TestRegisteredConstant(t *testing.T) {
	const value = 10 // place behind the name
	lea := func(register byte, target int64) load {
		return load{[]byte{0x48, 0x8d, 5 | register<<3, 0, 0, 0, 0}, 2, target, -4}
	}
	move := func(register byte, target int64) load {
		return load{[]byte{0x90, 0x90, 0xb8 | register, 0, 0, 0, 0}, 10, target, 0}
	}
	moveWide := func(register byte, target int64) load {
		return load{[]byte{0x48, 0xc7, 0xc0 | register, 0, 0, 0, 0}, 11, target, 0}
	}
	page := func(target int64) load { return load{[]byte{0, 0, 0, 0x90}, 275, target, 0} }
	add := func(register byte, target int64) load {
		return load{[]byte{register, 0, 0, 0x91}, 277, target, 0}
	}
	adr := func(register byte, target int64) load {
		return load{[]byte{register, 0, 0, 0x10}, 274, target, 0}
	}
	const rax, rcx, rdx, rsi = 0, 1, 2, 6
	for name, test := range map[string]struct {
		machine uint16
		loads   []load
	}{
		"LEA":                  {62, []load{lea(rdx, 0), lea(rdx, 0), lea(rsi, value)}},
		"LEA, name last":       {62, []load{lea(rsi, value), lea(rcx, 0)}},
		"LEA by way of RAX":    {62, []load{lea(rax, 0), lea(rsi, value)}},
		"LEA, other text last": {62, []load{lea(rcx, 0), lea(rax, value)}},
		"MOV":                  {62, []load{move(rdx, 0), move(rsi, value)}},
		"MOV of 64 bits":       {62, []load{moveWide(rcx, 0), moveWide(rsi, value)}},
		"ADD":                  {183, []load{page(0), add(3, 0), page(0), add(2, 0), page(value), add(1, value)}},
		"ADR":                  {183, []load{adr(3, 0), adr(1, value)}},
	} {
		call, adjust := uint32(4), int64(-4)
		if test.machine == 183 {
			call, adjust = 283, 0
		}
		for _, contents := range []string{"\x01\x02\x04\x00", "\x00", "\x1b[2J\x00", "4name\x00", "valid\x00"} {
			data := constant(test.machine, contents, test.loads, call, adjust)
			r, err := hostelf.ReadRegistered(bytes.NewReader(data), int64(len(data)))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(r.Variables, []string{"_ZL5kmask"}) || len(r.Kernels) != 0 {
				t.Errorf("%s, value %q: kernels %q, variables %q", name, contents, r.Kernels, r.Variables)
			}
		}
	}
}

func TestRegisteredByPointer(t *testing.T) {
	const address = 1 // R_X86_64_64
	data := registering(62, 2, address, -4)
	if _, err := hostelf.ReadRegistered(bytes.NewReader(data), int64(len(data))); !errors.Is(err, hostelf.ErrIndirect) {
		t.Errorf("calls by addresses give %v", err)
	}
}

func FuzzRegistered(f *testing.F) {
	f.Add(registering(62, 2, 4, -4))
	f.Add(registering(183, 277, 283, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		hostelf.ReadRegistered(bytes.NewReader(data), int64(len(data)))
	})
}
