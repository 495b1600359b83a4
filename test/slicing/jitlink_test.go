//go:build realtools

package slicing

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"github.com/warpld/warpld/internal/engine/clib"
	"github.com/warpld/warpld/internal/slice"
	"github.com/warpld/warpld/test/kit"
)

// TestMergers: nvJitLink merges slices to what nvlink merges them to.
func TestMergers(t *testing.T) {
	forEach(t, func(t *testing.T, tk kit.Toolkit, arch string) {
		hard, large := adversarial(t, tk, arch), newRig(t, tk, arch, generated(t, tk, 16))
		o := large.options()
		o.Size = 96 << 10
		for r, p := range map[*rig]*slice.Plan{hard: hard.plan(hard.oneEach()), large: large.plan(o)} {
			cubins := r.assembleAll(append([][]byte{p.Data()}, r.rewritten(p)...)...)
			want, err := os.ReadFile(r.mergeByNVLink(cubins))
			r.must(err)
			same(t, want, r.mergeByJITLink(cubins))
		}
	})
}

// A jitLink is nvJitLink's functions for a merge, as nvJitLink.h declares them.
type jitLink struct {
	create    func(handle *uintptr, count uint32, options **byte) int32
	addData   func(handle uintptr, kind int32, data *byte, size uint64, name string) int32
	complete  func(handle uintptr) int32
	cubinSize func(handle uintptr, size *uint64) int32
	cubin     func(handle uintptr, buffer *byte) int32
	destroy   func(handle *uintptr) int32
}

// Values of nvJitLinkInputType.
const (
	jitCubin   = 1
	jitLibrary = 6
)

func (r *rig) mergeByJITLink(cubins []string) []byte {
	r.Helper()
	l := &jitLink{}
	r.must(clib.Load(filepath.Join(r.tk.Lib(), "libnvJitLink.so"), map[string]any{
		"nvJitLinkCreate": &l.create, "nvJitLinkAddData": &l.addData, "nvJitLinkComplete": &l.complete,
		"nvJitLinkGetLinkedCubinSize": &l.cubinSize, "nvJitLinkGetLinkedCubin": &l.cubin, "nvJitLinkDestroy": &l.destroy,
	}))
	ok := func(call string, code int32) {
		r.Helper()
		if code != 0 {
			r.Fatalf("%s: %d", call, code)
		}
	}
	var handle uintptr
	options := []string{"-arch=" + r.arch}
	ok("nvJitLinkCreate", l.create(&handle, uint32(len(options)), clib.Strings(options)))
	var inputs [][]byte // the library may keep pointing into them
	add := func(kind int32, path string) {
		r.Helper()
		data, err := os.ReadFile(path)
		r.must(err)
		inputs = append(inputs, data)
		ok("nvJitLinkAddData", l.addData(handle, kind, unsafe.SliceData(data), uint64(len(data)), filepath.Base(path)))
	}
	for _, cubin := range cubins {
		add(jitCubin, cubin)
	}
	if r.runtime {
		add(jitLibrary, filepath.Join(r.tk.Lib(), "libcudadevrt.a"))
	}
	ok("nvJitLinkComplete", l.complete(handle))
	runtime.KeepAlive(inputs)
	var size uint64
	ok("nvJitLinkGetLinkedCubinSize", l.cubinSize(handle, &size))
	linked := make([]byte, size)
	ok("nvJitLinkGetLinkedCubin", l.cubin(handle, &linked[0]))
	ok("nvJitLinkDestroy", l.destroy(&handle))
	return linked
}
