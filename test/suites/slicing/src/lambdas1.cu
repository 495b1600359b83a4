// Lambdas of one name whose addresses are taken, in lambdas1.cu and lambdas2.cu, are two functions.
typedef int (*fp)(int);
__device__ fp stored;
static __global__ void kl(int *o) {
  stored = [](int x) { return x * 3; };
  *o = stored(*o);
}
__global__ void kl1(int *o) { *o = stored(*o); }
void l1(int *o) {
  kl<<<1, 1>>>(o);
  kl1<<<1, 1>>>(o);
}
