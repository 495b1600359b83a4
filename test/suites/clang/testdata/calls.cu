// Bitcode that calls native code and is called by it.
extern "C" __device__ float scale(float x);
extern "C" __device__ float offset(float x) { return x - 7.0f; }
extern "C" __global__ void kcalls(float* out) { out[threadIdx.x] = offset(scale(out[threadIdx.x])); }
