// bigsm2: the other half of bigsm
__device__ __noinline__ int sm2(int x) {
  __shared__ int t[11000];
  t[threadIdx.x] = x;
  __syncthreads();
  return t[threadIdx.x ^ 3];
}
