// Answers how many blocks a multiprocessor holds, by the toolkit's own header. A line of input
// is: capability (two numbers), threads and shared memory of a multiprocessor, threads of a
// block, registers of a thread, shared memory of a block.
#include <stdio.h>
#include <stddef.h>
#include "cuda_occupancy.h"
int main(void) {
  int major, minor, threads_sm, shared_sm, threads, registers, shared;
  while (scanf("%d %d %d %d %d %d %d", &major, &minor, &threads_sm, &shared_sm, &threads, &registers, &shared) == 7) {
    cudaOccDeviceProp p = {0};
    p.computeMajor = major; p.computeMinor = minor; p.maxThreadsPerBlock = 1024; p.maxThreadsPerMultiprocessor = threads_sm;
    p.regsPerBlock = p.regsPerMultiprocessor = 65536; p.warpSize = 32; p.sharedMemPerBlock = 48 << 10; p.sharedMemPerMultiprocessor = shared_sm;
    p.numSms = 1; p.sharedMemPerBlockOptin = shared_sm - 1024; p.reservedSharedMemPerBlock = major >= 8 ? 1024 : 0;
    cudaOccFuncAttributes a = {0};
    a.maxThreadsPerBlock = 1024; a.numRegs = registers; a.sharedSizeBytes = shared; a.partitionedGCConfig = PARTITIONED_GC_OFF;
    a.shmemLimitConfig = FUNC_SHMEM_LIMIT_DEFAULT; a.maxDynamicSharedSizeBytes = shared_sm; a.numBlockBarriers = 1;
    cudaOccDeviceState s = {0};
    s.cacheConfig = CACHE_PREFER_SHARED; s.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT;
    cudaOccResult r;
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&r, &p, &a, &s, threads, 0)) { printf("error\n"); continue; }
    printf("%d\n", r.activeBlocksPerMultiprocessor);
  }
}
