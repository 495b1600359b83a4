// Kernels of every kind that a file without relocatable device code may have.
#include <cstdio>

struct Shape {
    __device__ virtual float size(float x) const { return x; }
};
struct Square : Shape {
    __device__ float size(float x) const override { return x * x; }
};

__device__ float table[64] = {1, 2, 3};
__constant__ float weights[16];
__device__ int counter;

__device__ __noinline__ float shared_function(float x) { return x / weights[3] + table[(int)x & 63]; }

__device__ int recursive(int n) { return n < 2 ? n : recursive(n - 1) + recursive(n - 2); }

__global__ void divide(float *p) { p[threadIdx.x] = shared_function(p[threadIdx.x]); }

__global__ void again(float *p, float q) { p[threadIdx.x] = shared_function(q) * sqrtf(q); }

__global__ void __launch_bounds__(128, 2) print(int *p) {
    if (*p) printf("%d %d\n", *p, atomicAdd(&counter, 1));
}

__global__ void recurse(int *p) { *p = recursive(*p); }

__global__ void heap(int **p) { *p = new int[7]; }

__global__ void dynamic(float *p) {
    extern __shared__ float data[];
    data[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = data[blockDim.x - threadIdx.x];
}

__global__ void fixed(float *p) {
    __shared__ float data[256];
    data[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = data[255 - threadIdx.x];
}

template <typename T> __global__ void generic(T *p, T x) { p[blockIdx.x] += x; }
template __global__ void generic(int *, int);
template __global__ void generic(double *, double);

__global__ void virtual_call(Shape **s, float *p) { *p = (*s)->size(*p); }

__global__ void make(Shape **s) { *s = new Square; }

__global__ void texture(cudaTextureObject_t t, float *p) { p[threadIdx.x] = tex1D<float>(t, threadIdx.x); }
