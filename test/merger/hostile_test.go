//go:build realtools

package merger

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/warpld/warpld/internal/merge/device"
	"github.com/warpld/warpld/internal/object/arch"
	"github.com/warpld/warpld/internal/object/cubin"
)

// mutations is how many damaged inputs there are for every target.
const mutations = 2500

// damage changes a few bytes, or words as lengths and indices are.
func damage(r *rand.Rand, file []byte) []byte {
	data := slices.Clone(file)
	for range 1 + r.IntN(3) {
		at := r.IntN(len(data)-8) &^ 3
		switch r.IntN(3) {
		case 0:
			data[at] = byte(r.IntN(256))
		case 1:
			binary.LittleEndian.PutUint32(data[at:], []uint32{0, 1, 0x7fffffff, 0xffffffff, r.Uint32() % uint32(len(data))}[r.IntN(5)])
		case 2:
			binary.LittleEndian.PutUint64(data[at:], []uint64{0, uint64(len(data)), 1 << 40, ^uint64(0)}[r.IntN(4)])
		}
	}
	return data
}

// TestHostile merges damaged cubins with good ones: whatever comes of it, the
// merger ends soon, and gives a cubin that can be read, or an error and nothing.
func TestHostile(t *testing.T) {
	andMercury(t, func(t *testing.T, s setting) {
		all := []string{"r1_calls", "r2_def", "r4_virt", "r5_shared", "c2a", "w1", "li.a", "g.w2"}
		built := s.buildAll(t, all)
		target, _ := arch.Parse(s.arch)
		release, err := strconv.Atoi(strings.Replace(s.tk.Release(), ".", "", 1))
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(9, 9))
		for i := range mutations {
			good, bad := read(t, built[all[r.IntN(len(all))]]), read(t, built[all[i%len(all)]])
			inputs := []device.Input{{Name: "bad", Cubin: damage(r, bad)}, {Name: "good", Cubin: good}}
			start := time.Now()
			out, err := device.Merge(inputs, device.Options{Arch: target, Toolkit: release, Relocatable: i%3 == 2, Debug: i%4 == 1, Verbose: i%12 == 1})
			switch took := time.Since(start); {
			case took > 30*time.Second:
				t.Errorf("mutation %d: the merge took %v", i, took)
			case err != nil && out != nil:
				t.Errorf("mutation %d: output beside the error %v", i, err)
			case err == nil:
				if _, err := cubin.Parse(out.Cubin); err != nil {
					t.Errorf("mutation %d: the output cannot be read: %v", i, err)
				}
			}
		}
	})
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
