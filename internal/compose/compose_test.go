package compose

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/warpld/warpld/internal/compose/units"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/cubin/layout"
	"github.com/warpld/warpld/internal/object/elf64"
)

// A built section is one of a file that tests compose.
type built struct {
	row  layout.Row
	name string
	data []byte
}

// A builder makes files as ptxas orders them, for sm_80 and 13.0.
type builder struct {
	names, strings *layout.Strings
	list           []built
	index          map[string]uint32
	symbols        []byte
}

func (b *builder) section(name string, row layout.Row, data []byte) {
	b.index[name] = uint32(layout.FirstIndex + len(b.list))
	b.list = append(b.list, built{row, name, data})
}

func (b *builder) symbol(name string, info byte, section string) uint32 {
	b.strings.Add(name)
	row := make([]byte, elf64.SymbolSize)
	le.PutUint32(row, b.strings.Offset[name])
	row[4] = info
	le.PutUint16(row[6:], uint16(b.index[section]))
	b.symbols = append(b.symbols, row...)
	return uint32(len(b.symbols)/elf64.SymbolSize - 1)
}

func note(kind uint32, desc []byte) []byte {
	b := le.AppendUint32(nil, 12)
	b = le.AppendUint32(le.AppendUint32(b, uint32(len(desc))), kind)
	return append(append(b, "NVIDIA Corp\x00"...), desc...)
}

// build returns a file with kernels in this order.
func build(kernels ...string) []byte {
	b := &builder{names: layout.NewStrings(), strings: layout.NewStrings(), index: map[string]uint32{},
		symbols: make([]byte, elf64.SymbolSize)}
	b.nameAll(kernels)
	const ofFile, infoLink, isCode = elf64.Alloc, elf64.InfoLink, elf64.Alloc | elf64.Exec
	b.section(".note.nv.tkinfo", layout.Row{Type: elf64.Note, Flags: cubin.SHF_NOTE_NV_TKINFO, Align: 4},
		note(2000, slices.Concat([]byte{2}, make([]byte, 27))))
	b.section(".note.nv.cuinfo", layout.Row{Type: elf64.Note, Flags: cubin.SHF_NOTE_NV_CUINFO, Align: 4, Link: 4},
		note(1000, []byte{2, 0, 80, 0, 130, 0, 0, 0}))
	b.section(".nv.info", layout.Row{Type: cubin.SHT_CUDA_INFO, Align: 4, Link: 3}, nil)
	code := uint32(layout.FirstIndex + 4 + 2*len(kernels))
	for i, k := range kernels {
		row := cubin.Row{Format: cubin.EIFMT_HVAL, Attribute: cubin.EIATTR_MAXREG_COUNT, Value: 255}
		b.section(".nv.info."+k, layout.Row{Type: cubin.SHT_CUDA_INFO, Flags: infoLink, Align: 4, Link: 3,
			Info: code + uint32(i)}, row.Append(nil))
	}
	b.section(".nv.callgraph", layout.Row{Type: cubin.SHT_CUDA_CALLGRAPH, Align: 4, Link: 3, Entry: 8}, nil)
	for i, k := range kernels {
		b.section(bank0+k, layout.Row{Type: elf64.ProgBits, Flags: ofFile | infoLink, Align: 4, Info: code + uint32(i)},
			make([]byte, 352+8*len(k)))
	}
	for _, k := range kernels {
		b.section(".text."+k, layout.Row{Type: elf64.ProgBits, Flags: isCode, Align: 128, Link: 3},
			bytes.Repeat([]byte(k), 64))
	}
	b.fill(kernels)
	return b.bytes(kernels)
}

// nameAll makes the string tables.
func (b *builder) nameAll(kernels []string) {
	add := func(name string) {
		b.names.Add(name)
		b.strings.Add(name)
	}
	for _, name := range []string{".shstrtab", ".strtab", ".symtab", ".symtab_shndx", ".note.nv.tkinfo",
		".note.nv.cuinfo", ".nv.info"} {
		add(name)
	}
	for _, k := range kernels {
		add(".text." + k)
		add(".nv.info." + k)
		add(bank0 + k)
	}
	add(".debug_frame")
	add(".nv.callgraph")
}

// fill makes the symbols and the tables that refer to them.
func (b *builder) fill(kernels []string) {
	const isSection, isKernel = 3, 1<<4 | 2
	for _, name := range []string{".note.nv.tkinfo", ".note.nv.cuinfo"} {
		b.symbol(name, isSection, name)
	}
	for _, k := range kernels {
		b.symbol(".text."+k, isSection, ".text."+k)
	}
	var info, stacks []byte
	for _, k := range kernels {
		y := b.symbol(k, isKernel, ".text."+k)
		word := le.AppendUint32(le.AppendUint32(nil, y), 8)
		row := cubin.Row{Format: cubin.EIFMT_SVAL, Attribute: cubin.EIATTR_REGCOUNT, Value: 8, Data: word}
		info = append(row.Append(nil), info...)
		row.Attribute = cubin.EIATTR_MIN_STACK_SIZE
		stacks = row.Append(stacks)
		b.list[b.index[".text."+k]-layout.FirstIndex].row.Info = 8<<24 | y
	}
	b.list[b.index[".nv.info"]-layout.FirstIndex].data = append(info, stacks...)
	var calls []byte
	for g := range callGroups {
		calls = le.AppendUint32(le.AppendUint32(calls, 0), uint32(-int32(g+1)))
	}
	b.list[b.index[".nv.callgraph"]-layout.FirstIndex].data = calls
}

// bytes lays the file out.
func (b *builder) bytes(kernels []string) []byte {
	tables := []built{{}, {layout.Row{Type: elf64.Strtab, Align: 1}, ".shstrtab", b.names.Data},
		{layout.Row{Type: elf64.Strtab, Align: 1}, ".strtab", b.strings.Data},
		{layout.Row{Type: elf64.Symtab, Align: 8, Entry: elf64.SymbolSize, Link: 2, Info: uint32(3 + len(kernels))},
			".symtab", b.symbols}}
	file, rows := make([]byte, elf64.HeaderSize), []layout.Row(nil)
	for i, s := range append(tables, b.list...) {
		if i > 0 {
			file = append(file, make([]byte, layout.AlignUp(uint64(len(file)), s.row.Align)-uint64(len(file)))...)
			s.row.Name, s.row.Offset, s.row.Size = b.names.Offset[s.name], uint64(len(file)), uint64(len(s.data))
			file = append(file, s.data...)
		}
		rows = append(rows, s.row)
	}
	file = append(file, make([]byte, layout.AlignUp(uint64(len(file)), 8)-uint64(len(file)))...)
	table := uint64(len(file))
	programs := table + uint64(len(rows))*elf64.SectionSize
	segments := layout.Segments(rows, programs)
	file = append(file, make([]byte, uint64(len(rows))*elf64.SectionSize+uint64(len(segments))*elf64.SegmentSize)...)
	for i := range rows {
		rows[i].Put(file[table+uint64(i)*elf64.SectionSize:])
	}
	for i := range segments {
		segments[i].Put(file[programs+uint64(i)*elf64.SegmentSize:])
	}
	h := layout.Header{Type: elf64.Executable, Arch: 80, Flags: 4, Note: b.index[".note.nv.cuinfo"], Table: table,
		Segments: programs, Sections: len(rows), Programs: len(segments)}
	h.Put(file)
	return file
}

// programOf is a program with these kernels, of which each unit has as many as numbers say.
func programOf(kernels []string, numbers ...int) *units.Program {
	p := &units.Program{}
	for i, n := range numbers {
		u := units.Unit{}
		for range n {
			u.Kernels = append(u.Kernels, len(p.Kernels))
			p.Kernels = append(p.Kernels, units.Kernel{Name: kernels[len(p.Kernels)], Unit: i})
		}
		p.Units = append(p.Units, u)
	}
	return p
}

func TestCompose(t *testing.T) {
	kernels := []string{"third", "second", "first", "info"}
	want := build(kernels...)
	for _, cut := range [][]int{{4}, {1, 1, 1, 1}, {2, 2}, {1, 3}} {
		var files [][]byte
		left := kernels
		for _, n := range cut {
			files, left = append(files, build(left[:n]...)), left[n:]
		}
		got, err := Compose(programOf(kernels, cut...), files)
		if err != nil {
			t.Errorf("%v: %v", cut, err)
			continue
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%v: another file of %d bytes, want %d", cut, len(got), len(want))
		}
	}
}

// Files that don't fit together are refused.
func TestRefused(t *testing.T) {
	kernels := []string{"a", "b"}
	p := programOf(kernels, 1, 1)
	a, b := build("a"), build("b")
	changed := func(file []byte, from, to string) []byte {
		return bytes.Replace(file, []byte(from), []byte(to), 1)
	}
	for _, test := range []struct {
		name   string
		files  [][]byte
		reason Reason
	}{
		{"a file too few", [][]byte{a}, Mismatch},
		{"no file", [][]byte{a, nil}, Damaged},
		{"half a file", [][]byte{a, b[:len(b)/2]}, Damaged},
		{"another kernel", [][]byte{a, build("c")}, UnknownSection},
		{"the wrong unit", [][]byte{b, a}, MissingKernel},
		{"another tool", [][]byte{a, changed(b, "NVIDIA Corp", "NVIDIA Inc.")}, Disagree},
		{"another release", [][]byte{changed(a, "\x50\x00\x82\x00", "\x50\x00\x10\x00"), b}, Target},
		{"an unknown section", [][]byte{a, changed(b, ".nv.callgraph", ".nv.something")}, UnknownSection},
		{"an unknown attribute", [][]byte{a, changed(b, "\x03\x1b\xff\x00", "\x03\xee\xff\x00")}, UnknownAttribute},
	} {
		_, err := Compose(p, test.files)
		var r *Refused
		if !errors.As(err, &r) || r.Reason != test.reason {
			t.Errorf("%s: %v, want %q", test.name, err, test.reason)
		}
	}
}

func FuzzCompose(f *testing.F) {
	f.Add(build("a"), build("b"))
	f.Add(build("a", "b"), []byte(nil))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		p := programOf([]string{"a", "b"}, 1, 1)
		files := [][]byte{first, second}
		if len(second) == 0 {
			p, files = programOf([]string{"a", "b"}, 2), files[:1]
		}
		file, err := Compose(p, files)
		var r *Refused
		if err != nil && !errors.As(err, &r) {
			t.Errorf("an error that is no refusal: %v", err)
		}
		if len(file) > 64*(len(first)+len(second)) {
			t.Errorf("a file of %d bytes from %d and %d", len(file), len(first), len(second))
		}
	})
}

// BenchmarkCompose composes 512 kernels, one a unit.
func BenchmarkCompose(b *testing.B) {
	var kernels []string
	var files [][]byte
	numbers := make([]int, 512)
	for i := range numbers {
		numbers[i] = 1
		kernels = append(kernels, string([]byte{'k', byte('a' + i/26/26), byte('a' + i/26%26), byte('a' + i%26)}))
		files = append(files, build(kernels[i]))
	}
	p := programOf(kernels, numbers...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compose(p, files); err != nil {
			b.Fatal(err)
		}
	}
}
