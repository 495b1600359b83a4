// A kernel that host code and two others launch, and 40 KB of constants that four kernels use.
__constant__ int big[10000] = {1, 2, 3};
__device__ int gv = 3;
__global__ void child(int *o) { *o = gv + big[*o]; }
__global__ void par1(int *o) {
  child<<<1, 1>>>(o);
  gv = *o;
}
void l1(int *o) {
  par1<<<1, 1>>>(o);
  child<<<1, 1>>>(o);
}
