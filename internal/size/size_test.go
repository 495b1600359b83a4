package size_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/object/container"
	"github.com/warpld/warpld/internal/object/objecttest"
	"github.com/warpld/warpld/internal/size"
)

func cubinOf(names ...string) []byte {
	return objecttest.Cubin(objecttest.CubinFile{Arch: 80, Kernels: names, Text: bytes.Repeat([]byte("code"), 32)})
}

func measured(t testing.TB, name string, data []byte) (files []*size.File) {
	t.Helper()
	m := size.NewMeter()
	w := container.Walker{
		Visit: func(f *container.File) error {
			out, err := m.Measure(f)
			files = append(files, out)
			return err
		},
		Damaged: func(string, error) error { return nil },
	}
	if err := w.Walk(name, bytes.NewReader(data), int64(len(data))); err != nil {
		t.Log(err)
	}
	return files
}

// host has device code of all kinds, with gaps and something damaged at the end.
func host() []byte {
	fat := objecttest.Fatbin(
		objecttest.Member{Kind: 2, Arch: 80, Payload: cubinOf("k"), Compression: "zstd", Ident: "a.cu"},
		objecttest.Member{Kind: 2, Arch: 80, Payload: cubinOf("k")},
		objecttest.Member{Kind: 2, Arch: 80, Payload: []byte("no cubin at all")},
		objecttest.Member{Kind: 1, Arch: 90, Payload: []byte(".version 9.0"), Compression: "lz4"},
		objecttest.Member{Kind: 8, Arch: 90, Payload: objecttest.LTOIR(90, false)},
		objecttest.Member{Kind: 77, Arch: 90, Payload: []byte("?")})
	section := append(append(bytes.Clone(fat), make([]byte, 40)...), fat...)
	section = append(section, "garbage that is no fat binary"...)
	return objecttest.ELF(objecttest.ELFFile{Type: 3, Sections: []objecttest.Section{
		{Name: ".nv_fatbin", Flags: 2, Data: section},
		{Name: ".nvFatBinSegment", Flags: 3, Data: make([]byte, 48)}}})
}

// check fails unless the sums of a document are those of its rows.
func check(t testing.TB, d *size.Document) {
	t.Helper()
	var parts, archs, expanded int64
	for _, p := range d.Parts {
		parts += p.Bytes
	}
	for _, a := range d.Archs {
		archs, expanded = archs+a.Stored, expanded+a.Expanded
	}
	if parts != d.Device {
		t.Errorf("the parts are %d of %d bytes: %v", parts, d.Device, d.Parts)
	}
	if expanded != d.Expanded || archs > d.Device {
		t.Errorf("the architectures have %d of %d bytes, %d of %d expanded", archs, d.Device, expanded, d.Expanded)
	}
}

func TestEveryByte(t *testing.T) {
	data := host()
	files := measured(t, "lib.so", data)
	if len(files) != 1 {
		t.Fatalf("%d files", len(files))
	}
	d := size.New(files)
	check(t, d)
	var names []string
	for _, p := range d.Parts {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	if want := []string{"LTO-IR", "PTX", "SASS", "headers", "other", "padding", "segments", "unreadable"}; !slices.Equal(
		names, want) {
		t.Errorf("parts %q, want %q", names, want)
	}
	if len(d.Problems) != 3 { // two members that are no cubins, and the end of the section
		t.Errorf("problems %q", d.Problems)
	}
	if name := d.Units[0].Name; len(d.Units) != 2 || !strings.HasPrefix(name, "lib.so#") ||
		!strings.HasSuffix(name, "(a.cu)") {
		t.Errorf("units %+v", d.Units)
	}
	// The sections of cubins add up to the cubins.
	var sections int64
	for _, r := range d.Sections {
		sections += r.Bytes
	}
	padded := int64(len(cubinOf("k"))+7) / 8 * 8
	if want := 2*int64(len(cubinOf("k"))) + 2*padded; sections != want {
		t.Errorf("sections have %d bytes, want %d: %v", sections, want, d.Sections)
	}
}

func TestDuplicates(t *testing.T) {
	// Three units with five equal kernels, and one of another architecture.
	object := func(arch int, texts ...string) []byte {
		sections := []objecttest.Section{}
		var symbols []objecttest.Symbol
		for i, text := range texts {
			name := string(rune('a' + i))
			sections = append(sections, objecttest.Section{Name: ".text." + name, Flags: 6, Data: []byte(text)})
			symbols = append(symbols, objecttest.Symbol{Name: name, Info: 1<<4 | 2, Other: 0x10, Section: uint16(i + 1)})
		}
		rows, names := objecttest.Symbols(symbols...)
		sections = append(sections, objecttest.Section{Name: ".strtab", Type: 3, Data: names},
			objecttest.Section{Name: ".symtab", Type: 2, Link: uint32(len(texts) + 1), EntSize: 24, Data: rows})
		return objecttest.ELF(objecttest.ELFFile{Machine: 190, ABIVersion: 8, Flags: uint32(arch)<<8 | 4, Sections: sections})
	}
	var files []*size.File
	for _, data := range [][]byte{object(80, "11", "22", "33", "44", "55"), object(80, "11", "22", "33", "44", "55"),
		object(80, "11", "22", "33", "44", "other"), object(90, "11")} {
		files = append(files, measured(t, "x.cubin", data)...)
	}
	d := size.New(files)
	if got, want := d.Duplicates.Extra, int64(5*2+4*2); got != want || d.Duplicates.Code != 35 {
		t.Errorf("%d of %d bytes are there again, want %d of 35", got, d.Duplicates.Code, want)
	}
	if d.Duplicates.Pieces != int64(len(object(80, "11", "22", "33", "44", "55"))) {
		t.Errorf("pieces: %+v", d.Duplicates)
	}
	for _, k := range d.Kernels {
		if want := map[bool]int{true: 2, false: 1}[k.Name == "e"]; k.Bodies != want {
			t.Errorf("%+v has %d bodies, want %d", k, k.Bodies, want)
		}
	}
}

func TestTemplateNames(t *testing.T) {
	for name, want := range map[string]string{
		"_Z5scaleIdEvPT_S0_": "scale", "_Z5scaleIfEvPT_S0_": "scale", "plain": "plain", "_ZN2ns1kEPf": "ns::k",
		"_ZN2ns1KIiE3runIfEEvT_": "ns::K::run",
	} {
		if got := size.TemplateName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestDocument(t *testing.T) {
	d := size.New(measured(t, "lib.so", host()))
	var text bytes.Buffer
	if err := d.Write(&text); err != nil {
		t.Fatal(err)
	}
	again, err := size.Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	if changes := size.Diff(d, again); len(changes) != 2 || changes[0].By() != 0 || changes[1].By() != 0 {
		t.Errorf("a document differs from itself: %v", changes)
	}
	if _, err := size.Read(strings.NewReader(`{"format": 99}`)); err == nil {
		t.Error("a document of another version is read")
	}
}

func FuzzMeasure(f *testing.F) {
	f.Add(host())
	f.Add(cubinOf("k"))
	f.Add(objecttest.Archive(objecttest.File{Name: "a", Data: host()}))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := size.New(measured(t, "x", data))
		check(t, d)
		d.WriteText(&bytes.Buffer{}, size.Tables, 0)
	})
}
