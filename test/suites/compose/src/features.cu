// Kernels with all that changes what ptxas writes for the module: externals, constants, shared
// memory, textures, recursion, launch bounds, static and weak kernels.
#include <cstdio>

__constant__ int table[64] = {3, 1, 4, 1, 5};
__constant__ float coefficients[16];
__device__ int counter;
__device__ double initialized[4] = {1.5, 2.5};
__managed__ int managed;
__device__ const char *names[2] = {"first", "second"};
static __device__ int hidden = 7;

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ double ratio(double a, double b) { return a / b + sqrt(a); }

__global__ void recursive(int *out) { *out = fibonacci(*out) + table[*out & 63]; }
__global__ void divides(double *p) { p[0] = ratio(p[1], p[2]) + initialized[int(p[3]) & 3]; }
__global__ void prints(int n) { printf("%d %s\n", n, names[n & 1]); }
__global__ void allocates(int **p, int n) { int *q = (int *)malloc(n); if (q) *q = hidden; *p = q; }
__global__ void frees(int **p) { free(*p); atomicAdd(&counter, 1); }
__global__ void __launch_bounds__(128, 4) bounded(float *p) { p[threadIdx.x] = __sinf(p[threadIdx.x]) * coefficients[3]; }
__global__ void dynamic(int *p) {
  extern __shared__ int memory[];
  memory[threadIdx.x] = *p;
  __syncthreads();
  *p = memory[threadIdx.x ^ 1] + managed;
}
__global__ void fixed(int *p) {
  __shared__ int memory[256];
  memory[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = memory[255 - threadIdx.x];
}
__global__ void samples(cudaTextureObject_t t, cudaSurfaceObject_t s, float *p) {
  *p = tex2D<float>(t, 0.5f, p[1]);
  surf2Dwrite(p[2], s, 4, 0);
}
__global__ void switches(int *p) {
  switch (*p) {
  case 0: p[1] = 8; break;
  case 1: p[2] = 6; break;
  case 2: p[3] = p[4]; break;
  case 3: p[1] = p[5] * 3; break;
  case 4: p[6] = p[1] + 1; break;
  case 5: p[2] = p[7] ^ 9; break;
  default: p[8] = 1;
  }
}
static __global__ void concealed(int *p) { *p = hidden + fibonacci(3); }
template <int N> __global__ void shaped(int *p) { p[N] = N + counter; }
void *uses[] = {(void *)concealed, (void *)shaped<1>, (void *)shaped<2>};
