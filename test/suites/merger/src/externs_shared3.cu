// Chains of kernels that have functions with dynamic shared memory in common.
extern __shared__ int dyn9[];
#define DYNAMIC(name, n) __device__ __noinline__ int name(int x) { dyn9[x] = x; __syncthreads(); return dyn9[x + n]; }
DYNAMIC(c1, 1) DYNAMIC(c2, 2) DYNAMIC(c3, 3) DYNAMIC(c4, 4) DYNAMIC(d1, 5) DYNAMIC(d2, 6) DYNAMIC(d3, 7)
__global__ void z1(int *p) { p[0] = c1(p[1]); }
__global__ void z2(int *p) { p[0] = c1(p[1]) + c2(p[2]); }
__global__ void z3(int *p) { p[0] = c2(p[1]) + c3(p[2]); }
__global__ void z4(int *p) { p[0] = c3(p[1]) + c4(p[2]); }
__global__ void z5(int *p) { __shared__ int t[70]; t[p[1]] = p[2]; __syncthreads(); p[0] = c4(p[1]) + t[p[3]]; }
__global__ void z6(int *p) { __shared__ int t[90]; t[p[1]] = p[2]; __syncthreads(); p[0] = d1(p[1]) + t[p[3]]; }
__global__ void z7(int *p) { p[0] = d1(p[1]) + d2(p[2]); }
__global__ void z8(int *p) { p[0] = d2(p[1]) + d3(p[2]); }
__global__ void z9(int *p) { p[0] = d3(p[1]); }
