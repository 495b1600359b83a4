//go:build realtools

package compare

import (
	"fmt"
	"slices"
	"testing"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/test/kit"
)

// field are programs whose links differed from nvlink's once, reduced to what matters.
// They are for targets since sm_80.
var field = map[string]link{
	"conditional graph node": {inputs: []string{"testdata/conditional.o"}},
	"no device code":         {inputs: []string{"testdata/empty.o"}, merges: true},
	"no device code twice":   {inputs: []string{"testdata/empty.o", "testdata/empty_too.o"}, merges: true},
	"only variables":         {inputs: []string{"testdata/variables.o", "testdata/empty.o"}, merges: true},
	"no kernels left open": {inputs: []string{"testdata/undefined.o"}, options: []string{"-kernels-used=none"},
		merges: true},
	"kernels that device code launches": {inputs: []string{"testdata/starting.o", "testdata/started.o"}, merges: true},
	"kernels that device code launches, named": {inputs: []string{"testdata/started.o", "testdata/starting.o"},
		options: []string{"-kernels-used=other,par*t"}, merges: true},
}

func TestFieldPrograms(t *testing.T) {
	forEachSetting(t, []string{"sm_80", "sm_90", "sm_120"}, func(t *testing.T, s setting) {
		for name, program := range field {
			t.Run(name, func(t *testing.T) { t.Parallel(); s.compare(t, program) })
		}
	})
}

// TestNoKernelsLeft links a program whose only kernels are removed. It is closed all the
// same. For sm_120 libnvvm fails on such programs.
func TestNoKernelsLeft(t *testing.T) {
	forEachSetting(t, []string{"sm_80", "sm_90"}, func(t *testing.T, s setting) {
		t.Parallel()
		s.compare(t, link{inputs: []string{"testdata/conditional.o"}, options: []string{"-kernels-used=none"}})
	})
}

// TestDriverFunctions compares the list of functions that the driver defines with what
// nvlink answers about every name in the toolkit's headers and in libcudadevrt, and about
// names that nobody has.
func TestDriverFunctions(t *testing.T) {
	for _, tk := range kit.Toolkits(t) {
		t.Run(tk.Release(), func(t *testing.T) {
			t.Parallel()
			names, err := tk.FunctionNames()
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, "__cuda_syscall_of_nobody", "cnpOfNobody", "cudaGraphOfNobody", "__nv_of_nobody", "of_nobody")
			defined, err := tk.DriverFunctions(t.TempDir(), names)
			if err != nil {
				t.Fatal(err)
			}
			var release gpu.Release
			if _, err := fmt.Sscanf(tk.Release(), "%d.%d", &release.Major, &release.Minor); err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if ours, theirs := release.DriverDefines(name), slices.Contains(defined, name); ours != theirs {
					t.Errorf("%s: the driver defines it: nvlink %v, warpld %v", name, theirs, ours)
				}
			}
			t.Logf("%d of %d names are functions of the driver", len(defined), len(names))
		})
	}
}
