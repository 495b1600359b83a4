// Device functions and a constant that kernels of another file use.
#include "waves.h"

__constant__ float damping = 0.98f;

__device__ __noinline__ Wave step(Wave w, float time) {
  for (int i = 0; i < STEPS; i++) {
    w.speed -= w.height * time;
    w.height += w.speed * time;
  }
  w.speed *= damping;
  return w;
}

__device__ __noinline__ float energy(const Wave *waves, int count) {
  float sum = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    sum += waves[i].height * waves[i].height + waves[i].speed * waves[i].speed / damping;
  return sum;
}
