// host: host code only; such an object in a link makes nvlink keep all kernels and variables
int host_only(int x) { return x + 1; }
