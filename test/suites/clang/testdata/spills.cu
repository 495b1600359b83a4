// Forty values that live through a loop: with few registers some must be spilled.
extern "C" __global__ void spills(float* out, const float* in, int n) {
  float x[40];
#pragma unroll
  for (int i = 0; i < 40; i++) x[i] = in[i * n + threadIdx.x];
  for (int k = 0; k < n; k++) {
#pragma unroll
    for (int i = 0; i < 40; i++) x[i] = x[i] * x[(i + 7) % 40] + k;
  }
#pragma unroll
  for (int i = 0; i < 40; i++) out[i * n] = x[i];
}
