// A pointer to a kernel, in a variable that slices share.
__global__ void kpointed(int *o) { *o = 1; }
__device__ void (*kpointer)(int *) = kpointed;
__global__ void kreader(int *o) { *o = kpointer == kpointed; }
__global__ void kwriter(int *o) { kpointer = nullptr; }
void lx(int *o) {
  kreader<<<1, 1>>>(o);
  kwriter<<<1, 1>>>(o);
}
