// The array of sized_array1, declared with another size.
extern "C" {
extern __device__ int sized[2];
__global__ void ksize2(int *p) { p[0] = sized[p[1]]; }
}
