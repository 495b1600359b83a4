// Variables that only host code uses.
__device__ int counter = 3;
__constant__ int table[4] = {1, 2, 3, 4};

void set(int value) {
    cudaMemcpyToSymbol(counter, &value, sizeof value);
    cudaMemcpyToSymbol(table, &value, sizeof value);
}
