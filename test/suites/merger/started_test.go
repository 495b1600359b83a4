//go:build realtools

package merger

import "testing"

// starts has kernels that no host code launches: one that calls a function, one with shared
// memory, and others that call functions with such memory.
const starts = `
__device__ __noinline__ int called(int x) { int a[9]; for (int i = 0; i < 9; i++) a[i] = x * i; return a[x & 7]; }
extern "C" __global__ void started(int *p) { *p = called(*p); }
__device__ __noinline__ int staged(int *p) { __shared__ int s[33]; s[*p] = *p; __syncthreads(); return s[*p & 31]; }
extern "C" __global__ void staging(int *p) { __shared__ double s[9]; s[*p] = 1; __syncthreads(); *p = s[p[1]]; }
__device__ __noinline__ int larger(int *p) { __shared__ int s[99]; s[*p] = *p; __syncthreads(); return s[*p & 31]; }
__device__ __noinline__ int dynamic(int *p) { extern __shared__ int s[]; s[*p] = *p; __syncthreads(); return s[1]; }
extern "C" __global__ void first(int *p) { *p = staged(p); }
extern "C" __global__ void second(int *p) { *p = larger(p); }
extern "C" __global__ void third(int *p) { *p = dynamic(p); }
extern "C" __global__ void starting(int *p) {
    started<<<1, 1>>>(p);
    staging<<<1, 1>>>(p);
    first<<<1, 1>>>(p);
    second<<<1, 1>>>(p);
    third<<<1, 1>>>(p);
}
extern "C" __global__ void other(int *p) { *p = 2; }
`

// TestStarted links a program whose host code launches kernels of which one starts
// others: these stay with all that they call, and nvlink is not needed to know it. What is
// launched follows from host references, or is named by an option.
func TestStarted(t *testing.T) {
	forEachSetting(t, func(t *testing.T, s setting) {
		built := map[string]string{"starts": s.compileText(t, "starts", []byte(starts)), "runtime": s.runtime(t)}
		names := []string{"starts", "runtime"}
		for _, p := range []program{
			{names: names, launched: map[string][]string{"starts": {"starting", "other"}}},
			{names: names, options: []string{"-kernels-used=starting,other"}},
			{names: names, options: []string{"-kernels-used=t*ting,*the*"}},
		} {
			if got := s.own(t, p, built); got.reason != "" {
				t.Fatalf("%v: the merger does not know %s", p, got.reason)
			}
			s.compare(t, p, built)
		}
	})
}
