//go:build realtools

package merger

import "testing"

// starts has a kernel that no host code launches, and a function that only this one calls.
const starts = `
__device__ __noinline__ int called(int x) { int a[9]; for (int i = 0; i < 9; i++) a[i] = x * i; return a[x & 7]; }
extern "C" __global__ void started(int *p) { *p = called(*p); }
extern "C" __global__ void starting(int *p) { started<<<1, 1>>>(p); }
extern "C" __global__ void other(int *p) { *p = 2; }
`

// TestStarted links a program whose host code launches kernels of which one starts
// another: that one stays with all that it calls, and nvlink is not needed to know it.
func TestStarted(t *testing.T) {
	forEachSetting(t, func(t *testing.T, s setting) {
		p := program{names: []string{"starts", "runtime"}, launched: map[string][]string{"starts": {"starting", "other"}}}
		built := map[string]string{"starts": s.compileText(t, "starts", []byte(starts)), "runtime": s.runtime(t)}
		if got := s.own(t, p, built); got.reason != "" {
			t.Fatalf("the merger does not know %s", got.reason)
		}
		s.compare(t, p, built)
	})
}
