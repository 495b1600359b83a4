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
__device__ fp sp;
__device__ Loc *lobj;
__device__ int extf(int x) {
  static int sl = 2;
  sl += x;
  return sl;
}

__global__ void ke1(int *o) {
  anon = *o;
  sp = *o ? sfun : afun;
  *o = sfun(*o) + extf(o[1]);
  lobj = new Loc;
  lobj->z = 1;
  auto l = [](int x) { return x * anon; };
  o[3] = l(*o);
}
__global__ void ke2(int *o) { *o = (sp == sfun) + 2 * (slot == plus1) + anon + sp(3) + extf(o[1]) + lobj->q(3); }
__global__ void ke3(int *o) {
  const char *n = __func__;
  printf("%s %s\n", n, __PRETTY_FUNCTION__);
  static const int tab[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  *o = tab[*o & 7];
}

void le(int *o) {
  ke1<<<1, 1>>>(o);
  ke2<<<1, 1>>>(o);
  ke3<<<1, 1>>>(o);
}
