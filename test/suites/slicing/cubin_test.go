//go:build realtools

package slicing

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
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

// instructions counts those of each function. An instruction has 16 bytes; a function
// ends with as many that do nothing as fill its last 128 bytes, which don't count.
func instructions(t *testing.T, path string) map[string]int {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const size, nop = 16, 0x7918 // in the first two bytes
	counts := map[string]int{}
	for _, s := range f.Sections {
		name, ok := strings.CutPrefix(s.Name, ".text.")
		if !ok {
			continue
		}
		code, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		n := len(code) / size
		for n > 0 && binary.LittleEndian.Uint16(code[(n-1)*size:]) == nop {
			n--
		}
		counts[name] = n
	}
	return counts
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
