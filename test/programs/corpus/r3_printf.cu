// r3_printf: printf/vprintf, malloc/free, assert
#include <cassert>
#include <cstdio>
__global__ void kp(int *p) {
  printf("hi %d\n", p[0]);
  int *q = (int *)malloc(16);
  assert(q);
  q[0] = p[1];
  p[2] = q[0];
  free(q);
}
