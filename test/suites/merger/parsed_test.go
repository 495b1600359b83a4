//go:build realtools

package merger

import (
	"slices"
	"testing"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// A parsed file is one whose parts are found by name.
type parsed struct {
	file    *cubin.File
	data    []byte
	symbols []elf64.Symbol
}

func parse(t *testing.T, data []byte) *parsed {
	t.Helper()
	f, err := cubin.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	table, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	p := &parsed{file: f, data: data}
	for _, y := range table.All() {
		p.symbols = append(p.symbols, y)
	}
	return p
}

func (p *parsed) bytes(index uint32) []byte {
	s := &p.file.Sections[index]
	if s.Type == 8 {
		return make([]byte, s.Size)
	}
	return p.data[s.Offset:][:s.Size]
}

func (p *parsed) section(t *testing.T, name string) *elf64.Section {
	t.Helper()
	at := slices.IndexFunc(p.file.Sections, func(s elf64.Section) bool { return s.Name == name })
	if at < 0 {
		t.Fatalf("no section %s", name)
	}
	return &p.file.Sections[at]
}

func (p *parsed) symbol(t *testing.T, name string) *elf64.Symbol {
	t.Helper()
	at := slices.IndexFunc(p.symbols, func(y elf64.Symbol) bool { return y.Name == name })
	if at < 0 {
		t.Fatalf("no symbol %s", name)
	}
	return &p.symbols[at]
}
