// names: kernels and variables whose names contain each other; only some are used by the host
#include <cuda_runtime.h>
__device__ int level, level_high, sublevel;
__constant__ int table, table_end;
extern "C" __global__ void run(int *p) { p[0] = level + table; }
extern "C" __global__ void run_all(int *p) { p[1] = level_high + table_end; }
extern "C" __global__ void rerun(int *p) { p[2] = sublevel; }
__global__ void over(int *p) { p[3] = 3; }
__global__ void over(float *p) { p[4] = 4; }
__global__ void overall(int *p) { p[5] = 5; }
template <typename T> __global__ void typed(T *p) { p[6] = 6; }
namespace {
__global__ void hidden(int *p) { p[7] = 7; }
} // namespace
namespace outer {
namespace inner {
__global__ void nested(int *p) { p[8] = level_high; }
} // namespace inner
} // namespace outer
void launch_names() {
  int x = 0;
  run<<<1, 1>>>(0);
  over<<<1, 1>>>((int *)0);
  typed<float><<<1, 1>>>(0);
  hidden<<<1, 1>>>(0);
  outer::inner::nested<<<1, 1>>>(0);
  cudaMemcpyToSymbol(level, &x, 4);
  cudaMemcpyToSymbol(table, &x, 4);
}
