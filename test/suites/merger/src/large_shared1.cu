// Functions whose shared memory fits one by one but not together.
#define MEMORY(n, size) __device__ __noinline__ int n(int x) { __shared__ int v[size]; v[x] = x; __syncthreads(); return v[x + 1]; }
extern "C" {
MEMORY(large1, 11000)
MEMORY(larger1, 11000)
__global__ void klarge1(int *p) { p[0] = large1(p[1]) + larger1(p[2]); }
__global__ void klarger1(int *p) { p[0] = larger1(p[2]); }
}
