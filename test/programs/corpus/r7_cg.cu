// r7_cg: cooperative groups grid sync
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void kcg(int *p) {
  auto g = cg::this_grid();
  p[g.thread_rank()] = 1;
  g.sync();
  p[0] += p[g.size() - 1];
}
