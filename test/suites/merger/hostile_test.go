//go:build realtools

package merger

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/warpld/warpld/internal/merge/device"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/test/kit"
)

// hostileArchs are the targets of damaged inputs, and hostileInputs how many there are in
// all, unless WARPLD_TEST_MERGER_HOSTILE says otherwise.
var hostileArchs = []string{"sm_80", "sm_90", "sm_100"}

const hostileInputs = 900

// A damage is one way to change a file.
type damage func(r *rand.Rand, f *cubin.File, data []byte) []byte

var damages = []damage{flipBits, setWord, changeHeader, changeSymbol, changeRelocation, changeAttribute, splice}

// hostileWords are what lengths, offsets and indices are changed to.
func hostileWord(r *rand.Rand, size int) uint64 {
	return []uint64{0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, 1 << 40, 1 << 63, ^uint64(0), uint64(r.IntN(size)),
		uint64(size)}[r.IntN(11)]
}

func flipBits(r *rand.Rand, _ *cubin.File, data []byte) []byte {
	for range 1 + r.IntN(8) {
		data[r.IntN(len(data))] ^= 1 << r.IntN(8)
	}
	return data
}

func setWord(r *rand.Rand, _ *cubin.File, data []byte) []byte {
	at := r.IntN(len(data)-8) &^ 3
	if r.IntN(2) == 0 {
		binary.LittleEndian.PutUint32(data[at:], uint32(hostileWord(r, len(data))))
	} else {
		binary.LittleEndian.PutUint64(data[at:], hostileWord(r, len(data)))
	}
	return data
}

// field changes one of the fields of a row, which are of so many bytes each.
func field(r *rand.Rand, row []byte, sizes ...int) {
	which := r.IntN(len(sizes))
	for _, size := range sizes[:which] {
		row = row[size:]
	}
	var word [8]byte
	value := hostileWord(r, 64)
	if r.IntN(2) == 0 { // near what it was
		copy(word[:], row[:sizes[which]])
		value = binary.LittleEndian.Uint64(word[:]) + uint64(r.IntN(9)) - 4
	}
	binary.LittleEndian.PutUint64(word[:], value)
	copy(row[:sizes[which]], word[:])
}

// sectionHeader gives a row of the section table. Those of good files are at the end.
func sectionHeader(r *rand.Rand, f *cubin.File, data []byte) []byte {
	const size = 64
	return data[len(data)-(1+r.IntN(len(f.Sections)))*size:][:size]
}

func changeHeader(r *rand.Rand, f *cubin.File, data []byte) []byte {
	if r.IntN(8) == 0 {
		field(r, data[16:], 2, 2, 4, 8, 8, 8, 4, 2, 2, 2, 2, 2, 2)
		return data
	}
	field(r, sectionHeader(r, f, data), 4, 4, 8, 8, 8, 8, 4, 4, 8, 8)
	return data
}

// sectionOf gives the bytes of a random section that is asked for.
func sectionOf(r *rand.Rand, f *cubin.File, data []byte, want func(*elf64.Section) bool) []byte {
	var found [][]byte
	for i := range f.Sections {
		s := &f.Sections[i]
		if offset, length, err := f.Bytes(s); err == nil && length > 0 && want(s) {
			found = append(found, data[offset:offset+length])
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[r.IntN(len(found))]
}

// changeRow changes a field of a row of a section.
func changeRow(r *rand.Rand, b []byte, sizes ...int) {
	total := 0
	for _, size := range sizes {
		total += size
	}
	if len(b) >= total {
		field(r, b[r.IntN(len(b)/total)*total:], sizes...)
	}
}

func changeSymbol(r *rand.Rand, f *cubin.File, data []byte) []byte {
	changeRow(r, sectionOf(r, f, data, func(s *elf64.Section) bool {
		return s.EntSize == 24 &&
			strings.HasSuffix(s.Name, ".symtab")
	}), 4, 1, 1, 2, 8, 8)
	return data
}

func changeRelocation(r *rand.Rand, f *cubin.File, data []byte) []byte {
	if r.IntN(4) == 0 {
		changeRow(r, sectionOf(r, f, data, func(s *elf64.Section) bool { return s.EntSize == 8 }), 4, 4) // calls, prototypes
		return data
	}
	changeRow(r, sectionOf(r, f, data, func(s *elf64.Section) bool {
		return s.EntSize == 24 &&
			strings.Contains(s.Name, ".rela.")
	}), 8, 4, 4, 8)
	return data
}

func changeAttribute(r *rand.Rand, f *cubin.File, data []byte) []byte {
	b := sectionOf(r, f, data, func(s *elf64.Section) bool {
		return strings.Contains(s.Name, ".nv.info") || s.Name == ".nv.compat" || strings.HasPrefix(s.Name, ".note")
	})
	if len(b) < 4 {
		return setWord(r, f, data)
	}
	row := b[r.IntN(len(b)-3)&^3:] // rows are whole words
	if len(row) >= 8 && r.IntN(2) == 0 {
		field(r, row[4:], 4)
	} else {
		field(r, row, 1, 1, 2)
	}
	return data
}

// splice copies a part of the file to another place: of a section, or a whole section
// header.
func splice(r *rand.Rand, f *cubin.File, data []byte) []byte {
	if r.IntN(2) == 0 {
		copy(sectionHeader(r, f, data), sectionHeader(r, f, data))
		return data
	}
	all := func(*elf64.Section) bool { return true }
	copy(sectionOf(r, f, data, all), sectionOf(r, f, data, all))
	return data
}

// TestHostile merges damaged cubins with good ones. The merger must end soon, without a
// panic, and give nothing; a file only if nvlink gives the same one, because the damage
// is in what a linker does not look at.
func TestHostile(t *testing.T) {
	toolkits, total := kit.Toolkits(t), kit.Number(t, "WARPLD_TEST_MERGER_HOSTILE", hostileInputs)
	for _, tk := range toolkits {
		for _, target := range hostileArchs {
			t.Run(tk.Release()+"/"+target, func(t *testing.T) {
				setting{tk, target}.hostile(t,
					total/len(toolkits)/len(hostileArchs))
			})
		}
	}
}

func (s setting) hostile(t *testing.T, count int) {
	all := []string{"r1_calls", "r2_def", "r4_virt", "r5_shared", "call_constants1", "w1", "w2", "weak1", "ind",
		"names", "li.a",
		"g.w2"}
	built := s.buildAll(t, all)
	r := rand.New(rand.NewPCG(9, uint64(kit.Number(t, "WARPLD_TEST_MERGER_SEED", 9))))
	dir := t.TempDir()
	for i := range count {
		name := all[i%len(all)]
		data := read(t, built[name])
		f, err := cubin.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + r.IntN(2) {
			data = damages[r.IntN(len(damages))](r, f, data)
		}
		if r.IntN(20) == 0 {
			data = data[:r.IntN(len(data))]
		}
		files := map[string]string{"bad": filepath.Join(dir, fmt.Sprint(i))}
		if err := os.WriteFile(files["bad"], data, 0o644); err != nil {
			t.Fatal(err)
		}
		p := program{names: []string{"bad"}}
		if i%8 == 1 {
			p.options = []string{"-g"}
		}
		if good := all[r.IntN(len(all))]; fit(t, built[name], built[good]) {
			files["good"] = built[good]
			p.names = slices.Insert(p.names, r.IntN(2), "good")
		}
		if !s.survives(t, p, files, s.arch == "sm_100" && !sameCode(f, read(t, built[name]), data)) {
			t.Errorf("mutation %d of %s: %s", i, name, p)
			if folder := os.Getenv("WARPLD_TEST_MERGER_KEEP"); folder != "" {
				keep(t, folder, fmt.Sprintf("%s.%s.%d", s.tk.Release(), s.arch, i), read(t, built[name]), data)
			}
		}
	}
}

// fit reports whether two files define different names.
func fit(t *testing.T, a, b string) bool {
	return !slices.ContainsFunc(globals(t, a), func(y string) bool { return slices.Contains(globals(t, b), y) })
}

// sameCode reports whether the instructions and the Mercury code of a file are as they
// were, and the attributes that have a part of it.
func sameCode(f *cubin.File, before, after []byte) bool {
	for i := range f.Sections {
		s := &f.Sections[i]
		if !strings.HasPrefix(s.Name, ".text.") && !strings.HasPrefix(s.Name, ".nv.capmerc.") &&
			!strings.HasPrefix(s.Name, ".nv.merc.nv.info.") {
			continue
		}
		if end := s.Offset + s.Size; end > uint64(len(after)) || !bytes.Equal(before[s.Offset:end], after[s.Offset:end]) {
			return false
		}
	}
	return true
}

// survives reports whether the merger does with a damaged program what it should. Of
// damaged code for Mercury nvlink makes other instructions than the file has; that the two
// belong together cannot be checked.
func (s setting) survives(t *testing.T, p program, files map[string]string, newCode bool) bool {
	t.Helper()
	start := time.Now()
	if s.arch == "sm_80" {
		if out, err := s.mergeWith(t, p, files, func(o *device.Options) { o.Relocatable = true }); err != nil && out != nil {
			t.Errorf("output beside the error %v", err)
		}
	}
	got := s.own(t, p, files)
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("the merge took %v", took)
		return false
	}
	switch {
	case got.reason != "":
		counted.add(s, "damaged: left to nvlink")
		return true
	case got.Exit != 0:
		counted.add(s, "damaged: refused")
		return true
	case newCode:
		counted.add(s, "damaged: code for Mercury, not compared")
		return true
	}
	want := s.nvlink(t, p, files)
	if differences := kit.Differences(want, got.Result); len(differences) > 0 {
		counted.add(s, "damaged: different")
		t.Errorf("a file that is not nvlink's:\n%s", strings.Join(differences, "\n"))
		return false
	}
	counted.add(s, "damaged: as nvlink's")
	return true
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
