// The same function twice, for kernels of different slices.
__device__ int twin(int x) { return x + 1; }
__global__ void kd1(int *o) { *o = twin(*o); }
void ld1(int *o) { kd1<<<1, 1>>>(o); }
