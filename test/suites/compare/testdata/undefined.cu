// A kernel that calls a function of nobody.
extern __device__ int nobody(int);

__global__ void kernel(int *p) { *p = nobody(*p); }

int main() { kernel<<<1, 1>>>(nullptr); }
