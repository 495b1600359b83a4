__device__ int leaf(int x) { return x < 3 ? x + 1 : 7; }
