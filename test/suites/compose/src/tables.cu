// Kernels that use function pointers, in tables and by virtual functions, and some that don't.
#include <cstdio>

typedef int (*operation)(int);
__device__ __noinline__ int twice(int a) { return a * 2; }
__device__ __noinline__ int square(int a) { return a * a; }
__device__ __noinline__ int shout(int a) { printf("%d\n", a); return a; }
__device__ operation operations[] = {twice, square, shout};
__constant__ operation fixed[] = {square, twice};

struct shape { __device__ virtual int area(int) const = 0; };
struct disc : shape { __device__ int area(int r) const override { return 3 * r * r; } };
struct box : shape { int side; __device__ int area(int r) const override { return side * r; } };

__global__ void plain(int *p) { *p += 1; }
__global__ void chooses(int *p) { p[0] = operations[p[1]](p[2]); }
__global__ void direct(int *p) { *p = twice(*p); }
__global__ void constant(int *p) { p[0] = fixed[p[1] & 1](p[2]); }
__global__ void virtually(int *p) {
  disc d;
  box b;
  b.side = p[1];
  const shape *s = p[0] ? (const shape *)&d : &b;
  p[2] = s->area(p[3]);
}
__global__ void says(int n) { printf("%d\n", n); }
__global__ void last(double *p) { *p = 1 / *p; }
