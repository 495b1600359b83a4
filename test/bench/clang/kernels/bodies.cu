#include "common.h"

// Forces between bodies.
KERNEL(bodies)(const float4* body, float4* force, int n) {
  __shared__ float4 near[128];
  float4 me = body[place()];
  float3 f = {0, 0, 0};
  for (int t = 0; t < n; t += 128) {
    near[threadIdx.x] = body[t + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < 128; i++) {
      float x = near[i].x - me.x, y = near[i].y - me.y, z = near[i].z - me.z;
      float r = rsqrtf(x * x + y * y + z * z + SEED);
      float s = near[i].w * r * r * r;
      f.x += x * s, f.y += y * s, f.z += z * s;
    }
    __syncthreads();
  }
  force[place()] = make_float4(f.x, f.y, f.z, STEP(me.w, SEED));
}
