#include "common.h"

// A histogram, with atomics in shared and in global memory.
KERNEL(counts)(const unsigned char* in, unsigned* out, int n) {
  __shared__ unsigned bins[256];
  bins[threadIdx.x & 255] = 0;
  __syncthreads();
  for (int i = place(); i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i]], 1u);
  __syncthreads();
  unsigned weight = STEP(bins[threadIdx.x & 255], SEED);
  atomicAdd(&out[threadIdx.x & 255], weight);
}
