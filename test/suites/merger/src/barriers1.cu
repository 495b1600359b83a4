// A kernel with fewer barriers than what it calls.
extern "C" {
__device__ int fbar(int x);
__global__ void kbar1(int *p) { p[0] = fbar(p[1]); __syncthreads(); p[2] = p[3]; }
__global__ void kbar2(int *p) { __syncthreads(); p[2] = p[3]; }
}
