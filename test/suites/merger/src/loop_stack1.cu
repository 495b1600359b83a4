// Kernels with branches that use no stack.
__global__ void lk1(int *p, int n) { for (int i = 0; i < n; i++) p[i] += i; }
__global__ void lk2(int *p, int n) { if (p[n]) p[n] = 3; }
