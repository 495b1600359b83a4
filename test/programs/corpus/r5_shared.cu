// r5_shared: extern shared, static shared, shared in device function, barriers
extern __shared__ int dyn[];
__device__ __noinline__ int shf(int x) {
  __shared__ int s[64];
  s[threadIdx.x] = x;
  __syncthreads();
  return s[threadIdx.x ^ 1] + dyn[x];
}
__global__ void ks(int *p) {
  __shared__ double t[33];
  t[threadIdx.x] = p[0];
  __syncthreads();
  p[1] = shf(p[2]) + (int)t[3];
}
