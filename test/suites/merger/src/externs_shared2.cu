// Dynamic shared memory of two types behind static memory of several sizes.
extern __shared__ int dyn8[];
extern __shared__ double dynb8[];
#define STATIC(n) __shared__ int t[n]; t[p[1]] = p[2]; __syncthreads(); p[4] = t[p[3]];
__device__ __noinline__ int fa8(int x) { dyn8[x] = x; __syncthreads(); return dyn8[x + 1]; }
__device__ __noinline__ int fb8(int x) { dyn8[x] = x + 1; __syncthreads(); return dyn8[x + 2]; }
__device__ __noinline__ int fc8(int x) { dynb8[x] = x + 1; __syncthreads(); return dynb8[x + 2]; }
__device__ __noinline__ int fd8(int x) { return fa8(x) + 3; }
__global__ void y1(int *p) { STATIC(100) p[0] = fa8(p[1]); }
__global__ void y2(int *p) { p[0] = fa8(p[1]); }
__global__ void y3(int *p) { p[0] = fb8(p[1]); }
__global__ void y4(int *p) { STATIC(300) p[0] = fb8(p[1]); }
__global__ void y5(int *p) { STATIC(40) p[0] = fc8(p[1]); }
__global__ void y6(int *p) { p[0] = fc8(p[1]); }
__global__ void y7(int *p) { STATIC(900) p[0] = dyn8[p[1]]; }
__global__ void y8(int *p) { p[0] = dyn8[p[1]]; }
__global__ void y9(int *p) { p[0] = fd8(p[1]) + dyn8[3]; }
__global__ void ya(int *p) { p[0] = dynb8[p[1]] + fb8(p[2]); }
