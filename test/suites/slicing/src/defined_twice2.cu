// The second definition of the function in defined_twice1.cu.
__device__ int twin(int x) { return x + 2; }
__global__ void kd2(int *o) { *o = twin(*o); }
void ld2(int *o) { kd2<<<1, 1>>>(o); }
