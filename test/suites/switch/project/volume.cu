// Half of the library: a function that changes a variable of the other half.
#include "shapes.h"
__device__ float volume(const Box &b) {
  atomicAdd(&measured, 1);
  return b.width * b.height * b.depth;
}
