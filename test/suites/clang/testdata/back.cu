// Native code that calls bitcode and is called by it.
extern "C" __device__ float offset(float x);
extern "C" __device__ float scale(float x) { return x * 3.0f; }
extern "C" __global__ void kback(float* out) { out[threadIdx.x] = offset(out[threadIdx.x]); }
void launch(float* out) { kback<<<1, 1>>>(out); }
