// As externals10, in another order.
#include <cstdio>
extern "C" {
__device__ __noinline__ int gex11(int x) { asm volatile("bar.sync 2;" ::: "memory"); return x + 1; }
__device__ __noinline__ int fex11(int x) { printf("%d\n", x); return x; }
__global__ void kex11a(int *p) { p[0] = fex11(p[1]) + gex11(p[2]); }
__global__ void kex11b(int *p) { p[0] = gex11(p[1]) + fex11(p[2]); }
}
