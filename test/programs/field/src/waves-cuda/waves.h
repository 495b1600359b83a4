// What the two files of the program share.
#pragma once

struct Wave {
  float height, speed;
};

extern __constant__ float damping;

__device__ Wave step(Wave w, float time);
__device__ float energy(const Wave *waves, int count);
