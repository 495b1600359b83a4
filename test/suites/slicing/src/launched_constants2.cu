// A kernel that launches the one of launched_constants1.cu, and readers of its constants.
extern __constant__ int big[10000];
extern __device__ int gv;
__global__ void child(int *o);
__global__ void par2(int *o) {
  child<<<1, 1>>>(o);
  o[1] = big[o[2]];
}
__global__ void rd(int *o) { *o = big[*o] + gv; }
void l2(int *o) {
  par2<<<1, 1>>>(o);
  rd<<<1, 1>>>(o);
}
