// A static constant that equal_constants5 has with the same bytes, and a static variable.
static __constant__ int eqSixth = 7;
static __device__ int eqHidden;
__global__ void eqk7(int *out) { *out = eqSixth + eqHidden; }
