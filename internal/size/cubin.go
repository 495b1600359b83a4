package size

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"unique"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// Classes of bytes of a cubin that are no sections.
const (
	classHeaders = "ELF headers"
	classPadding = "padding"
)

const textClass = ".text"

// intern returns a copy of a name of which there is only one: names are parts of tables,
// all of which would stay in memory, and the same for each architecture.
func intern(name string) string { return unique.Make(name).Value() }

// dissect accounts for every byte of a cubin: by class of section, and by function.
func (p *Piece) dissect(data []byte) error {
	f, err := cubin.Parse(data)
	if err != nil {
		return err
	}
	p.Arch, p.Relocatable = f.Arch, f.Relocatable()
	symbols, err := f.Symbols()
	if err != nil {
		return err
	}
	functions, err := functionsOf(f, symbols)
	if err != nil {
		return err
	}
	if p.Relocatable {
		p.Needs = needs(symbols)
	}
	p.Bytes = map[string]int64{}
	at := map[string]*Function{}
	for i := range functions {
		at[functions[i].Name] = &functions[i]
	}
	for _, s := range extents(f, data) {
		p.Bytes[intern(s.class)] += s.size
		if fn := at[s.function]; fn == nil {
			continue
		} else if s.class == textClass {
			fn.Code += s.size
			sum := sha256.Sum256(data[s.start : s.start+s.size])
			fn.Digest = [16]byte(sum[:])
		} else {
			fn.Data += s.size
		}
	}
	p.Functions = functions
	return nil
}

// functionsOf returns the functions that have a section of their own, in the order of
// their symbols.
func functionsOf(f *cubin.File, symbols *elf64.SymbolTable) ([]Function, error) {
	resources, err := f.Resources()
	if err != nil {
		return nil, err
	}
	kernels := map[string]*cubin.Resources{}
	for i := range resources {
		kernels[resources[i].Kernel] = &resources[i]
	}
	var list []Function
	seen := map[string]bool{}
	for _, y := range symbols.All() {
		own := y.Type == elf64.Function && y.Section != elf64.Undefined && uint64(y.Section) < uint64(len(f.Sections)) &&
			f.Sections[y.Section].Name == textClass+"."+y.Name
		if !own || seen[y.Name] {
			continue
		}
		seen[y.Name] = true
		fn := Function{Name: intern(y.Name), Kernel: cubin.IsKernel(y), Weak: y.Binding == elf64.Weak,
			Local: y.Binding == elf64.Local || isInternal(y.Name)}
		if r := kernels[y.Name]; r != nil && fn.Kernel {
			r.Kernel = fn.Name
			fn.Resources = r
			fn.Params = int64(r.Params)
		}
		list = append(list, fn)
	}
	return list, nil
}

// needs returns the functions that are called and not defined.
func needs(symbols *elf64.SymbolTable) (names []string) {
	for _, y := range symbols.All() {
		if y.Type == elf64.Function && y.Section == elf64.Undefined && y.Name != "" && y.Binding == elf64.Global {
			names = append(names, intern(y.Name))
		}
	}
	return names
}

// An extent is a part of a cubin.
type extent struct {
	start, size     int64
	class, function string
}

// extents returns parts that cover the cubin without overlapping. Where sections overlap,
// the bytes belong to the one that begins first.
func extents(f *cubin.File, data []byte) []extent {
	const tableOffset, segmentOffset = 40, 32
	size := int64(len(data))
	all := []extent{{0, elf64.HeaderSize, classHeaders, ""}}
	le := binary.LittleEndian
	add := func(start, length uint64, class, function string) {
		if start <= uint64(size) && length <= uint64(size)-start && length > 0 {
			all = append(all, extent{int64(start), int64(length), class, function})
		}
	}
	add(le.Uint64(data[tableOffset:]), uint64(len(f.Sections))*elf64.SectionSize, classHeaders, "")
	add(le.Uint64(data[segmentOffset:]), uint64(f.ProgramCount)*elf64.SegmentSize, classHeaders, "")
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Type == elf64.Null || s.Type == elf64.NoBits || s.Type == cubin.SHT_CUDA_GLOBAL ||
			s.Type == cubin.SHT_CUDA_SHARED || s.Type == cubin.SHT_CUDA_RESERVED_SHARED {
			continue
		}
		class, function := classify(s.Name)
		add(s.Offset, s.Size, class, function)
	}
	slices.SortStableFunc(all, func(a, b extent) int { return cmp.Compare(a.start, b.start) })
	var list []extent
	end := int64(0)
	for _, e := range all {
		if e.start > end {
			list = append(list, extent{end, e.start - end, classPadding, ""})
			end = e.start
		}
		if past := end - e.start; past > 0 {
			e.start, e.size = end, e.size-past
		}
		if e.size > 0 {
			list = append(list, e)
			end = e.start + e.size
		}
	}
	if end < size {
		list = append(list, extent{end, size - end, classPadding, ""})
	}
	return list
}

// perFunction are the classes of sections that belong to one function each, whose name
// follows.
var perFunction = []string{".text.", ".nv.info.", ".nv.shared.", ".nv.local."}

// classify returns what a section is for, and the function that it belongs to, or "".
// Names of Mercury code and of relocations have a prefix: .nv.merc.rela.text.f.
func classify(name string) (class, function string) {
	rest := name
	for _, prefix := range []string{".nv.merc", ".nv.capmerc", ".rela", ".rel"} {
		if cut, ok := strings.CutPrefix(rest, prefix); ok && strings.HasPrefix(cut, ".") {
			rest = cut
		}
	}
	front := name[:len(name)-len(rest)]
	for _, prefix := range perFunction {
		if function, ok := strings.CutPrefix(rest, prefix); ok {
			return front + strings.TrimSuffix(prefix, "."), function
		}
	}
	if bank, ok := strings.CutPrefix(rest, ".nv.constant"); ok {
		if number, function, ok := strings.Cut(bank, "."); ok {
			return front + ".nv.constant" + number, function
		}
	}
	return name, ""
}

// isDebug reports whether sections of a class hold debug information.
func isDebug(class string) bool {
	for _, prefix := range []string{".nv.merc", ".rela", ".rel"} {
		if rest, ok := strings.CutPrefix(class, prefix); ok {
			class = rest
		}
	}
	return strings.HasPrefix(class, ".debug") || strings.HasPrefix(class, ".nv_debug")
}
