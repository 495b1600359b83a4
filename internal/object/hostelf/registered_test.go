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

func TestRegisteredByPointer(t *testing.T) {
	const address = 1 // R_X86_64_64
	data := registering(62, 2, address, -4)
	if _, err := hostelf.ReadRegistered(bytes.NewReader(data), int64(len(data))); !errors.Is(err, hostelf.ErrIndirect) {
		t.Errorf("calls by addresses give %v", err)
	}
}

func FuzzRegistered(f *testing.F) {
	f.Add(registering(62, 2, 4, -4))
	f.Fuzz(func(t *testing.T, data []byte) {
		hostelf.ReadRegistered(bytes.NewReader(data), int64(len(data)))
	})
}
