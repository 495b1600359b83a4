// many1: 40 kernels with a helper each, enough to be split by -split-compile. Loops stay
// loops: unrolled, these files take ten times as long to link.
#define KERNEL(i) \
  __device__ __noinline__ float helper1_##i(float x) { \
    _Pragma("unroll 1") for (int j = 0; j < 3 + i; j++) x = sinf(x) * (i + 0.5f) + x / (j + 1.f); \
    return x; \
  } \
  __global__ void k1_##i(float *p) { p[threadIdx.x] = helper1_##i(p[i]); }
KERNEL(0) KERNEL(1) KERNEL(2) KERNEL(3) KERNEL(4) KERNEL(5) KERNEL(6) KERNEL(7)
KERNEL(8) KERNEL(9) KERNEL(10) KERNEL(11) KERNEL(12) KERNEL(13) KERNEL(14) KERNEL(15)
KERNEL(16) KERNEL(17) KERNEL(18) KERNEL(19) KERNEL(20) KERNEL(21) KERNEL(22) KERNEL(23)
KERNEL(24) KERNEL(25) KERNEL(26) KERNEL(27) KERNEL(28) KERNEL(29) KERNEL(30) KERNEL(31)
KERNEL(32) KERNEL(33) KERNEL(34) KERNEL(35) KERNEL(36) KERNEL(37) KERNEL(38) KERNEL(39)
