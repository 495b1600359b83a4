package cubin

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/warpld/warpld/internal/object/elf64"
)

// Types of the symbols of texture, sampler and surface references.
const (
	STT_CUDA_TEXTURE elf64.SymbolType = 10
	STT_CUDA_SAMPLER elf64.SymbolType = 11
	STT_CUDA_SURFACE elf64.SymbolType = 12
)

// Images are how many texture, surface and sampler references a kernel uses. Objects of
// these kinds are values that a kernel is given, which nobody counts.
type Images struct{ Textures, Surfaces, Samplers int }

func (i *Images) add(t elf64.SymbolType) {
	switch t {
	case STT_CUDA_TEXTURE:
		i.Textures++
	case STT_CUDA_SURFACE:
		i.Surfaces++
	case STT_CUDA_SAMPLER:
		i.Samplers++
	}
}

func isImage(t elf64.SymbolType) bool {
	return t == STT_CUDA_TEXTURE || t == STT_CUDA_SAMPLER || t == STT_CUDA_SURFACE
}

// readImages counts the references of each kernel: relocations of its code, or of its
// parameters once it is linked.
func (f *File) readImages(symbols *elf64.SymbolTable, byName map[string]int, list []Resources) error {
	if !hasImages(symbols) {
		return nil
	}
	type use struct{ kernel, symbol int }
	seen := map[use]bool{}
	unread := uint64(f.Size())
	for i := range f.Sections {
		s := &f.Sections[i]
		kernel, found := f.relocatedKernel(s, byName)
		if !found {
			continue
		}
		if s.Size > unread { // many sections of the same bytes
			return &elf64.Error{Part: "section " + s.Name, Err: fmt.Errorf("%w: overlaps others", elf64.ErrFormat)}
		}
		unread -= s.Size
		rows, err := f.Data(s, maxRelocations)
		if err != nil {
			return err
		}
		size := elf64.RelaSize
		if s.Type == elf64.Rel {
			size = elf64.RelSize
		}
		for ; len(rows) >= size; rows = rows[size:] {
			u := use{kernel, int(binary.LittleEndian.Uint32(rows[12:]))}
			if u.symbol < symbols.Len() && !seen[u] {
				seen[u] = true
				list[kernel].Images.add(symbols.At(u.symbol).Type)
			}
		}
	}
	return nil
}

func hasImages(symbols *elf64.SymbolTable) bool {
	for _, y := range symbols.All() {
		if isImage(y.Type) {
			return true
		}
	}
	return false
}

// relocatedKernel returns the kernel whose code or parameters the relocations are for.
func (f *File) relocatedKernel(s *elf64.Section, byName map[string]int) (kernel int, found bool) {
	if (s.Type != elf64.Rela && s.Type != elf64.Rel) || uint64(s.Info) >= uint64(len(f.Sections)) {
		return 0, false
	}
	for _, prefix := range []string{".text.", constantPrefix + "0."} {
		if name, ok := strings.CutPrefix(f.Sections[s.Info].Name, prefix); ok {
			kernel, found = byName[name]
			return kernel, found
		}
	}
	return 0, false
}
