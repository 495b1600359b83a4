// A variable that only inline assembly names: this fails, sliced or not, and must fail in the same words.
__device__ int asmv = 9;
__global__ void kp(int *o) {
  int r;
  asm volatile("ld.global.u32 %0, [asmv];" : "=r"(r));
  *o = r;
}
__global__ void kq(int *o) { *o = 3; }
void lp(int *o) {
  kp<<<1, 1>>>(o);
  kq<<<1, 1>>>(o);
}
