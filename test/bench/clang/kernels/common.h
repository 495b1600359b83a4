// Each module is one of these sources, compiled with the number of the module (ID), of two
// modules whose functions it calls (NEAR and FAR), and a constant (SEED). So no two are
// the same, and every kernel needs three modules. CHANGE stands for an edit of one function.
#ifndef CHANGE
#define CHANGE 0
#endif
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define KERNEL(name) extern "C" __global__ void JOIN(JOIN(name, _), ID)

// leaf calls nobody; step calls the leaf of another module.
extern "C" __device__ float JOIN(leaf, ID)(float x, int n) {
  return n & 1 ? x * (SEED + CHANGE + 0.5f) : x + n * (SEED + 0.25f);
}
extern "C" __device__ float JOIN(leaf, NEAR)(float x, int n);
extern "C" __device__ float JOIN(step, ID)(float x, int n) {
  for (int i = 0; i < n; i++) x = JOIN(leaf, NEAR)(x, i) + 1.0f / (x + SEED);
  return x;
}
extern "C" __device__ float JOIN(step, FAR)(float x, int n);
#define STEP JOIN(step, FAR)

__device__ inline int place() { return blockIdx.x * blockDim.x + threadIdx.x; }
