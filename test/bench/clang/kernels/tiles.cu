#include "common.h"

// A product of matrices by tiles.
KERNEL(tiles)(const float* a, const float* b, float* c, int n) {
  const int size = 16;
  __shared__ float as[size][size], bs[size][size + 1];
  int row = blockIdx.y * size + threadIdx.y, column = blockIdx.x * size + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < n; t += size) {
    as[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < size; k++) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = STEP(sum, SEED);
}
