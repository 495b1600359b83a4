// Variables that externs.cu only declares.
__device__ int elsewhere = 7;
__constant__ int by_host_only = 8;
