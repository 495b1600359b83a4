// Two kernels that use device functions of another file, and code that launches them.
#include "waves.h"

__global__ void advance(Wave *waves, int count, float time) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) waves[i] = step(waves[i], time);
}

__global__ void measure(const Wave *waves, int count, float *total) {
  __shared__ float sums[32];
  float sum = energy(waves, count);
  for (int lanes = 16; lanes; lanes /= 2) sum += __shfl_down_sync(~0u, sum, lanes);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float all = 0;
    for (unsigned warp = 0; warp < blockDim.x / 32; warp++) all += sums[warp];
    *total = all;
  }
}

int main() {
  Wave *waves;
  float *total;
  cudaMalloc(&waves, 1024 * sizeof(Wave));
  cudaMallocManaged(&total, sizeof(float));
  advance<<<4, 256>>>(waves, 1024, 0.01f);
  measure<<<1, 256>>>(waves, 1024, total);
  return cudaDeviceSynchronize() != cudaSuccess;
}
