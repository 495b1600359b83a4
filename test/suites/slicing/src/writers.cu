// Variables of every kind, written here and read in readers.cu: a slice that is not told of the other would fold them.
#include "common.h"
__device__ int gw = 5;
static __device__ int sw = 7;
__constant__ int cc[4] = {1, 2, 3, 4};
static __constant__ int sc[4] = {5, 6, 7, 8};
__managed__ int mg = 9;
__device__ double pad[3];
__device__ __align__(64) char al64 = 3;

// Function pointers, in a table and stored by a kernel.
__device__ fp slot;
__device__ int plus1(int x) { return x + 1 + gw; }
__device__ __noinline__ int times(int x) {
  int s = 0;
  for (int i = 0; i < x; i++) s += cc[i & 3] * x;
  return s;
}
__device__ fp table[2] = {plus1, times};

// Addresses of variables, objects with virtual functions, recursion.
__device__ int arr[3] = {1, 2, 3};
__device__ int *parr = &arr[1];
__device__ Base *obj;
__device__ Key *kobj;
__device__ int Key::kf(int x) { return x * v + gw; }
__device__ __noinline__ int rec(int n) { return n < 2 ? n : rec(n - 1) + rec(n - 2) + gw; }

__global__ void ka(int *o) {
  gw = *o;
  sw = o[1];
  slot = (*o & 1) ? plus1 : times;
  mg = o[2];
  obj = new Der;
  obj->v = 3;
  kobj = new Key;
  kobj->v = 4;
  al64 = o[3];
  pad[1] = 2;
  printf("ka %d\n", *o);
}
__global__ void ka2(int *o) {
  *o = sw + sc[*o & 3] + counter(1) + rec(*o) + tsum(*o);
  printf("ka2 %d\n", *o);
}
static __global__ void kst(int *o) { *o = sw + 1; }

void la(int *o) {
  ka<<<1, 1>>>(o);
  ka2<<<1, 1>>>(o);
  kst<<<1, 1>>>(o);
}
