// Kernels that only device code launches: external, static, of a template, of another file,
// with shared memory of their own, of a function that they call, and dynamic.
__device__ __noinline__ int staged(int *p) {
    __shared__ int buffer[33];
    buffer[threadIdx.x] = *p;
    __syncthreads();
    return buffer[*p & 31];
}
__device__ __noinline__ int dynamic(int *p) {
    extern __shared__ int buffer[];
    buffer[threadIdx.x] = *p;
    __syncthreads();
    return buffer[*p & 31];
}
__global__ void external(int *p) { *p = 1; }
static __global__ void internal(int *p) { *p = staged(p); }
template <class T> __global__ void instance(T *p) {
    __shared__ T buffer[64];
    buffer[threadIdx.x] = *p;
    __syncthreads();
    *p = buffer[63 - threadIdx.x];
}
__global__ void resized(int *p) { *p = dynamic(p); }
__global__ void elsewhere(int *p);
__device__ void start(int *p);
static __device__ __noinline__ void starts(int *p, int n) {
    if (n) starts(p + 1, n - 1);
    internal<<<1, 1>>>(p);
}
__global__ void parent(int *p) {
    external<<<1, 1>>>(p);
    instance<float><<<1, 64>>>((float *)p);
    resized<<<1, 1, 256>>>(p);
    elsewhere<<<1, 1>>>(p);
    start(p);
}
template <class T> __global__ void other(T *p) { *p = 2; }
__global__ void recursive(int *p) { starts(p, *p); }
__global__ void parents(int *p) { __shared__ int buffer[32]; buffer[threadIdx.x] = *p; __syncthreads(); p[1] = buffer[3]; }
int main() {
    parent<<<1, 1>>>(nullptr);
    other<double><<<1, 1>>>(nullptr);
    recursive<<<1, 1>>>(nullptr);
    parents<<<1, 1>>>(nullptr);
}
