// Kernels that only device code of another file launches, and one that nobody does.
__global__ void elsewhere(int *p) { *p = 1; }
__global__ void grandchild(int *p) { *p = 2; }
__device__ __noinline__ void start(int *p) { grandchild<<<1, 2>>>(p); }
__global__ void unused(int *p) { *p = 9; }
