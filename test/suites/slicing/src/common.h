// What writers.cu and readers.cu have in common: virtual functions, static variables in functions, templates with shared memory.
#pragma once
#include <cstdio>

struct Base {
  int v;
  __device__ virtual int f(int x) { return x + v; }
  __device__ virtual int g(int x) { return x * v; }
};
struct Der : Base {
  __device__ int f(int x) override { return x - v; }
};
struct Key { // its vtable is where kf is
  int v;
  __device__ virtual int kf(int x);
  __device__ virtual int kg(int x) { return x ^ v; }
};

inline __device__ int counter(int d) {
  static __device__ int n = 3;
  n += d;
  return n;
}
template <class T> __device__ T tsum(T x) {
  __shared__ T s[64];
  s[threadIdx.x] = x;
  __syncthreads();
  return s[(int)x & 63];
}
typedef int (*fp)(int);
