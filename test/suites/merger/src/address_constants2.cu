// The same inline variables and functions as in address_constants1, and tables of their addresses.
inline __device__ int atValue[4] = {1};
inline __device__ __noinline__ int atInline(int x) { __shared__ int unused[6]; return x * 7; }
inline __constant__ int *atPointer = atValue + 2;
__device__ int atStrong(int);
inline __constant__ int (*atTable[3])(int) = {atInline, atStrong};
static __constant__ int (*atOwn[2])(int) = {atInline, atStrong};
static __device__ int (*atGlobal[2])(int) = {atInline, atStrong};
__global__ void atk2(int *out) { *out = atTable[*out](3) + *atPointer + atOwn[*out](2) + atGlobal[*out](2); }
