// The string of strings1.cu's name, with another text.
#include <cstdio>
extern __device__ const char *said;
__global__ void ks2(int *o) { printf("two, %s\n", said); }
void l2(int *o) { ks2<<<1, 1>>>(o); }
