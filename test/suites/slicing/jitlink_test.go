//go:build realtools

package slicing

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/warpld/warpld/internal/engine/clib"
)

// mergeByBoth merges texts by nvlink and by nvJitLink, which must come to the same.
func (r *rig) mergeByBoth(texts ...[]byte) string {
	r.Helper()
	cubins := r.assembleAll(texts...)
	out := r.mergeByNVLink(cubins)
	want, err := os.ReadFile(out)
	r.must(err)
	same(r.T, want, r.mergeByJITLink(cubins))
	return out
}

// jitLinkArgument makes the test's own program merge, because nvJitLink is better
// loaded by a process that does nothing else.
const jitLinkArgument = "merge-by-nvJitLink"

func TestMain(m *testing.M) {
	if len(os.Args) < 5 || os.Args[1] != jitLinkArgument {
		os.Exit(m.Run())
	}
	err := mergeByJITLink(os.Args[2], os.Args[3], os.Args[4], os.Args[5:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (r *rig) mergeByJITLink(cubins []string) []byte {
	r.Helper()
	out := filepath.Join(r.TempDir(), "out.cubin")
	args := append([]string{jitLinkArgument, filepath.Join(r.tk.Lib(), "libnvJitLink.so"), r.arch, out}, cubins...)
	if r.runtime {
		args = append(args, filepath.Join(r.tk.Lib(), "libcudadevrt.a"))
	}
	if said, err := exec.Command(os.Args[0], args...).CombinedOutput(); err != nil {
		r.Fatalf("nvJitLink: %v\n%s", err, said)
	}
	linked, err := os.ReadFile(out)
	r.must(err)
	return linked
}

// A jitLink is nvJitLink's functions for a merge, as nvJitLink.h declares them.
type jitLink struct {
	create    func(handle *uintptr, count uint32, options **byte) int32
	addFile   func(handle uintptr, kind int32, path string) int32
	complete  func(handle uintptr) int32
	cubinSize func(handle uintptr, size *uint64) int32
	cubin     func(handle uintptr, buffer *byte) int32
}

// Values of nvJitLinkInputType.
const (
	jitCubin   = 1
	jitLibrary = 6
)

func mergeByJITLink(library, arch, out string, files []string) error {
	l := &jitLink{}
	if err := clib.Load(library, map[string]any{
		"nvJitLinkCreate": &l.create, "nvJitLinkAddFile": &l.addFile, "nvJitLinkComplete": &l.complete,
		"nvJitLinkGetLinkedCubinSize": &l.cubinSize, "nvJitLinkGetLinkedCubin": &l.cubin,
	}); err != nil {
		return err
	}
	var handle uintptr
	if code := l.create(&handle, 1, clib.Strings([]string{"-arch=" + arch})); code != 0 {
		return fmt.Errorf("nvJitLinkCreate: %d", code)
	}
	for _, file := range files {
		kind := int32(jitCubin)
		if filepath.Ext(file) == ".a" {
			kind = jitLibrary
		}
		if code := l.addFile(handle, kind, file); code != 0 {
			return fmt.Errorf("nvJitLinkAddFile %s: %d", file, code)
		}
	}
	if code := l.complete(handle); code != 0 {
		return fmt.Errorf("nvJitLinkComplete: %d", code)
	}
	var size uint64
	if code := l.cubinSize(handle, &size); code != 0 || size == 0 {
		return fmt.Errorf("nvJitLinkGetLinkedCubinSize: %d, %d bytes", code, size)
	}
	linked := make([]byte, size)
	if code := l.cubin(handle, &linked[0]); code != 0 {
		return fmt.Errorf("nvJitLinkGetLinkedCubin: %d", code)
	}
	return os.WriteFile(out, linked, 0o644)
}
