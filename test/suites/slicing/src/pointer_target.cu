// A function with many registers and shared memory that is called through a pointer only.
typedef float (*ff)(float, float *);
__device__ ff hslot;
__device__ __noinline__ float heavy(float x, float *p) {
  __shared__ float sh[100];
  float a[40];
#pragma unroll
  for (int i = 0; i < 40; i++) a[i] = p[i * 7];
  sh[threadIdx.x % 100] = x;
  __syncthreads();
#pragma unroll
  for (int j = 0; j < 3; j++)
#pragma unroll
    for (int i = 0; i < 40; i++) a[i] = a[i] * a[(i * 13 + j) % 40] + sh[i];
  float s = 0;
#pragma unroll
  for (int i = 0; i < 40; i++) s += a[i] * p[i];
  return s;
}
__global__ void kg1(int *o) { hslot = heavy; }
void lg(int *o) { kg1<<<1, 1>>>(o); }
