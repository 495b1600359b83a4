#include "common.h"

// A sum over a block, by shared memory and then by shuffles.
KERNEL(reduce)(const float* in, float* out, int n) {
  __shared__ float part[256];
  float sum = 0;
  for (int i = place(); i < n; i += gridDim.x * blockDim.x) sum += STEP(in[i], SEED);
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int s = 128; s >= 32; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x >= 32) return;
  sum = part[threadIdx.x];
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_down_sync(0xffffffff, sum, lane);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
