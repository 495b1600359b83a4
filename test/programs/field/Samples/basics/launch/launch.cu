// Kernels with printf, textures and managed variables, in one file.
#include <cstdio>

#include "check.h"

__managed__ int hits;

__global__ void sample(cudaTextureObject_t image, float *out) {
  out[threadIdx.x] = tex2D<float>(image, threadIdx.x + 0.5f, 0.5f);
}

__global__ void count(const float *values, float least) {
  if (values[threadIdx.x] >= least && atomicAdd(&hits, 1) == 0) printf("first: %u\n", threadIdx.x);
}

template <int N> __global__ void scale(float *values) { values[threadIdx.x] *= N; }

int main() {
  float *values;
  check(cudaMalloc(&values, 64 * sizeof(float)));
  sample<<<1, 64>>>(0, values);
  scale<2><<<1, 64>>>(values);
  scale<3><<<1, 64>>>(values);
  count<<<1, 64>>>(values, 1);
  check(cudaDeviceSynchronize());
}
