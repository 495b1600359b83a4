//go:build realtools

package slicing

import (
	"debug/elf"
	"fmt"
	"regexp"
	"testing"
)

// A count is how often a symbol is in a cubin.
type count struct{ global, local int }

func symbols(t *testing.T, path string) []elf.Symbol {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// symbolsOf counts the definitions.
func symbolsOf(t *testing.T, path string) map[string]count {
	t.Helper()
	found := map[string]count{}
	for _, s := range symbols(t, path) {
		if s.Section == elf.SHN_UNDEF || elf.ST_TYPE(s.Info) == elf.STT_SECTION {
			continue
		}
		n := found[s.Name]
		if elf.ST_BIND(s.Info) == elf.STB_LOCAL {
			n.local++
		} else {
			n.global++
		}
		found[s.Name] = n
	}
	return found
}

// symbolSizes are the sizes of global symbols.
func symbolSizes(t *testing.T, path string) map[string]uint64 {
	t.Helper()
	sizes := map[string]uint64{}
	for _, s := range symbols(t, path) {
		if elf.ST_BIND(s.Info) != elf.STB_LOCAL {
			sizes[s.Name] = s.Size
		}
	}
	return sizes
}

func sectionSize(t *testing.T, path, name string) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if s := f.Section(name); s != nil {
		return s.Size
	}
	return 0
}

// A use is what a function needs.
type use struct{ registers, shared int }

var usageLine = regexp.MustCompile(`Function (\S+):\s+REG:(\d+) .*?SHARED:(\d+)`)

func (r *rig) usage(cubin string) map[string]use {
	r.Helper()
	found := map[string]use{}
	for _, m := range usageLine.FindAllStringSubmatch(r.output("cuobjdump", "-res-usage", cubin), -1) {
		var u use
		fmt.Sscan(m[2], &u.registers)
		fmt.Sscan(m[3], &u.shared)
		found[m[1]] = u
	}
	return found
}
