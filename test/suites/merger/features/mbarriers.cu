// Attributes that name instructions: of mbarriers and of emulated atomic operations on 16 bits, in kernels and in
// functions. A kernel has the mbarriers of all it calls.
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800
#define WAIT(bar, p)                                                                                      \
  asm volatile("{ .reg .pred ready; .reg .b64 state; .reg .b32 answer;\n"                                 \
               "mbarrier.init.shared.b64 [%1], 32;\n"                                                     \
               "mbarrier.arrive.shared.b64 state, [%1];\n"                                                \
               "mbarrier.test_wait.shared.b64 ready, [%1], state;\n"                                      \
               "selp.u32 answer, 1, 2, ready;\n"                                                          \
               "st.global.u32 [%0], answer; }" ::"l"(p), "r"((unsigned)__cvta_generic_to_shared(bar))     \
               : "memory")
#else
#define WAIT(bar, p) (*(bar) = *(p))
#endif
#define ADD16(p)                                                                                              \
  asm volatile("{ .reg .b16 x; ld.global.u16 x, [%0+8]; atom.global.add.noftz.f16 x, [%0], x; }" ::"l"(p) : "memory")
extern "C" {
__device__ __noinline__ void add16(unsigned *p) { ADD16(p); }
__device__ __noinline__ void mbarrier_function(unsigned *p) {
  __shared__ unsigned long long bars[2];
  WAIT(&bars[*p & 1], p);
}
__global__ void mbarrier_called(unsigned *p) { mbarrier_function(p); }
__global__ void mbarrier_both(unsigned *p) {
  __shared__ unsigned long long bar;
  WAIT(&bar, p);
  mbarrier_function(p);
}
__global__ void mbarrier_one(unsigned *p) {
  __shared__ unsigned long long bar;
  WAIT(&bar, p);
}
__global__ void mbarrier_several(unsigned *p) {
  __shared__ unsigned long long bars[4];
  WAIT(&bars[0], p);
  WAIT(&bars[3], p + 1);
  __syncthreads();
  add16(p);
}
__global__ void atomic16(unsigned *p) { ADD16(p); }
__global__ void atomic16_calls(unsigned *p) { add16(p + *p); }
}
