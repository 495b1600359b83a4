//go:build realtools

package merger

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/merge/device"
	"github.com/warpld/warpld/internal/object/elf64"
)

// weakTables is a file of which the variables are weak, as those of a header are, but for
// two. NUMBER is that of the file.
const weakTables = `
template <class T> __device__ T slots[1000];
template <class T> __constant__ T factor = 3;
inline __constant__ int table[10240] = {1, 2, 3};
inline __device__ int *const entry = &slots<int>[3];
inline __device__ int weights[100000] = {4, 5, 6};
static __device__ int mine = NUMBER;
static __constant__ int own[5] = {NUMBER, 1};
extern "C" __global__ void kNUMBER(int *p) {
	*p = table[p[1]] + factor<int> * slots<int>[p[2]] + weights[p[3]] + mine++ + own[p[4]] + *entry;
}`

// TestWeakDataOnce links files with the same tables. They are there once in ours, and as
// often as there are files in nvlink's, unless they are constants that do not fit
// then. The code is nvlink's but for addresses, which are right, and so are all values.
func TestWeakDataOnce(t *testing.T) {
	const files, large, one = 4, 300_000, 100_000 * 4
	forEachSetting(t, func(t *testing.T, s setting) {
		var p program
		built := map[string]string{}
		for i := range files {
			name := fmt.Sprintf("tables%d", i)
			p.names = append(p.names, name)
			built[name] = s.compileText(t, name, bytes.ReplaceAll([]byte(weakTables), []byte("NUMBER"), fmt.Append(nil, i)))
		}
		theirs := s.nvlink(t, p, built).Files["out"]
		var unknown *device.Unsupported
		if _, err := s.mergeWith(t, p, built, func(*device.Options) {}); !errors.As(err, &unknown) {
			t.Errorf("constants of %d files come to more than fit, and the merger says %v", files, err)
		}
		out, err := s.mergeWith(t, p, built, func(o *device.Options) { o.DedupWeakData = true })
		if a, _ := gpu.Parse(s.arch); a.Number >= 100 && errors.As(err, &unknown) {
			return // it leaves nothing out of programs that are there twice
		} else if err != nil {
			t.Fatal(err)
		}
		if saved := len(theirs) - len(out.Cubin); saved < (files-1)*large || out.DedupedBytes < (files-1)*one {
			t.Errorf("the result has %d bytes, nvlink's %d; left out are %d", len(out.Cubin), len(theirs), out.DedupedBytes)
		}
		ours, wanted := parse(t, out.Cubin), parse(t, theirs)
		ours.compareVariables(t, wanted)
		for i, name := range p.names {
			ours.compareCode(t, wanted, parse(t, read(t, built[name])), fmt.Sprintf(".text.k%d", i))
		}
		counted.add(s, "weak data once: nvlink's code and values")
	})
}

// compileText compiles a source that is in no file.
func (s setting) compileText(t *testing.T, name string, text []byte) string {
	t.Helper()
	source := filepath.Join(t.TempDir(), name+".cu")
	if err := os.WriteFile(source, text, 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), name+".cubin")
	if err := s.compile(source, out, []string{"-w", "-arch=" + s.arch, "-rdc=true", "-cubin"}); err != nil {
		t.Fatal(err)
	}
	return out
}

// compareVariables wants the same values, and the same pointers in them.
func (p *parsed) compareVariables(t *testing.T, want *parsed) {
	t.Helper()
	const pointers = ".rela.nv.global.init"
	for _, y := range want.symbols {
		if y.Type != elf64.Object || y.Section == elf64.Undefined {
			continue
		}
		got := p.symbol(t, y.Name)
		if a, b := p.bytes(got.Section)[got.Value:][:got.Size], want.bytes(y.Section)[y.Value:][:y.Size]; !bytes.Equal(a,
			b) {
			t.Errorf("%s has another value", y.Name)
		}
	}
	for _, f := range []*parsed{p, want} {
		rows := f.bytes(uint32(f.section(t, pointers).Index))
		if at, entry := binary.LittleEndian.Uint64(rows), f.symbol(t, "entry"); at != entry.Value || len(rows) != 24 {
			t.Errorf("%d bytes of pointers, the first one at %d; entry is at %d", len(rows), at, entry.Value)
		}
	}
}

// addresses are the fields of instructions that get an address: first bit, width, unit.
var addresses = map[uint32][3]uint64{55: {32, 32, 1}, 59: {32, 16, 1}, 64: {40, 14, 4}, 66: {38, 16, 1},
	74: {40, 24, 1}}

// compareCode wants the same instructions but for addresses, which must be those of the
// variables that the input names.
func (p *parsed) compareCode(t *testing.T, want, input *parsed, name string) {
	t.Helper()
	le := binary.LittleEndian
	ours := bytes.Clone(p.bytes(uint32(p.section(t, name).Index)))
	theirs := bytes.Clone(want.bytes(uint32(want.section(t, name).Index)))
	seen := 0
	for i := range input.file.Sections {
		rows := &input.file.Sections[i]
		if rows.Name != ".rel"+name && rows.Name != ".rela"+name {
			continue
		}
		for b := input.bytes(uint32(i)); len(b) > 0; b = b[rows.EntSize:] {
			field, ok := addresses[le.Uint32(b[8:])]
			if !ok {
				continue
			}
			seen++
			at, variable := le.Uint64(b), input.symbols[le.Uint32(b[12:])].Name
			mask := uint64(1)<<field[1] - 1
			if got, want := le.Uint64(ours[at:])>>field[0]&mask*field[2], p.symbol(t, variable).Value; got != want {
				t.Errorf("%s at %#x: %s is at %#x, the code has %#x", name, at, variable, want, got)
			}
			for _, code := range [][]byte{ours, theirs} {
				le.PutUint64(code[at:], le.Uint64(code[at:])&^(mask<<field[0]))
			}
		}
	}
	if seen == 0 {
		t.Errorf("%s has no address of a constant", name)
	}
	if !bytes.Equal(ours, theirs) {
		t.Errorf("%s has other instructions", name)
	}
}
