package cubin

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"github.com/warpld/warpld/internal/object/elf64"
)

const maxRelocations = 1 << 28

// References returns for each function and variable the symbols that it refers to, all by
// their places in the symbol table. They come from relocations, of which a linked file has
// few.
func (f *File) References(symbols *elf64.SymbolTable) (map[int][]int, error) {
	owners := map[uint32][]owner{}
	for i, y := range symbols.All() {
		if (y.Section != elf64.Undefined && y.Type == elf64.Function) || f.IsVariable(y) {
			owners[y.Section] = append(owners[y.Section], owner{i, y.Value, y.Value + max(y.Size, 1)})
		}
	}
	for _, list := range owners {
		slices.SortFunc(list, func(a, b owner) int { return cmp.Compare(a.start, b.start) })
	}
	refs := map[int][]int{}
	unread := uint64(f.Size())
	for i := range f.Sections {
		s := &f.Sections[i]
		size := elf64.RelaSize
		switch {
		case len(owners[s.Info]) == 0 || (s.Type != elf64.Rela && s.Type != elf64.Rel):
			continue
		case s.Size > unread: // many sections of the same bytes
			return nil, &elf64.Error{Part: "section " + s.Name, Err: fmt.Errorf("%w: overlaps others", elf64.ErrFormat)}
		case s.Type == elf64.Rel:
			size = elf64.RelSize
		}
		unread -= s.Size
		rows, err := f.Data(s, maxRelocations)
		if err != nil {
			return nil, err
		}
		for ; len(rows) >= size; rows = rows[size:] {
			at, to := binary.LittleEndian.Uint64(rows), int(binary.LittleEndian.Uint32(rows[12:]))
			if from := ownerOf(owners[s.Info], at); from >= 0 && to < symbols.Len() {
				refs[from] = append(refs[from], to)
			}
		}
	}
	for from, list := range refs {
		slices.Sort(list)
		refs[from] = slices.Compact(list)
	}
	return refs, nil
}

// An owner is a symbol and the part of its section that it stands for.
type owner struct {
	symbol     int
	start, end uint64
}

// ownerOf returns the symbol that a place of a section belongs to, or -1.
func ownerOf(owners []owner, place uint64) int {
	at := sort.Search(len(owners), func(i int) bool { return owners[i].start > place }) - 1
	if at < 0 || place >= owners[at].end {
		return -1
	}
	return owners[at].symbol
}
