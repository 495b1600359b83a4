// hostref: kernel/device/constant x extern/static linkage, used and unused by host
#include <cuda_runtime.h>
__global__ void k_ext_used(int *p) { *p = 1; }
__global__ void k_ext_unused(int *p) { *p = 2; }
static __global__ void k_int_used(int *p) { *p = 3; }
static __global__ void k_int_unused(int *p) { *p = 4; }
__device__ int d_ext_used;
__device__ int d_ext_unused;
__device__ int d_ext_devused;
static __device__ int d_int_used;
static __device__ int d_int_unused;
__constant__ int c_ext_used;
__constant__ int c_ext_unused;
__constant__ int c_ext_devused;
static __constant__ int c_int_used;
static __constant__ int c_int_unused;
__global__ void k_devuse(int *p) { *p = d_ext_devused + c_ext_devused; }
void f() {
  int x = 0;
  k_ext_used<<<1, 1>>>(0);
  k_int_used<<<1, 1>>>(0);
  k_devuse<<<1, 1>>>(0);
  cudaMemcpyToSymbol(d_ext_used, &x, 4);
  cudaMemcpyToSymbol(d_int_used, &x, 4);
  cudaMemcpyToSymbol(c_ext_used, &x, 4);
  cudaMemcpyToSymbol(c_int_used, &x, 4);
}
