package merge

import (
	"slices"
	"testing"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/merge/device"
	"github.com/warpld/warpld/internal/object/fatbin"
	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/internal/object/objecttest"
)

// TestInputs wants host references only of host objects that have them: nvlink
// removes no kernels if an input comes without.
func TestInputs(t *testing.T) {
	code := objecttest.Cubin(objecttest.CubinFile{Arch: 80})
	fat := fatbin.Stored(code, gpu.Arch{Number: 80})
	refs := &hostelf.HostRefs{Kernels: hostelf.Refs{External: []string{"k*"}, Internal: []string{"s*"}}}
	for _, test := range []struct {
		name     string
		data     []byte
		host     device.HostSide
		launched []string
		id       string
	}{
		{"part-00000.cubin", code, device.HostUnknown, nil, ""},
		{"part-00001-cudadevrt.fatbin", fat, device.HostUnknown, nil, ""},
		{"part-00002.o", hostelf.Carry(fat, "_2", nil), device.HostUnknown, nil, "_2"},
		{"part-00003.o", hostelf.Carry(fat, "_3", refs), device.HostKnown, []string{"k*"}, "_3"},
	} {
		in, id, err := inputOf(test.name, test.data)
		if err != nil || in.Host != test.host || !slices.Equal(in.LaunchedExternal, test.launched) || id != test.id ||
			!slices.Equal(in.Cubin[:len(code)], code) {
			t.Errorf("%s: %+v %q %v", test.name, in, id, err)
		}
		if want := test.id == "" && test.name != "part-00000.cubin"; in.Runtime != want {
			t.Errorf("%s: is the device runtime: %v", test.name, in.Runtime)
		}
	}
}
