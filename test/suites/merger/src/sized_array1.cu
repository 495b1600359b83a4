// sized_array1, sized_array2, sized_array3: one array, with two sizes and with none.
extern "C" {
__device__ int sized[3] = {1, 2, 3};
__global__ void ksize1(int *p) { p[0] = sized[p[1]]; }
}
