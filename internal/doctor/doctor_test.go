package doctor_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/warpld/warpld/internal/doctor"
	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/object/container"
	"github.com/warpld/warpld/internal/object/objecttest"
	"github.com/warpld/warpld/internal/size"
)

// A function is one of a cubin; its code is the text.
type function struct {
	name, text string
	kernel     bool
	weak       bool
	params     byte
	needed     bool // not defined
}

func cubinOf(arch int, functions ...function) []byte {
	var sections []objecttest.Section
	var symbols []objecttest.Symbol
	for _, f := range functions {
		y := objecttest.Symbol{Name: f.name, Info: 1<<4 | 2, Size: uint64(len(f.text))}
		if f.weak {
			y.Info = 2<<4 | 2
		}
		if f.kernel {
			y.Other = 0x10
		}
		if !f.needed {
			sections = append(sections, objecttest.Section{Name: ".text." + f.name, Flags: 6, Data: []byte(f.text)})
			y.Section = uint16(len(sections))
			sections = append(sections, objecttest.Section{Name: ".nv.info." + f.name, Type: 0x70000000,
				Data: []byte{3, 0x19, f.params, 0}})
		}
		symbols = append(symbols, y)
	}
	rows, names := objecttest.Symbols(symbols...)
	sections = append(sections, objecttest.Section{Name: ".strtab", Type: 3, Data: names},
		objecttest.Section{Name: ".symtab", Type: 2, Link: uint32(len(sections) + 1), EntSize: 24, Data: rows})
	return objecttest.ELF(objecttest.ELFFile{Machine: 190, ABIVersion: 8, Flags: uint32(arch)<<8 | 4, Sections: sections})
}

func elf(arch int, functions ...function) objecttest.Member {
	return objecttest.Member{Kind: 2, Arch: uint32(arch), Payload: cubinOf(arch, functions...)}
}

// host returns a host's file with device code and module ids. The type 1 is an object, 3 a
// shared library.
func host(kind uint16, section, ids string, members ...objecttest.Member) []byte {
	return objecttest.ELF(objecttest.ELFFile{Type: kind, Sections: []objecttest.Section{
		{Name: section, Flags: 2, Data: objecttest.Fatbin(members...)},
		{Name: "__nv_module_id", Flags: 2, Data: []byte(ids + "\x00")}}})
}

const (
	rdc    = "__nv_relfatbin"
	linked = ".nv_fatbin"
)

// A program is files by their names, in their order.
type program [][2]any

func check(t testing.TB, driver gpu.Release, p program) (found []string) {
	t.Helper()
	var inputs []*doctor.Input
	m := size.NewMeter()
	for _, f := range p {
		data := f[1].([]byte)
		w := container.Walker{Visit: func(c *container.File) error {
			in, err := doctor.Examine(c, m)
			inputs = append(inputs, in)
			return err
		}, Damaged: func(string, error) error { return nil }}
		if err := w.Walk(f[0].(string), bytes.NewReader(data), int64(len(data))); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range doctor.Check(inputs, driver) {
		found = append(found, fmt.Sprintf("%s: %s: %s", m.Severity, m.ID, m.Text))
		if m.Hint == "" {
			t.Errorf("%s has no remedy", m.Text)
		}
	}
	return found
}

func TestCheck(t *testing.T) {
	k := function{name: "k", text: "code", kernel: true, params: 8}
	with := func(change func(*function)) function { f := k; change(&f); return f }
	a, b := host(1, rdc, "_a", elf(80, k)), host(1, rdc, "_b", elf(80))
	both := host(1, linked, "def _a\x00def _b", elf(80, k))
	driver := gpu.Release{Major: 12, Minor: 4}
	for name, test := range map[string]struct {
		program program
		want    []string
	}{
		"linked": {program{{"a.o", a}, {"b.o", b}, {"dlink.o", both}}, nil},
		"whole":  {program{{"w.o", host(1, linked, "__NV_MODULE_ID", elf(80, k))}}, nil},
		"library and them": {program{{"a.o", a}, {"dlink.o", host(1, linked, "def _a")},
			{"l.so", host(3, linked, "_a\x00def _a")}}, nil},
		"missing": {program{{"a.o", a}, {"b.o", b}},
			[]string{"error: missing-device-link: no device link has linked the relocatable device code of a.o, b.o"}},
		"one missing": {program{{"a.o", a}, {"b.o", b}, {"dlink.o", host(1, linked, "def _a")}},
			[]string{"error: missing-device-link: no device link has linked the relocatable device code of b.o"}},
		"missing in a library": {program{{"l.so", host(3, rdc, "_a", elf(80, k))}},
			[]string{"error: missing-device-link: l.so has relocatable device code (-rdc=true, -dc) that no device link has " +
				"linked"}},
		"doubled": {program{{"a.o", a}, {"1.o", host(1, linked, "def _a")}, {"2.o", host(1, linked, "def _a")}},
			[]string{"error: doubled-device-link: a.o is linked twice: by 1.o and by 2.o"}},
		"doubled in libraries": {program{{"1.so", host(3, linked, "_a\x00def _a")},
			{"2.so", host(3, linked, "_a\x00def _a")}},
			[]string{"error: doubled-device-link: the object _a is linked twice: by 1.so and by 2.so"}},
		"across libraries": {program{{"a.o", host(1, rdc, "_a", elf(80, k, function{name: "_Z1fv", needed: true}))},
			{"dlink.o", host(1, linked, "def _a")},
			{"l.so", host(3, rdc, "_c\x00def _c", elf(80, function{name: "_Z1fv", text: "f"}))}},
			[]string{"error: device-code-in-library: a.o calls f(), which only the shared library l.so defines; device code " +
				"is not linked from shared libraries"}},
		"other architecture": {program{{"a.o", host(1, rdc, "_a", elf(80), elf(90))}, {"b.o", b}, {"dlink.o", both}},
			[]string{"error: other-architecture: b.o has no relocatable code for sm_90"}},
		"an architecture of the family": {program{{"a.o", host(1, rdc, "_a", elf(80), elf(86))}, {"b.o", b},
			{"dlink.o", both}}, nil},
		"other parameters": {program{{"a.o", a}, {"dlink.o", both},
			{"b.o", host(1, rdc, "_b", elf(80, with(func(f *function) { f.params = 16 })))}},
			[]string{"error: one-name-two-bodies: a.o and b.o define k for sm_80 differently"}},
		"other weak code": {program{{"a.o", host(1, rdc, "_a", elf(80, function{name: "f", text: "1", weak: true}))},
			{"b.o", host(1, rdc, "_b", elf(80, function{name: "f", text: "2", weak: true}))}, {"dlink.o", both}},
			[]string{"warning: one-name-two-bodies: a.o and b.o define f for sm_80 differently"}},
		"static": {program{{"a.o", host(1, rdc, "_a", elf(80, function{name: "_ZL1fv", text: "1", weak: true}))},
			{"b.o", host(1, rdc, "_b", elf(80, function{name: "_ZL1fv", text: "2", weak: true}))}, {"dlink.o", both}}, nil},
		"addresses of its unit": {program{{"a.o", host(1, linked, "", objecttest.Member{Kind: 2, Arch: 80,
			Payload: executable(cubinOf(80, k))})}, {"b.o", host(1, linked, "", objecttest.Member{Kind: 2, Arch: 80,
			Payload: executable(cubinOf(80, with(func(f *function) { f.text = "edoc" })))})}}, nil},
		"newer PTX": {program{{"a.o", host(1, linked, "", ptx(9, 0), ptx(8, 4))}},
			[]string{"warning: newer-ptx: PTX 9.0 of a.o needs a driver for CUDA 13.0 or later; one for 12.4 can't compile " +
				"it"}},
	} {
		if got := check(t, driver, test.program); !slices.Equal(got, test.want) {
			t.Errorf("%s:\n got %s\nwant %s", name, strings.Join(got, "\n     "), strings.Join(test.want, "\n     "))
		}
	}
}

func executable(cubin []byte) []byte {
	cubin[16] = 2
	return cubin
}

// ptx returns PTX of a version. The version of a member is where its header has it.
func ptx(major, minor byte) objecttest.Member {
	return objecttest.Member{Kind: 1, Arch: 80, Payload: []byte("x"), Version: [2]uint16{uint16(major), uint16(minor)}}
}

// Ten thousand objects take no time to speak of.
func TestMany(t *testing.T) {
	var p program
	ids := ""
	for i := range 10_000 {
		id := fmt.Sprintf("_%d", i)
		ids += "def " + id + "\x00"
		p = append(p, [2]any{id + ".o", host(1, rdc, id, elf(80, function{name: id, text: "x", kernel: true},
			function{name: "shared", text: "same", weak: true}))})
	}
	p = append(p, [2]any{"dlink.o", host(1, linked, ids)})
	start := time.Now()
	if found := check(t, gpu.Release{}, p); len(found) > 0 {
		t.Errorf("%q", found[:min(len(found), 5)])
	}
	if taken := time.Since(start); taken > 30*time.Second {
		t.Errorf("%v", taken)
	}
	t.Logf("10,000 objects in %v", time.Since(start))
}

func FuzzExamine(f *testing.F) {
	f.Add(host(1, rdc, "_a", elf(80, function{name: "k", text: "code", kernel: true, params: 8})))
	f.Add(host(3, linked, "_a\x00def _a", ptx(9, 0)))
	f.Fuzz(func(t *testing.T, data []byte) {
		var inputs []*doctor.Input
		w := container.Walker{Visit: func(c *container.File) error {
			in, err := doctor.Examine(c, size.NewMeter())
			if err == nil {
				inputs = append(inputs, in, in)
			}
			return nil
		}, Damaged: func(string, error) error { return nil }}
		if w.Walk("x", bytes.NewReader(data), int64(len(data))) == nil {
			doctor.Check(inputs, gpu.Release{Major: 12})
		}
	})
}
