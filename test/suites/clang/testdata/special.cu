// Code that only one architecture has.
extern "C" __device__ int special() { return 1; }
extern "C" __global__ void k_special(int* out) { out[0] = special(); }
