// A static constant that equal_constants6 has with the same bytes.
static __constant__ int eqFifth = 7;
__global__ void eqk6(int *out) { *out = eqFifth + out[1]; }
