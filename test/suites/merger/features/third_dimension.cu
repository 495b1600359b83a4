// Kernels that use blockIdx.z only in functions: they get the functions' EIATTR_CTAIDZ_USED, before or after what else
// they get from them.
#include <cstdio>
extern "C" {
__device__ __noinline__ int third(int x) { return x + blockIdx.z; }
__device__ __noinline__ int third_and_barrier(int x) {
  __syncthreads();
  return third(x) * blockIdx.z;
}
__device__ __noinline__ int third_and_printf(int x) { return printf("%d\n", x) + blockIdx.z; }
__global__ void third_called(int *p) { *p = third(*p); }
__global__ void third_own(int *p) { *p = third(blockIdx.z); }
__global__ void third_barrier(int *p) { *p = third_and_barrier(*p); }
__global__ void third_printf(int *p) { *p = third_and_printf(*p) + third_and_barrier(*p); }
__global__ void third_none(int *p) { printf("%d\n", *p); }
}
