// r8_math: double division/sqrt slow paths, weak/inline template functions, switch jump table
template <int N> __device__ __noinline__ double tf(double x) { return sqrt(x) / N; }
__global__ void km(double *p, int s) {
  p[0] = p[1] / p[2] + tf<3>(p[3]);
  switch (s) {
  case 0:
    p[4] = sin(p[5]);
    break;
  case 1:
    p[4] = exp(p[5]);
    break;
  case 2:
    p[4] = pow(p[5], p[6]);
    break;
  case 3:
    p[4] = 1;
    break;
  case 4:
    p[4] = cos(p[1]);
    break;
  case 5:
    p[4] = log(p[2]);
    break;
  }
}
