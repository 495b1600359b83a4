// Several functions whose constants are moved one after the other.
#define CASES(x) switch (x) { case 1: x = 77; break; case 2: x += p[7]; break; case 3: x *= p[5]; break; case 4: x ^= p[9]; break; case 5: x -= p[2]; break; case 6: x <<= p[3]; break;
__device__ __noinline__ int n1(int x, int *p) { CASES(x) case 7: x += p[8] * 7; break; } return x; }
__device__ __noinline__ int n2(int x, int *p) { CASES(x) case 7: x += p[8] % 11; break; } return x + 3; }
__device__ __noinline__ int n3(int x, int *p) { return (int)(cos((double)p[2]) * x + sin((double)x)); }
__device__ __noinline__ int n4(int x, int *p) { CASES(x) case 7: x += p[8] & 13; break; } return x - 3; }
__global__ void o1(int *p) { p[1] = n1(p[0], p) + n2(p[0], p) + n3(p[0], p); }
__global__ void o2(int *p) { p[1] = n2(p[0], p) + n3(p[3], p); }
__global__ void o3(int *p) { p[1] = n1(p[0], p) + n4(p[3], p); }
__global__ void o4(int *p) { int x = p[0]; CASES(x) case 7: x += p[8]; break; case 8: x |= p[6]; break; case 9: x &= p[4]; } p[1] = n4(x, p); }
__global__ void o5(int *p) { int x = p[0]; CASES(x) case 7: x += p[8]; break; case 8: x |= p[6]; break; case 9: x &= p[4]; } p[1] = n3(x, p) + n4(x, p); }
