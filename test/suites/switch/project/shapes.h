// What the library offers.
#pragma once
struct Box {
  float width, height, depth;
};
__device__ float area(const Box &);
__device__ float volume(const Box &);
extern __device__ int measured;
