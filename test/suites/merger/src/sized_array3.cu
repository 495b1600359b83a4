// The array of sized_array1, declared without a size.
extern "C" {
extern __device__ int sized[];
__global__ void ksize3(int *p) { p[0] = sized[p[1]]; }
}
