// lay1, lay2: order of globals, 4-aligned in the first file, 8- and 16-aligned in the second
__device__ int x1 = 1;
__device__ char x2[3] = {1};
__device__ int bx[3];
__constant__ int c1 = 5;
__global__ void kl1(int *p) { *p = x1 + x2[0] + bx[1] + c1; }
