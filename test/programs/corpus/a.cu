// a: kernel calling an extern device function defined in b.cu; extern global
extern __device__ int bfun(int);
extern __device__ int gvar;
__global__ void ka(int *p) { p[threadIdx.x] = bfun(p[0]) + gvar; }
#ifdef MAIN
int main() {
  ka<<<1, 1>>>(nullptr);
  return 0;
}
#endif
