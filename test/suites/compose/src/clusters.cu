// Kernels of sm_90: clusters, shared memory of other blocks, asynchronous copies.
#include <cooperative_groups.h>
#include <cuda/barrier>
namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2, 1, 1) paired(int *p) {
  __shared__ int memory[32];
  cg::cluster_group cluster = cg::this_cluster();
  memory[threadIdx.x] = p[threadIdx.x];
  cluster.sync();
  p[threadIdx.x] = cluster.map_shared_rank(memory, 1)[threadIdx.x];
}
__global__ void __launch_bounds__(64, 2, 4) ranked(int *p) { p[cg::this_cluster().block_rank()] = 1; }
__global__ void waits(int *p) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  barrier.arrive_and_wait();
  p[threadIdx.x] = 2;
}
__global__ void reduces(int *p) { *p = cg::tiled_partition<8>(cg::this_thread_block()).shfl_xor(*p, 3); }
__global__ void large(const __grid_constant__ int4 v, int *p) { *p = (&v.x)[*p]; }
