extern __shared__ int unused[];
extern "C" {
__device__ __noinline__ int fdyn(int x) { unused[x] = x; __syncthreads(); return unused[x + 1]; }
__global__ void kdyn(int *p) { p[0] = p[1]; }
}
