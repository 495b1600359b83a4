// ind2: see ind
__device__ __noinline__ int heavy(int x) {
  int a[40];
  for (int i = 0; i < 40; i++)
    a[i] = x * i;
  int s = 0;
  for (int i = 0; i < 40; i++)
    s += a[(x + i) % 40];
  float r[50];
  for (int i = 0; i < 50; i++)
    r[i] = __int_as_float(x + i) * i;
  for (int k = 0; k < x; k++)
    for (int i = 0; i < 50; i++)
      r[i] += r[(i + 1) % 50] * k;
  for (int i = 0; i < 50; i++)
    s += (int)r[i];
  return s;
}
__device__ __noinline__ int light(int x) { return x + 1; }
__device__ __noinline__ float other(float f, int x) {
  float r[90];
  for (int i = 0; i < 90; i++)
    r[i] = f * i;
  for (int k = 0; k < x; k++)
    for (int i = 0; i < 90; i++)
      r[i] += r[(i + 1) % 90] * k;
  for (int i = 1; i < 90; i++)
    r[0] += r[i];
  return r[0];
}
__device__ int (*tab[2])(int) = {heavy, light};
__device__ float (*gt)(float, int) = other;
