// spills: a kernel that needs many registers, to be compiled with few
__global__ void crowded(float *p) {
  float a[64];
#pragma unroll
  for (int i = 0; i < 64; i++) a[i] = p[i * 32 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 64; i++) p[i * 32 + threadIdx.x] = a[i] * a[(i * 7 + 3) % 64] + a[(i * 13 + 5) % 64];
}
