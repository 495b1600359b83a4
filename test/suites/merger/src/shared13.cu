// A kernel beside a function whose memory, of another kernel, is aligned more.
extern "C" {
__device__ __noinline__ int fsh13(int x) { __shared__ short s[3]; s[x] = x; __syncthreads(); return s[x + 1]; }
__global__ void ksh13a(int *p) { __shared__ char c[21]; c[p[1]] = p[2]; __syncthreads(); p[0] = c[p[3]]; }
__global__ void ksh13b(int *p) { p[0] = fsh13(p[1]); }
}
