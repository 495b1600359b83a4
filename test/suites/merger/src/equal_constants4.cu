// The inline constant of equal_constants1, and a kernel without any constant.
inline __constant__ double eqInline = 2.5;
inline __device__ int eqNothing[6];
__constant__ int eqLast = 3;
__global__ void eqk4(int *out) { *out = eqLast + (int)eqInline; }
__global__ void eqk5(int *out) { *out = 4; }
