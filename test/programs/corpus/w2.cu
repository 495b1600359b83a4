// w2: see w1
#include <cstdio>
template <int N> __device__ __noinline__ int wt(int x) { return x * N + 1; }
static __device__ int sv = 2;
static __device__ __noinline__ int sf(int x) { return x - sv; }
extern __shared__ double dynB[];
__device__ __noinline__ int common(int x) {
  __shared__ int cs[100];
  cs[threadIdx.x] = x;
  __syncthreads();
  return cs[threadIdx.x ^ 1];
}
__global__ void kw2(int *p) {
  __shared__ double s2[50];
  s2[threadIdx.x] = p[0];
  __syncthreads();
  printf("same %d\n", wt<3>(p[0]));
  sv += p[3];
  p[1] = sf(p[2]) + dynB[p[0]] + common(s2[p[1]]);
}
