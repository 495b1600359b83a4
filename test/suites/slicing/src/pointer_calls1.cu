// Calls of the function that pointer_target.cu has stored, and a template's kernel that pointer_calls1.cu and pointer_calls2.cu both have.
typedef float (*ff)(float, float *);
extern __device__ ff hslot;
__constant__ cudaTextureObject_t tx;
__device__ cudaSurfaceObject_t sx;
__global__ void ki1(float *o) { *o = hslot(*o, o + 1); }
template <class T> __global__ void ktmpl(T *o) {
  *o = tex1Dfetch<T>(tx, 3);
  surf1Dwrite(*o, sx, 4);
}
void li(float *o) {
  ki1<<<1, 1>>>(o);
  ktmpl<<<1, 1>>>(o);
}
