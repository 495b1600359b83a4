// Constants that hold the addresses of what several files define.
inline __device__ int atValue[4] = {1};
inline __device__ __noinline__ int atInline(int x) { __shared__ int unused[6]; return x * 7; }
inline __constant__ int *atPointer = atValue + 2;
__device__ __noinline__ int atStrong(int x) { return x + 3; }
inline __constant__ int (*atTable[3])(int) = {atInline, atStrong};
__global__ void atk1(int *out) { __shared__ short own[3]; own[*out] = 1; __syncthreads(); *out = atTable[*out](3) + *atPointer + own[1]; }
