// Constants of functions and kernels that are aligned differently: tables of jumps, and doubles.
#define CASES(x) switch (x) { case 1: x = 77; break; case 2: x += p[7]; break; case 3: x *= p[5]; break; case 4: x ^= p[9]; break; case 5: x -= p[2]; break; case 6: x <<= p[3]; break;
__device__ __noinline__ int e1(int x, int *p) { CASES(x) case 7: x += p[8]; break; } return x; }
__device__ __noinline__ int e2(int x, int *p) { CASES(x) case 7: x += p[8]; break; case 8: x |= p[6]; } return x; }
__global__ void m1(int *p) { int x = p[0]; CASES(x) } p[1] = e1(x, p) + e2(x, p); }
__global__ void m2(int *p) { p[1] = (int)(sin((double)p[2]) * 3.25) + e1(p[3], p); }
__global__ void m3(int *p) { int x = p[0]; CASES(x) case 7: x += p[8]; break; case 8: x |= p[6]; break; case 9: x &= p[4]; } p[1] = e1(x, p); }
__global__ void m4(int *p) { p[1] = (int)(sin((double)p[2]) * 3.25) + e2(p[3], p); }
__global__ void m5(int *p) { p[1] = e2(p[3], p); }
