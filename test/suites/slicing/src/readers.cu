// Readers of what writers.cu writes, and static things with the same names as there.
#include "common.h"
extern __device__ int gw;
extern __constant__ int cc[4];
extern __managed__ int mg;
extern __device__ fp slot;
extern __device__ fp table[2];
extern __device__ int *parr;
extern __device__ Base *obj;
extern __device__ Key *kobj;
extern __device__ int rec(int);
extern __device__ char al64;
extern __device__ double pad[3];
static __device__ int sw = 70;

static __global__ void kst(int *o) { *o = sw + 2; }
__global__ void kb(int *o) { *o = gw + cc[*o & 3] + mg + al64 + (int)pad[1]; }
__global__ void kb2(int *o) { *o = slot(*o) + table[*o & 1](o[1]) + *parr; }
__global__ void kb3(int *o) {
  *o = obj->f(*o) + obj->g(o[1]) + kobj->kf(o[2]) + kobj->kg(o[3]);
  Base b;
  b.v = *o;
  Base *p = o[5] ? &b : obj;
  o[1] = p->f(3);
}
__global__ void kb4(int *o) {
  *o = counter(2) + tsum(*o) + (int)tsum((float)o[1]) + rec(*o);
  printf("kb4 %d\n", *o);
}

void lb(int *o) {
  kb<<<1, 1>>>(o);
  kb2<<<1, 1>>>(o);
  kb3<<<1, 1>>>(o);
  kb4<<<1, 1>>>(o);
  kst<<<1, 1>>>(o);
}
