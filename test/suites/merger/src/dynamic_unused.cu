// A function with dynamic shared memory that no kernel calls.
extern __shared__ int dyn13[];
extern "C" {
__device__ __noinline__ int fdyn(int x) { dyn13[x] = x; __syncthreads(); return dyn13[x + 1]; }
__global__ void kdyn(int *p) { p[0] = p[1]; }
}
