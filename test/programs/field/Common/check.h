// A header that the trial finds in the folder Common.
#pragma once
#include <cstdio>
#include <cstdlib>

inline void check(cudaError_t code) {
  if (code != cudaSuccess) {
    fprintf(stderr, "%s\n", cudaGetErrorString(code));
    exit(1);
  }
}
