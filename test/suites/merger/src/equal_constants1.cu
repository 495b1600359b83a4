// Constants that other files have with the same bytes, and inline ones.
inline __constant__ double eqInline = 2.5;
inline __device__ int eqNothing[6];
__constant__ int eqFirst[3] = {18, 5, 6};
__global__ void eqk1(int *out) { *out = eqFirst[*out] + (int)eqInline + eqNothing[*out]; }
