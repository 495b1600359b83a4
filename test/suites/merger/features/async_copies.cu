// Asynchronous copies to shared memory: R_CUDA_ABS20_44, with and without an addend, on variables of kernels and of a
// function that two kernels call, and on dynamic memory.
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800
#define COPY(to, from)                                                                                          \
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(to)),        \
               "l"(from) : "memory")
#else
#define COPY(to, from) (*(volatile int *)(to) = *(from))
#endif
extern "C" {
extern __shared__ int async_dynamic[];
__device__ __noinline__ int async_function(const int *p, int i) {
  __shared__ int before[100];
  __shared__ int tile[256];
  COPY(&tile[i], p + i);
  COPY(&tile[i + 17], p + i + 5);
  COPY(&tile[i - 4], p);
  COPY(&tile[3], p + 9);
  before[i] = p[i];
  __syncthreads();
  return tile[i ^ 1] + before[i ^ 3];
}
__device__ __noinline__ int async_dynamic_function(const int *p, int i) {
  COPY(&async_dynamic[i], p + i);
  COPY(&async_dynamic[i + 8], p + i);
  __syncthreads();
  return async_dynamic[i ^ 1];
}
__global__ void async_static(int *p) {
  __shared__ char odd[5];
  __shared__ int own[32];
  odd[threadIdx.x] = 1;
  COPY(&own[threadIdx.x], p);
  COPY(&own[threadIdx.x + 2], p);
  __syncthreads();
  *p = odd[p[1]] + own[p[2]] + async_function(p, threadIdx.x);
}
__global__ void async_both(int *p) {
  __shared__ int own[7];
  COPY(&own[threadIdx.x], p + 3);
  __syncthreads();
  *p = own[p[1]] + async_function(p, threadIdx.x) + async_dynamic_function(p, threadIdx.x);
}
}
