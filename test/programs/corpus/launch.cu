// launch: host code that launches kernels of the other files, which the linker may then not remove
__global__ void ka(int *);
__global__ void kcalls(int *, int);
__global__ void kind(int *);
__global__ void kl1(int *);
__global__ void kl2(double *);
__global__ void km(double *, int);
__global__ void kp(int *);
__global__ void ks(int *);
__global__ void kv(int *);
__global__ void kw1(int *);
__global__ void kw2(int *);
__global__ void k1_3(float *);
__global__ void k2_30(float *);
void launch_others() {
  ka<<<1, 1>>>(0);
  kcalls<<<1, 1>>>(0, 0);
  kind<<<1, 1>>>(0);
  kl1<<<1, 1>>>(0);
  kl2<<<1, 1>>>(0);
  km<<<1, 1>>>(0, 0);
  kp<<<1, 1>>>(0);
  ks<<<1, 1>>>(0);
  kv<<<1, 1>>>(0);
  kw1<<<1, 1>>>(0);
  kw2<<<1, 1>>>(0);
  k1_3<<<1, 1>>>(0);
  k2_30<<<1, 1>>>(0);
}
