// The executable: its kernel calls the library's functions.
#include "shapes.h"
#include <cstdio>
namespace {
__global__ void measure(const Box *boxes, float *result) {
  const Box &b = boxes[threadIdx.x];
  result[threadIdx.x] = volume(b) / area(b);
  if (threadIdx.x == 0)
    printf("%d\n", measured);
}
} // namespace
int main() {
  measure<<<1, 32>>>(nullptr, nullptr);
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
