// b: defines bfun and gvar; also a kernel and a function that a does not use
__device__ int gvar = 42;
__device__ __noinline__ int bfun(int x) { return x * 3 + 1; }
__device__ __noinline__ int bunused(int x) { return x * 7; }
__global__ void kb(int *p) { p[0] = bunused(p[1]); }
