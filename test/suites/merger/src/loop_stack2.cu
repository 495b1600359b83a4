// Functions with branches, and kernels with branches that use the stack.
__device__ int leaf(int);
__device__ __noinline__ int lf1(int x) { for (int i = 0; i < x; i++) if (i * i == x) return 3; return x * 7; }
__global__ void lk3(int *p, int n) { for (int i = 0; i < n; i++) if (p[i] < n) p[i] += lf1(i); }
__global__ void lk4(int *p, int n) { int a[40]; for (int i = 0; i < n; i++) a[p[i] & 31] = i; while (n > 1) n = n & 1 ? 3 * n + 1 : n / 2; p[0] = a[p[1] & 31] + n; }
__global__ void lk5(int *p, int n) { if (n > 5) return; while (p[n] < n) n = leaf(n); p[0] = n; }
