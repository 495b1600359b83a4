//go:build realtools

package merger

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/merge/device"
	"github.com/warpld/warpld/internal/object/elf64"
)

// TestRelocatableFiles links single files with -r: the result has all that the file has,
// whichever kernels are named.
func TestRelocatableFiles(t *testing.T) {
	forEachSetting(t, func(t *testing.T, s setting) {
		built := s.buildAll(t, names(t))
		for _, p := range singles(t) {
			t.Run(p.String(), func(t *testing.T) {
				part := result(s.mergeWith(t, p, built, func(o *device.Options) {
					o.Relocatable, o.KernelsUsed = true,
						[]string{"none"}
				}))
				if part.reason != "" || part.Exit != 0 {
					return // TestRelink counts them
				}
				want, got := relocatable(t, read(t, built[p.names[0]])), relocatable(t, part.Files["out"])
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("-input +output:\n%s", diff)
				}
				if bytes.Contains(part.Files["out"], []byte(".rel.nv.constant0")) {
					t.Error("there is a name for relocations of bank 0")
				}
			})
		}
	})
}

// relocatable are the symbols of a file that have names of their own, and its calls in
// their order.
func relocatable(t *testing.T, data []byte) (list []string) {
	t.Helper()
	p := parse(t, data)
	f, symbols := p.file, p.symbols
	for _, y := range symbols {
		if y.Type != elf64.SectionSymbol && y.Name != "" {
			list = append(list, fmt.Sprintf("%s binding %d type %d other %#x: %d bytes", y.Name, y.Binding, y.Type, y.Other,
				y.Size))
		}
	}
	slices.Sort(list)
	if calls := f.Section(".nv.callgraph"); calls != nil {
		rows, err := f.Data(calls, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		const direct = 0xffffffff // a row 0, -1 comes before the direct calls
		for group := uint32(0); len(rows) >= 8; rows = rows[8:] {
			from, to := binary.LittleEndian.Uint32(rows), binary.LittleEndian.Uint32(rows[4:])
			if from == 0 {
				group = to
			} else if group == direct {
				list = append(list, symbols[from].Name+" -> "+symbols[to].Name)
			}
		}
	}
	return list
}
