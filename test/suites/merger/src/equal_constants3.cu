// Static constants whose bytes are those of constants in equal_constants1.
static __constant__ int eqThird[3] = {18, 5, 6};
static __constant__ int eqFourth[20] = {7};
__global__ void eqk3(int *out) { *out = eqThird[*out] + eqFourth[*out]; }
