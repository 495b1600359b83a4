// Functions with dynamic and with static shared memory, called by kernels with and without any.
extern __shared__ int dyn[];
__device__ __noinline__ int df(int x) { dyn[x] = x; __syncthreads(); return dyn[x + 1]; }
__device__ __noinline__ int dg(int x) { dyn[x] = x + 1; __syncthreads(); return dyn[x + 2]; }
__device__ __noinline__ int sf(int x) { __shared__ int s[20]; s[x] = x; __syncthreads(); return s[x + 1]; }
__global__ void x1(int *p) { __shared__ int t[50]; t[p[1]] = p[2]; __syncthreads(); p[0] = df(p[1]) + t[p[3]]; }
__global__ void x2(int *p) { p[0] = df(p[1]) + dg(p[2]); }
__global__ void x3(int *p) { p[0] = dg(p[1]); }
__global__ void x4(int *p) { p[0] = sf(p[1]); }
__global__ void x5(int *p) { p[0] = sf(p[1]) + dg(p[2]); }
__global__ void x6(int *p) { p[0] = dyn[3]; }
