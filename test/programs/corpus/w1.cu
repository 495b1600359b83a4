// w1, w2: the same template function, static names and strings in both; extern shared arrays of different
// types; static shared memory in a function that both call
#include <cstdio>
template <int N> __device__ __noinline__ int wt(int x) { return x * N + 1; }
static __device__ int sv = 1;
static __device__ __noinline__ int sf(int x) { return x + sv; }
extern __shared__ int dynA[];
__device__ __noinline__ int common(int x);
__global__ void kw1(int *p) {
  __shared__ int s1[10];
  s1[threadIdx.x] = p[0];
  __syncthreads();
  printf("same %d\n", wt<3>(p[0]));
  sv += p[3];
  p[1] = sf(p[2]) + dynA[p[0]] + common(s1[p[1]]);
}
