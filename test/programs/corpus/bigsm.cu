// bigsm: resource limit: too much static shared memory split over two functions
extern __device__ int sm2(int);
__global__ void kbig(int *p) {
  __shared__ int s[11000];
  s[threadIdx.x] = p[0];
  __syncthreads();
  p[1] = s[threadIdx.x ^ 1] + sm2(p[2]);
}
