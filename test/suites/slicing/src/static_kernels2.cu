// Static kernels of one name with static variables of one name: in static_kernels1.cu and static_kernels2.cu, not the same.
static __global__ void kst(int *o) {
  static __device__ int n = 5;
  n += *o;
  *o = n;
}
extern "C" __global__ void V1(int *o) {
  static __device__ int n = 7;
  n += *o;
  *o = n;
}
namespace {
template <class T> __device__ T ft(T x) {
  static __device__ T q = 2;
  q += x;
  return q;
}
}
static inline __device__ int fh(int x) {
  static __device__ int hh = 1;
  return hh += x;
}
extern "C" __global__ void V2(int *o) { *o = ft(*o) + fh(*o); }
void lV(int *o) {
  kst<<<1, 1>>>(o);
  V1<<<1, 1>>>(o);
  V2<<<1, 1>>>(o);
}
