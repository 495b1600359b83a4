// A kernel that reads a variable which nothing defines.
namespace table {
extern __device__ int missing[4];
}

extern "C" __global__ void klacks(int* p) { *p = table::missing[1]; }
