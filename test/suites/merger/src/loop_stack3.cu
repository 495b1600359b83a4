// A function with a branch, which functions of other files call.
__device__ int leaf(int x) { return x < 3 ? x + 1 : 7; }
