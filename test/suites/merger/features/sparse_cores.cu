// Sparse MMA instructions of several kinds, in kernels and functions: EIATTR_SPARSE_MMA_MASK of sm_90.
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800
#define HALVES(p)                                                                                                  \
  asm volatile("{ .reg .b32 a, d<2>; ld.global.u32 a, [%0];\n"                                                     \
               "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {d0,d1}, {a,a}, {a,a},\n"   \
               "  {a,a}, a, 0x1;\nst.global.u32 [%0], d0; }" ::"l"(p) : "memory")
#define BYTES(p)                                                                                                   \
  asm volatile("{ .reg .b32 a, d<4>; ld.global.u32 a, [%0];\n"                                                     \
               "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {d0,d1,d2,d3}, {a,a},\n"      \
               "  {a,a}, {a,a,a,a}, a, 0x0;\nst.global.u32 [%0], d0; }" ::"l"(p) : "memory")
#else
#define HALVES(p) (*(p) = 1)
#define BYTES(p) (*(p) = 2)
#endif
extern "C" {
__device__ __noinline__ void sparse_halves(int *p) { HALVES(p); }
__device__ __noinline__ void sparse_bytes(int *p) { BYTES(p); }
__global__ void sparse_kernel(int *p) { HALVES(p); }
__global__ void sparse_calls(int *p) { sparse_bytes(p); }
__global__ void sparse_all(int *p) {
  HALVES(p);
  sparse_bytes(p + *p);
  sparse_halves(p + *p);
}
__global__ void sparse_none(int *p) { *p = 1; }
}
