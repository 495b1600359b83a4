// Kernels that call functions of the driver that change a running graph.
__global__ void condition(cudaGraphConditionalHandle handle) { cudaGraphSetConditional(handle, 1); }

__global__ void update(cudaGraphExec_t graph, cudaGraphDeviceNode_t node, const cudaGraphKernelNodeUpdate *updates,
                       int *value) {
    cudaGraphKernelNodeSetParam(node, 0, value, sizeof *value);
    cudaGraphKernelNodeSetEnabled(node, true);
    cudaGraphKernelNodeSetGridDim(node, dim3(1));
    cudaGraphKernelNodeUpdatesApply(updates, 1);
    cudaGraphLaunch(graph, cudaStreamGraphTailLaunch);
}

int main() {
    condition<<<1, 1>>>(cudaGraphConditionalHandle{});
    update<<<1, 1>>>(nullptr, nullptr, nullptr, nullptr);
}
