// A function that is compiled to native code.
extern "C" __device__ float scale(float x) { return x * 3.0f + 1.0f; }
