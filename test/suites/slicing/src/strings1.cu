// Strings of one name and different text, in a message and in a variable that slices share. strings1.cu and strings2.cu.
#include <cstdio>
__device__ const char *said = "the first text";
__global__ void ks1(int *o) {
  said = "changed";
  printf("one %d\n", *o);
}
void l1(int *o) { ks1<<<1, 1>>>(o); }
