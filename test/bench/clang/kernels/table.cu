#include "common.h"

// Calls by a table of functions.
namespace {
__device__ float add(float x, float y) { return x + y; }
__device__ float multiply(float x, float y) { return x * y; }
__device__ float mix(float x, float y) { return x * 0.25f + y * 0.75f + SEED; }
typedef float (*Operation)(float, float);
__device__ const Operation operations[] = {add, multiply, mix};
}

KERNEL(table)(const int* code, float* out, int n) {
  float x = out[place()];
  for (int i = 0; i < n; i++) x = operations[code[i] % 3u](x, STEP(x, i & 3));
  out[place()] = x;
}
