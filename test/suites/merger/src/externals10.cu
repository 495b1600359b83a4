// Kernels that have neither externals nor barriers of their own.
#include <cstdio>
extern "C" {
__device__ __noinline__ int fex10(int x) { printf("%d\n", x); return x; }
__device__ __noinline__ int gex10(int x) { asm volatile("bar.sync 2;" ::: "memory"); return x + 1; }
__global__ void kex10a(int *p) { p[0] = fex10(p[1]) + gex10(p[2]); }
__global__ void kex10b(int *p) { p[0] = gex10(p[1]) + fex10(p[2]); }
__global__ void kex10c(int *p) { p[0] = gex10(p[1]); }
}
