// Local things: static functions and variables, an anonymous namespace, a lambda, and their addresses.
// local_names1.cu and local_names2.cu have the same ones.
#include "common.h"
extern __device__ fp slot;
extern __device__ int plus1(int);

static __device__ __noinline__ int sfun(int x) {
  static __device__ int cnt = 4;
  cnt += x;
  return cnt;
}
namespace {
__device__ int anon = 11;
__device__ __noinline__ int afun(int x) { return x + anon; }
struct Loc {
  virtual __device__ int q(int x) { return x + anon; }
  int z;
};
}
__device__ fp sp2;
__device__ Loc *lobj2;
__device__ int extf2(int x) {
  static int sl = 2;
  sl += x;
  return sl;
}

__global__ void kf1(int *o) {
  anon = *o;
  sp2 = *o ? sfun : afun;
  *o = sfun(*o) + extf2(o[1]);
  lobj2 = new Loc;
  lobj2->z = 1;
  auto l = [](int x) { return x * anon; };
  o[3] = l(*o);
}
__global__ void kf2(int *o) { *o = (sp2 == sfun) + 2 * (slot == plus1) + anon + sp2(3) + extf2(o[1]) + lobj2->q(3); }
__global__ void kf3(int *o) {
  const char *n = __func__;
  printf("%s %s\n", n, __PRETTY_FUNCTION__);
  static const int tab[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  *o = tab[*o & 7];
}

void lf(int *o) {
  kf1<<<1, 1>>>(o);
  kf2<<<1, 1>>>(o);
  kf3<<<1, 1>>>(o);
}
