// EIATTR_WMMA_USED of a kernel and of a function: the kernel that only calls the function does not get it.
#define WMMA(p)                                                                                                     \
  asm volatile("{ .reg .b32 a<8>, b<8>, d<4>;\n"                                                                    \
               "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {a0,a1,a2,a3,a4,a5,a6,a7}, [%0];\n"               \
               "wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {b0,b1,b2,b3,b4,b5,b6,b7}, [%0+512];\n"           \
               "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16 {d0,d1,d2,d3}, {a0,a1,a2,a3,a4,a5,a6,a7},\n"        \
               "  {b0,b1,b2,b3,b4,b5,b6,b7}, {a0,a1,a2,a3};\n"                                                      \
               "wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%0], {d0,d1,d2,d3}; }" ::"l"(p) : "memory")
extern "C" {
__device__ __noinline__ void tensor_function(short *p) { WMMA(p); }
__global__ void tensor_kernel(short *p) { WMMA(p); }
__global__ void tensor_calls(short *p) { tensor_function(p + *p); }
__global__ void tensor_both(short *p) {
  WMMA(p);
  tensor_function(p + *p);
}
}
