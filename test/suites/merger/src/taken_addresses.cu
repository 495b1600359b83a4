// Functions whose address is taken, and what only they call: the kernels that
// reach them may be removed.
extern "C" {
__device__ __noinline__ int below2(int x) { return x * 7; }
__device__ __noinline__ int below(int x) { return x * 3 + below2(x); }
__device__ __noinline__ int shared_callee(int x) { return x * 9; }
__device__ __noinline__ int taken1(int x) { return below(x) + 1; }
__device__ __noinline__ int taken2(int x) { return x + 2; }
__device__ __noinline__ int taken3(int x) { return shared_callee(x) + 2; }
typedef int (*F)(int);
__device__ F taken_table[3] = {taken1, taken2, taken3};
__global__ void ktaken1(int *p) { p[0] = taken_table[p[1]](3); }
__global__ void ktaken2(int *p) { p[0] = shared_callee(p[1]); }
__global__ void ktaken3(int *p) { p[0] = 4; }
}
