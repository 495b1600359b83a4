// Names that only an assembler label can give.
__device__ int variable asm("variable.with.dots") = 3;
__device__ __attribute__((noinline)) int function(int x) asm("function.with.dots");
__device__ int function(int x) { return x * variable; }
extern "C" __global__ void k(int* out) { out[0] = function(out[1]); }
