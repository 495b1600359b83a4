#include "common.h"

// Double precision: a polynomial and its root.
KERNEL(newton)(double* out, int n) {
  double x = out[place()];
  for (int i = 0; i < n; i++) {
    double f = ((x - SEED) * x + 2.0) * x - 5.0, d = (3.0 * x - 2.0 * SEED) * x + 2.0;
    if (fabs(d) < 1e-12) break;
    x -= f / d;
  }
  out[place()] = sqrt(x) + STEP(x, SEED);
}
