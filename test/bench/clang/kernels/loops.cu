#include "common.h"

KERNEL(loops)(float* out, int n) {
  float x = out[place()];
  for (int i = 0; i < n; i++) x = x * (SEED + 0.5f) + sqrtf(x + i);
  if (x > SEED) x = STEP(x, n - 1) + 1.0f / x;
  out[place()] = x;
}
