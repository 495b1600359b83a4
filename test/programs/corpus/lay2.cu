// lay2: see lay1
__device__ double yy1 = 2;
__device__ int4 yy2 = {1, 2, 3, 4};
__device__ double by[3];
__constant__ double c2 = 5;
__device__ char y3 = 3;
__global__ void kl2(double *p) { *p = yy1 + yy2.x + by[1] + c2 + y3; }
