// r2_def: definitions for r1_calls (ext, gext, cext), recursion -> unknown stack
__device__ int gext = 7;
__constant__ int cext[4] = {9, 9};
__device__ __noinline__ int ext(int x) {
  int a[32];
  for (int i = 0; i < 32; i++)
    a[i] = x + i;
  return x <= 0 ? a[x & 31] : a[(x * 3) & 31] + ext(x - 1);
}
