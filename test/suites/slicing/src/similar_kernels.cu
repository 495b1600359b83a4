// Kernels whose names contain each other.
extern "C" __global__ void kc(int *o) { *o = 1; }
extern "C" __global__ void kc2(int *o) { *o = 2; }
extern "C" __global__ void xkc(int *o) { *o = 3; }
void lk(int *o) {
  kc<<<1, 1>>>(o);
  kc2<<<1, 1>>>(o);
  xkc<<<1, 1>>>(o);
}
