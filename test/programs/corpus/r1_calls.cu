// r1_calls: device calls, function pointers, globals, constants, local statics
extern __device__ int ext(int);
extern __device__ int gext;
extern __constant__ int cext[4];
__device__ int (*fp)(int) = ext;
__device__ int gtab[4] = {1, 2, 3, 4};
__device__ int *gptr = &gtab[2];
__device__ int gbss[100];
__constant__ int cc[8] = {5, 6};
__constant__ int *cptr = &gtab[1];
static __device__ int st;
__device__ __noinline__ int loc(int x) { return x * gtab[x & 3] + st++; }
__global__ void kcalls(int *p, int i) {
  p[0] = ext(i) + fp(i) + loc(i) + gext + cext[i] + cc[i] + *gptr + *cptr + gbss[i];
  int (*q)(int) = i ? loc : ext;
  p[1] = q(3);
}
