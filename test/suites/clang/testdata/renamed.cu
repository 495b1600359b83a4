// clang 22 gives the variable its name for host code only after it has compiled the kernel.
static __constant__ int coefficient;

extern "C" __global__ void krenamed(int* p) { *p = coefficient; }

void set(int value) { cudaMemcpyToSymbol(coefficient, &value, sizeof value); }
