#include "common.h"

__constant__ float JOIN(weight, ID)[9];

// A filter of five points in two dimensions.
KERNEL(stencil)(const float* in, float* out, int width, int height) {
  const float* w = JOIN(weight, ID);
  int x = place(), y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
  const float* p = in + y * width + x;
  float v = p[0] * w[0] + p[-1] * w[1] + p[1] * w[2] + p[-width] * w[3] + p[width] * w[4];
  out[y * width + x] = STEP(v, SEED) * w[SEED % 9];
}
