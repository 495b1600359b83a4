//go:build realtools

package merger

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/merge/device"
	"github.com/warpld/warpld/internal/object/elf64"
)

// TestMended links what nvlink breaks: equal constants of two files, of which it keeps
// one, while code still reads both. Ours is nvlink's unless it is asked to mend the
// program, and says so.
func TestMended(t *testing.T) {
	forEachSetting(t, func(t *testing.T, s setting) {
		p := program{names: []string{"equal_constants5", "equal_constants6", "equal_constants3"},
			options: []string{"-kernels-used=eqk"}}
		built := s.buildAll(t, p.names)
		s.compare(t, p, built)
		for _, mend := range []bool{false, true} {
			out, err := s.mergeWith(t, p, built, func(o *device.Options) { o.FixNvlinkBugs = mend })
			if unknown := new(device.Unsupported); errors.As(err, &unknown) {
				return // s.compare counted it
			} else if err != nil {
				t.Fatal(err)
			}
			var warned []string
			for _, m := range out.Messages {
				warned = append(warned, strings.Join(append(m.Notes, m.Hint), "\n"))
			}
			broken := strings.Join(warned, "\n")
			if mend != (broken == "") {
				t.Errorf("mend: %v; warnings: %s", mend, broken)
			}
			for name, want := range map[string]uint32{"eqFifth": 7, "eqSixth": 7, "eqThird": 18, "eqFourth": 7} {
				right := constant(t, out.Cubin, name) == want
				if right == strings.Contains(broken, name) {
					t.Errorf("mend: %v, the value of %s is right: %v; warnings: %s", mend, name, right, broken)
				}
				if mend && !right {
					t.Errorf("%s has another value", name)
				}
			}
		}
	})
}

// constant gives the first word of a variable.
func constant(t *testing.T, code []byte, name string) uint32 {
	t.Helper()
	f := parse(t, code)
	for _, y := range f.symbols {
		if y.Type == elf64.Object && strings.HasSuffix(y.Name, name) {
			data := f.bytes(y.Section)
			if y.Value+4 > uint64(len(data)) {
				return 0 // read past the end
			}
			return binary.LittleEndian.Uint32(data[y.Value:])
		}
	}
	t.Fatalf("no variable %s", name)
	return 0
}
