// Variables that any module may define.
inline __device__ int iv = 5;
template <class T> __device__ T tv = 6;
__global__ void q1(int *o) {
  iv = *o;
  tv<int> = *o;
}
__global__ void q2(int *o) { *o = iv + tv<int>; }
void lq(int *o) {
  q1<<<1, 1>>>(o);
  q2<<<1, 1>>>(o);
}
