//go:build realtools

package merger

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/merge/device"
	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/test/kit"
)

// TestRelink links a part of a program with -r, and the result with the rest: it must
// come to what nvlink makes of the whole, whoever does the second link. The order
// of sections, symbols and rows may be another.
func TestRelink(t *testing.T) {
	forEachSetting(t, func(t *testing.T, s setting) {
		all := names(t)
		built := s.buildAll(t, all)
		r := rand.New(rand.NewPCG(13, uint64(kit.Number(t, "WARPLD_TEST_MERGER_SEED", 13))))
		list := append(singles(t), programs()...)
		for range kit.Number(t, "WARPLD_TEST_MERGER_RANDOM", randomLinks) {
			list = append(list, randomProgram(t, r, all, built))
		}
		for _, p := range list {
			from := r.IntN(len(p.names))
			to := from + 1 + r.IntN(len(p.names)-from)
			t.Run(fmt.Sprintf("%s/%d-%d", p, from, to), func(t *testing.T) { s.relink(t, p, built, from, to) })
		}
	})
}

// TestRelinkedLayout links programs that are laid out in another way from the result of -r:
// shared variables of one size change places, because a symbol table has local symbols before
// global ones and ties go by the order of arrival; and there is other padding, because a joined
// section is aligned as a whole. Sections have the same sizes, and variables the same values.
func TestRelinkedLayout(t *testing.T) {
	forEachSetting(t, func(t *testing.T, s setting) {
		for _, test := range []struct {
			names    string
			from, to int
		}{
			{"weak2 dynamic_only shared9", 0, 3},
			{"dynamic_unused lay2 many2 function_pointer2", 2, 4},
		} {
			p := program{names: strings.Fields(test.names)}
			built := s.buildAll(t, p.names)
			t.Run(p.String(), func(t *testing.T) {
				want := s.nvlink(t, p, built)
				again, joined := s.joined(t, p, built, test.from, test.to)
				for who, got := range map[string][]byte{"nvlink": s.nvlink(t, again, joined).Files["out"],
					"warpld": s.own(t, again, joined).Files["out"]} {
					if diff := cmp.Diff(withoutPlaces(t, want.Files["out"]), withoutPlaces(t, got)); diff != "" {
						t.Errorf("linked again by %s (-direct +again):\n%s", who, diff)
					}
				}
			})
		}
	})
}

// joined links some files of a program with -r, and returns the program with the result in
// their place.
func (s setting) joined(t *testing.T, p program, built map[string]string, from, to int) (program, map[string]string) {
	t.Helper()
	part := result(s.mergeWith(t, program{names: p.names[from:to]}, built,
		func(o *device.Options) { o.Relocatable = true }))
	path := filepath.Join(t.TempDir(), "part.cubin")
	if err := os.WriteFile(path, part.Files["out"], 0o644); err != nil || part.Exit != 0 {
		t.Fatalf("the link with -r fails: %v %s %s", err, part.reason, part.Stderr)
	}
	joined := maps.Clone(built)
	joined["part"] = path
	return program{names: slices.Replace(slices.Clone(p.names), from, to, "part")}, joined
}

// withoutPlaces are the sections of an executable with their sizes, and the values of its
// variables.
func withoutPlaces(t *testing.T, data []byte) (list []string) {
	t.Helper()
	p := parse(t, data)
	for i := range p.file.Sections {
		if s := &p.file.Sections[i]; !strings.Contains(s.Name, "tab") && s.Name != ".note.nv.tkinfo" {
			list = append(list, fmt.Sprintf("section %s align %d: %d bytes", s.Name, s.Align, s.Size))
		}
	}
	for _, y := range p.symbols {
		if s := &p.file.Sections[y.Section]; s.Name == ".nv.global.init" && y.Type != elf64.SectionSymbol {
			body, err := p.file.Data(s, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprintf("%s: %x", y.Name, body[y.Value:y.Value+y.Size]))
		}
	}
	slices.Sort(list)
	return list
}

// relink makes one file of some of a program's, and compares.
func (s setting) relink(t *testing.T, p program, built map[string]string, from, to int) {
	want := s.nvlink(t, p, built)
	if want.Exit != 0 {
		counted.add(s, "-r: refused by nvlink")
		return
	}
	part := result(s.mergeWith(t, program{names: p.names[from:to]}, built,
		func(o *device.Options) { o.Relocatable = true }))
	if part.reason != "" {
		counted.add(s, "-r: left to nvlink: "+part.reason)
		return
	}
	if part.Exit != 0 && s.nvlink(t, program{names: p.names[from:to]}, built).Exit == part.Exit {
		counted.add(s, "-r: refused by both") // as sizes that clash only without the file before them
		return
	}
	if part.Exit != 0 {
		t.Fatalf("the link with -r fails: %s", part.Stderr)
	}
	path := filepath.Join(t.TempDir(), "part.cubin")
	if err := os.WriteFile(path, part.Files["out"], 0o644); err != nil {
		t.Fatal(err)
	}
	joined := map[string]string{"part": path}
	for _, name := range p.names {
		joined[name] = built[name]
	}
	again := program{names: slices.Replace(slices.Clone(p.names), from, to, "part")}
	ours := s.own(t, again, joined)
	if ours.reason != "" {
		counted.add(s, "-r: left to nvlink: "+ours.reason)
		return
	}
	for who, got := range map[string][]byte{"nvlink": s.nvlink(t, again, joined).Files["out"],
		"warpld": ours.Files["out"]} {
		if diff := cmp.Diff(contents(t, want.Files["out"]), contents(t, got)); diff != "" {
			counted.add(s, "-r: different")
			t.Errorf("linked again by %s (-direct +again):\n%s", who, diff)
			return
		}
	}
	counted.add(s, "-r: link of it is the direct link")
}

// contents are all that an executable holds, in an order that does not depend on
// that of its tables.
func contents(t *testing.T, data []byte) []string {
	t.Helper()
	p := parse(t, data)
	f, symbols := p.file, p.symbols
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for _, y := range symbols {
		if y.Type != elf64.SectionSymbol {
			add("symbol %s type %d other %#x in %s at %d: %d", y.Name, y.Type, y.Other, f.Sections[y.Section].Name, y.Value,
				y.Size)
		}
	}
	name := func(index uint32) string { return symbols[index].Name }
	for i := range f.Sections {
		s := &f.Sections[i]
		body, err := f.Data(s, 1<<30)
		switch {
		case err != nil && s.Type != 8:
			t.Fatal(err)
		case slices.Contains([]string{"", ".shstrtab", ".strtab", ".symtab", ".note.nv.tkinfo"}, s.Name):
		case s.Type == 4 || s.Type == 9:
			for ; len(body) > 0; body = body[s.EntSize:] {
				add("%s: %x %s %x", s.Name, body[:12], name(binary.LittleEndian.Uint32(body[12:])), body[16:s.EntSize])
			}
		case strings.HasPrefix(s.Name, ".nv.info"):
			for _, row := range attributeRows(body) {
				add("%s: %s", s.Name, describe(row, name))
			}
		case s.Name == ".nv.callgraph" || s.Name == ".nv.prototype":
			add("%s: %d bytes", s.Name, len(body))
		default:
			add("section %s flags %#x align %d: %d bytes %x", s.Name, s.Flags, s.Align, s.Size, body)
		}
	}
	slices.Sort(list)
	return list
}

// attributeRows splits attributes.
func attributeRows(b []byte) (rows [][]byte) {
	for len(b) >= 4 {
		size := 4
		if b[0] == 4 {
			size += int(binary.LittleEndian.Uint16(b[2:]))
		}
		rows, b = append(rows, b[:size]), b[size:]
	}
	return rows
}

// describe shows an attribute with the names of symbols.
func describe(row []byte, name func(uint32) string) string {
	le := binary.LittleEndian
	switch row[1] {
	case 0x0a, 0x11, 0x12, 0x2f:
		return fmt.Sprintf("%x %s %x", row[:4], name(le.Uint32(row[4:])), row[8:])
	case 0x0f:
		var externals []string
		for at := 4; at < len(row); at += 4 {
			externals = append(externals, name(le.Uint32(row[at:])))
		}
		slices.Sort(externals)
		return fmt.Sprintf("%x %s", row[:4], externals)
	}
	return fmt.Sprintf("%x", row)
}
