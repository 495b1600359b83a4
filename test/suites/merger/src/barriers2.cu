// Uses the sixth barrier.
extern "C" __device__ int fbar(int x) { asm volatile("bar.sync 5;" ::: "memory"); return x + 1; }
