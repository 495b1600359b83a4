// Kernels whose names are parts of others.
extern "C" {
__global__ void khost(int *p) { *p = 1; }
__global__ void khost2(int *p) { *p = 2; }
static __global__ void shost(int *p) { *p = 3; }
}
void launch(int *p) { cudaLaunchKernel((void *)shost, 1, 1, 0, 0, 0); }
