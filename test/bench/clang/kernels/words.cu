#include "common.h"

// Integers: a hash, and a machine of a few states.
KERNEL(words)(const unsigned* in, unsigned* out, int n) {
  unsigned h = 2166136261u + SEED, state = 0;
  for (int i = 0; i < n; i++) {
    unsigned c = in[i * gridDim.x + place()];
    h = (h ^ c) * 16777619u;
    h = h << 13 | h >> 19;
    switch (state) {
      case 0: state = c == SEED ? 1 : 0; break;
      case 1: state = c & 1 ? 2 : 3; break;
      case 2: state = h % 5; break;
      case 3: state = c / 7 % 4; break;
      default: state = 0;
    }
  }
  out[place()] = h ^ state ^ (unsigned)STEP(h, SEED);
}
