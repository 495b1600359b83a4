// cdp: dynamic parallelism (needs libcudadevrt)
#include <cuda_runtime.h>
__global__ void child(int *p) { *p = 1; }
__global__ void parent(int *p) { child<<<1, 32>>>(p); }
