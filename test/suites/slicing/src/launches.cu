// A kernel that launches another, which uses code and data of writers.cu.
#include "common.h"
extern __device__ int gw;
extern __device__ int rec(int);
__global__ void child(int *o) { *o = gw + rec(*o); }
__global__ void parent(int *o) { child<<<1, 1>>>(o); }
void ld(int *o) { parent<<<1, 1>>>(o); }
