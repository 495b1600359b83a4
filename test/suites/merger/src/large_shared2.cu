// Shared memory at the limit of what a block can have on newer targets, and beyond.
#define MEMORY(n, size) __device__ __noinline__ int n(int x) { __shared__ int v[size]; v[x] = x; __syncthreads(); return v[x + 1]; }
extern "C" {
MEMORY(large2, 29000)
MEMORY(larger2, 29057)
__global__ void klarge2(int *p) { p[0] = large2(p[1]) + larger2(p[2]); }
__global__ void klarger2(int *p) { p[0] = larger2(p[2]); }
}
