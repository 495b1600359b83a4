// Everything that clang declares as external, and that a link needs no definition of, or has one.
#include <stdio.h>

extern __device__ int elsewhere;
extern __device__ int perhaps __attribute__((weak));
extern __constant__ int by_host_only;
extern __shared__ int dynamic[];
template <int N>
__device__ int variable = N;
static __device__ int local;
__device__ int *by_host() { return &local; }

extern "C" __global__ void kexterns(int* p) {
  dynamic[threadIdx.x] = *p;
  __syncthreads();
  *p = dynamic[3] + (&perhaps ? perhaps : 0) + variable<3> + *by_host() + elsewhere;
  printf("%d\n", *p);
}

void* host() {
  void* p = nullptr;
  cudaGetSymbolAddress(&p, by_host_only);
  return p;
}
